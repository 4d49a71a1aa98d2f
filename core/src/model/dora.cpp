#include "model/dora.h"

#include <utility>

namespace peakline {

namespace {

// The weight as [out, in].
Tensor as_output_major(Engine& e, const Tensor& weight, const Linear& module) {
  return module.input_major ? e.transpose(weight, 0, 1) : weight;
}

// get_lora_weight: B A, by sending an identity through both.
Tensor adapter_weight(Engine& e, const Linear& module) {
  const std::int64_t in = module.lora_a.size(1);
  Tensor identity = e.factory("eye", Shape{in, in}, module.lora_a.dtype());
  Tensor low = e.linear(identity, module.lora_a, {});
  Tensor product = e.linear(std::move(low), module.lora_b, {});
  return e.transpose(std::move(product), 0, 1);
}

// get_weight_norm: of every row of W + scaling * B A. No gradient flows through it.
Tensor row_norms(Engine& e, const Tensor& weight, const Tensor& adapter, const Linear& module) {
  Tensor sum;
  {
    Tensor scaled = e.mul_scalar(adapter);
    Tensor base = as_output_major(e, weight, module);
    sum = e.add(std::move(base), std::move(scaled));
  }
  Tensor norms = e.norm_last(sum);
  return e.to(std::move(norms), sum.dtype());
}

Tensor weight_like(Engine& e, const Linear& module, DType dtype) {
  Tensor weight = module.packed != nullptr ? e.dequantize_4bit(*module.packed) : module.weight;
  return e.to(std::move(weight), dtype);
}

// (scale - 1) * base_result + scale * lora_result * scaling
Tensor recombined(Engine& e,
                  const Tensor& scale,
                  const Tensor& base_result,
                  const Tensor& lora_result) {
  Tensor less = e.sub_scalar(scale);
  Tensor of_base = e.mul(std::move(less), base_result);
  Tensor of_adapter = e.mul(scale, lora_result);
  Tensor scaled = e.mul_scalar(std::move(of_adapter));
  return e.add(std::move(of_base), std::move(scaled));
}

// DoraLinearLayer.forward. Rule R024: W and B A exist whole, in the input's type, as long as it
// runs. Without `base_result`, which stands for an input that dropout changed, the base's product
// is taken again.
Tensor dora_layer(Engine& e, const Tensor& x, const Linear& module, Tensor base_result) {
  Tensor adapter = adapter_weight(e, module);
  {
    Tensor cast = e.to(adapter, x.dtype());
    adapter = std::move(cast);
  }
  const Tensor weight = weight_like(e, module, x.dtype());
  Tensor norms;
  {
    const Tensor detached = e.detach(adapter);
    norms = row_norms(e, weight, detached, module);
  }
  Tensor scale = e.div(module.lora_magnitude, norms);
  {
    Tensor row = e.view(scale, Shape{1, scale.size(0)});
    scale = std::move(row);
  }
  Tensor lora_result;
  {
    Tensor low = e.linear(x, module.lora_a, {});
    lora_result = e.linear(low, module.lora_b, {});
  }
  if (!base_result.defined()) {
    Tensor base = as_output_major(e, weight, module);
    base_result = e.linear(x, base, {});
  } else if (module.bias.defined()) {
    Tensor unbiased = e.sub(std::move(base_result), module.bias);
    base_result = std::move(unbiased);
  }
  return recombined(e, scale, base_result, lora_result);
}

}  // namespace

// PEFT 0.21, tuners/lora/variants.py, DoraLinearVariant.forward.
void add_dora(Engine& e, const Tensor& x, const Linear& module, Tensor& result) {
  Tensor input = x;
  Tensor delta;
  if (module.lora_dropout) {
    input = e.dropout(x);
    delta = dora_layer(e, input, module, {});
  } else {
    delta = dora_layer(e, input, module, result);
  }
  Tensor sum = e.add(result, std::move(delta));
  result = std::move(sum);
}

}  // namespace peakline
