#include "model/mlp.h"

#include <array>
#include <utility>

#include "model/activation.h"
#include "model/linear.h"

namespace peakline {

namespace {

// transformers 5.24, Phi3MLP.forward and LigerPhi3SwiGLUMLP.forward: both halves are views of one
// result.
Tensor fused_product(Engine& e,
                     const Tensor& hidden_states,
                     const DecoderLayer& layer,
                     const ModelOptions& options,
                     std::int32_t index,
                     Tensor& gate) {
  Tensor both = linear(e, hidden_states, layer.gate_up_proj, options, index);
  const std::int64_t half = both.size(-1) / 2;
  const std::array<std::int64_t, 2> sizes{half, half};
  std::array<Tensor, 2> parts;
  e.split(both, sizes, -1, parts);
  both.reset();
  gate = std::move(parts[0]);
  if (options.use_liger_kernel) return e.liger_silu_mul(gate, std::move(parts[1]));
  Tensor activated;
  {
    ModuleScope act_scope(e, "mlp.act_fn", index);
    activated = activation(e, gate, options.hidden_act);
  }
  return e.mul(std::move(parts[1]), std::move(activated));
}

// transformers 5.24, Starcoder2MLP.forward and PhiMLP.forward: one name for every result.
Tensor plain_mlp(Engine& e,
                 const Tensor& hidden_states,
                 const DecoderLayer& layer,
                 const ModelOptions& options,
                 std::int32_t index) {
  Tensor x = linear(e, hidden_states, layer.up_proj, options, index);
  {
    ModuleScope act_scope(e, "mlp.act", index);
    Tensor activated = activation(e, x, options.hidden_act);
    x = std::move(activated);
  }
  Tensor down = linear(e, x, layer.down_proj, options, index);
  x = std::move(down);
  if (options.block_dropout == BlockDropout::Inside) {
    Tensor dropped = e.dropout(x);
    x = std::move(dropped);
  }
  return x;
}

}  // namespace

// transformers 5.24, LlamaMLP.forward: down_proj(act_fn(gate_proj(x)) * up_proj(x)); under Liger
// one kernel does activation and product (LigerSwiGLUMLP).
Tensor mlp(Engine& e,
           const Tensor& hidden_states,
           const DecoderLayer& layer,
           const ModelOptions& options,
           std::int32_t index) {
  ModuleScope scope(e, "mlp", index);
  if (options.plain_mlp) return plain_mlp(e, hidden_states, layer, options, index);
  if (options.fused_gate_up) {
    Tensor gate;
    Tensor product = fused_product(e, hidden_states, layer, options, index, gate);
    return linear(e, product, layer.down_proj, options, index);
  }
  Tensor gate = linear(e, hidden_states, layer.gate_proj, options, index);
  Tensor product;
  if (options.use_liger_kernel) {
    Tensor up = linear(e, hidden_states, layer.up_proj, options, index);
    product = e.liger_silu_mul(std::move(gate), std::move(up));
  } else {
    Tensor activated;
    {
      ModuleScope act_scope(e, "mlp.act_fn", index);
      activated = activation(e, gate, options.hidden_act);
      gate.reset();
    }
    Tensor up = linear(e, hidden_states, layer.up_proj, options, index);
    product = e.mul(std::move(activated), std::move(up));
  }
  return linear(e, product, layer.down_proj, options, index);
}

}  // namespace peakline
