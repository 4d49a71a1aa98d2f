#include "model/norm.h"

#include <utility>

namespace peakline {

namespace {

// x * rsqrt(x.pow(2).mean(-1) + eps). The caller's frame keeps the variance until it returns.
Tensor root_mean_square(Engine& e, const Tensor& x, Tensor& variance) {
  Tensor squares = e.square(x);
  variance = e.mean_last(std::move(squares));
  Tensor shifted = e.add_scalar(variance);
  Tensor scale = e.rsqrt(std::move(shifted));
  return e.mul(x, std::move(scale));
}

// transformers 5.24, models/llama/modeling_llama.py, LlamaRMSNorm.forward. Rule R061: the float32
// cast of the input is kept for backward.
Tensor rms_norm(Engine& e, const Tensor& input, const Norm& module) {
  Tensor hidden_states = e.to(input, DType::Float32);
  Tensor variance;
  Tensor scaled = root_mean_square(e, hidden_states, variance);
  hidden_states = std::move(scaled);
  Tensor cast = e.to(hidden_states, input.dtype());
  return e.mul(module.weight, std::move(cast));
}

// transformers 5.24, models/olmo2/modeling_olmo2.py, Olmo2RMSNorm.forward.
Tensor rms_norm_wide(Engine& e, const Tensor& input, const Norm& module) {
  Tensor hidden_states = e.to(input, DType::Float32);
  Tensor variance;
  Tensor scaled = root_mean_square(e, hidden_states, variance);
  hidden_states = std::move(scaled);
  Tensor product = e.mul(module.weight, hidden_states);
  return e.to(std::move(product), input.dtype());
}

// transformers 5.24, models/gemma/modeling_gemma.py, GemmaRMSNorm.forward.
Tensor rms_norm_offset(Engine& e, const Tensor& input, const Norm& module) {
  Tensor output;
  {
    const Tensor wide = e.to(input, DType::Float32);
    Tensor squares = e.square(wide);
    Tensor variance = e.mean_last(std::move(squares));
    Tensor shifted = e.add_scalar(std::move(variance));
    Tensor scale = e.rsqrt(std::move(shifted));
    output = e.mul(wide, std::move(scale));
  }
  Tensor weight = e.to(module.weight, DType::Float32);
  Tensor factor = e.add_scalar(std::move(weight));
  Tensor product = e.mul(output, std::move(factor));
  output = std::move(product);
  return e.to(output, input.dtype());
}

// transformers 5.24, models/cohere/modeling_cohere.py, CohereLayerNorm.forward.
Tensor layer_norm_unfused(Engine& e, const Tensor& input, const Norm& module) {
  Tensor hidden_states = e.to(input, DType::Float32);
  const Tensor mean = e.mean_last(hidden_states);
  Tensor variance;
  {
    Tensor centred = e.sub(hidden_states, mean);
    Tensor squares = e.square(std::move(centred));
    variance = e.mean_last(std::move(squares));
  }
  {
    Tensor centred = e.sub(hidden_states, mean);
    Tensor shifted = e.add_scalar(variance);
    Tensor scale = e.rsqrt(std::move(shifted));
    Tensor scaled = e.mul(std::move(centred), std::move(scale));
    hidden_states = std::move(scaled);
  }
  Tensor weight = e.to(module.weight, DType::Float32);
  Tensor weighted = e.mul(std::move(weight), hidden_states);
  hidden_states = std::move(weighted);
  return e.to(hidden_states, input.dtype());
}

// transformers 5.24, models/olmo/modeling_olmo.py, OlmoLayerNorm.forward.
Tensor layer_norm_wide(Engine& e, const Tensor& input, const Norm& module) {
  Tensor wide = e.to(input, DType::Float32);
  Tensor out = e.layer_norm(std::move(wide), module.weight, module.bias);
  return e.to(std::move(out), input.dtype());
}

}  // namespace

Tensor norm(Engine& e, const Tensor& input, const Norm& module, std::int32_t layer) {
  ModuleScope scope(e, module.name, layer);
  if (module.liger != LigerNorm::None)
    return e.liger_rms_norm(input, module.weight, module.liger == LigerNorm::InPlace);
  switch (module.kind) {
    case NormKind::Rms:
      return rms_norm(e, input, module);
    case NormKind::RmsWide:
      return rms_norm_wide(e, input, module);
    case NormKind::RmsOffset:
      return rms_norm_offset(e, input, module);
    case NormKind::Layer:
      return e.layer_norm(input, module.weight, module.bias);
    case NormKind::LayerWide:
      return layer_norm_wide(e, input, module);
    case NormKind::LayerUnfused:
      return layer_norm_unfused(e, input, module);
  }
  return {};
}

void apply_norm(Engine& e, const std::optional<Norm>& module, Tensor& states, std::int32_t layer) {
  if (!module) return;
  Tensor normed = norm(e, states, *module, layer);
  states = std::move(normed);
}

}  // namespace peakline
