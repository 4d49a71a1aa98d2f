#include "model/mlp.h"

#include <utility>

#include "model/linear.h"

namespace peakline {

// transformers 5.24, LlamaMLP.forward: down_proj(act_fn(gate_proj(x)) * up_proj(x)); under Liger
// one kernel does activation and product (LigerSwiGLUMLP).
Tensor mlp(Engine& e,
           const Tensor& hidden_states,
           const DecoderLayer& layer,
           const ModelOptions& options,
           std::int32_t index) {
  ModuleScope scope(e, "mlp", index);
  Tensor gate = linear(e, hidden_states, layer.gate_proj, options, index);
  Tensor product;
  if (options.use_liger_kernel) {
    Tensor up = linear(e, hidden_states, layer.up_proj, options, index);
    product = e.liger_silu_mul(std::move(gate), std::move(up));
  } else {
    Tensor activated;
    {
      ModuleScope act_scope(e, "mlp.act_fn", index);
      activated = e.silu(std::move(gate));
    }
    Tensor up = linear(e, hidden_states, layer.up_proj, options, index);
    product = e.mul(std::move(activated), std::move(up));
  }
  return linear(e, product, layer.down_proj, options, index);
}

}  // namespace peakline
