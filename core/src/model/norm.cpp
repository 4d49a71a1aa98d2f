#include "model/norm.h"

#include <utility>

namespace peakline {

// transformers 5.24, models/llama/modeling_llama.py, LlamaRMSNorm.forward. Rule R061: the float32
// cast of the input is kept for backward.
Tensor rms_norm(Engine& e,
                const Tensor& input,
                const RmsNorm& module,
                const ModelOptions& options,
                std::int32_t layer) {
  ModuleScope scope(e, module.name, layer);
  if (options.use_liger_kernel) return e.liger_rms_norm(input, module.weight);
  const DType input_dtype = input.dtype();
  Tensor hidden_states = e.to(input, DType::Float32);
  Tensor squares = e.square(hidden_states);
  Tensor variance = e.mean_last(std::move(squares));
  Tensor shifted = e.add_scalar(variance);
  Tensor scale = e.rsqrt(std::move(shifted));
  {
    Tensor scaled = e.mul(hidden_states, std::move(scale));
    hidden_states = std::move(scaled);
  }
  Tensor cast = e.to(hidden_states, input_dtype);
  return e.mul(module.weight, std::move(cast));
}

}  // namespace peakline
