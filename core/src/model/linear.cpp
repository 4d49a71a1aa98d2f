#include "model/linear.h"

#include <utility>

#include "model/dora.h"

namespace peakline {

namespace {

// bitsandbytes 0.50, nn/modules.py, Linear4bit.forward.
Tensor linear_4bit(Engine& e, const Tensor& input, const Linear& module, DType compute_dtype) {
  Tensor x = e.to(input, compute_dtype);
  Tensor bias = module.bias.defined() ? e.to(module.bias, compute_dtype) : Tensor{};
  Tensor out = e.linear_4bit(x, *module.packed, bias);
  return e.to(std::move(out), input.dtype());
}

// bitsandbytes 0.50, nn/modules.py, Linear8bitLt.forward: the result has the input's type.
Tensor linear_8bit(Engine& e, const Tensor& input, const Linear& module) {
  Tensor bias = module.bias.defined() ? e.to(module.bias, input.dtype()) : Tensor{};
  return e.linear_8bit(input, *module.packed_8bit, bias);
}

// transformers 5.24, pytorch_utils.py, Conv1D.forward: a linear layer whose weight lies [in, out].
Tensor conv1d(Engine& e, const Tensor& input, const Linear& module) {
  Shape shape = input.sizes();
  if (shape.rank() == 0) return {};
  const Shape rows{shape.numel().count() / shape[-1], shape[-1]};
  Tensor flat = e.view(input, rows);
  Tensor out = e.addmm(module.bias, std::move(flat), module.weight);
  shape[-1] = out.size(-1);
  return e.view(std::move(out), shape);
}

// transformers 5.24, FalconLinear.forward.
Tensor written_out(Engine& e, const Tensor& input, const Linear& module) {
  Tensor turned = e.transpose(module.weight, 0, 1);
  const Tensor product = e.matmul(input, std::move(turned));
  return module.bias.defined() ? e.add(product, module.bias) : product;
}

Tensor base_layer(Engine& e,
                  const Tensor& input,
                  const Linear& module,
                  const ModelOptions& options) {
  if (module.packed != nullptr) return linear_4bit(e, input, module, options.compute_dtype);
  if (module.packed_8bit != nullptr) return linear_8bit(e, input, module);
  if (module.input_major) return conv1d(e, input, module);
  if (options.written_out_linears) return written_out(e, input, module);
  return e.linear(input, module.weight, module.bias);
}

// lora_B(lora_A(dropout(x))) * scaling
Tensor adapter(Engine& e, const Tensor& x, const Linear& module) {
  Tensor low;
  {
    Tensor dropped = module.lora_dropout ? e.dropout(x) : x;
    low = e.linear(dropped, module.lora_a, {});
  }
  Tensor high = e.linear(low, module.lora_b, {});
  low.reset();
  return e.mul_scalar(std::move(high));
}

// PEFT 0.21, tuners/lora/layer.py, Linear.forward. Rule R020: every adapted linear casts its input
// to the adapter's dtype on its own, so q, k and v keep three casts of one tensor.
Tensor lora_linear(Engine& e,
                   const Tensor& input,
                   const Linear& module,
                   const ModelOptions& options) {
  Tensor result = base_layer(e, input, module, options);
  const DType result_dtype = result.dtype();
  Tensor x = e.to(input, module.lora_a.dtype());
  if (module.lora_magnitude.defined()) {
    add_dora(e, x, module, result);
  } else {
    Tensor delta = adapter(e, x, module);
    Tensor sum = e.add(result, std::move(delta));
    result = std::move(sum);
  }
  return e.to(std::move(result), result_dtype);
}

// PEFT 0.21, tuners/lora/bnb.py, Linear4bit.forward and Linear8bitLt.forward. Rule R021: a 4-bit
// result is cloned; the input is cast to the adapter's dtype only outside autocast.
Tensor lora_linear_packed(Engine& e,
                          const Tensor& input,
                          const Linear& module,
                          const ModelOptions& options) {
  Tensor result = base_layer(e, input, module, options);
  if (module.packed != nullptr) {
    Tensor copy = e.clone(result);
    result = std::move(copy);
  }
  const bool requires_conversion = !e.autocast().has_value();
  const DType expected = result.dtype();
  Tensor x = requires_conversion ? e.to(input, module.lora_a.dtype()) : input;
  if (module.lora_magnitude.defined()) {
    add_dora(e, x, module, result);
    return requires_conversion ? e.to(std::move(result), expected) : result;
  }
  Tensor output = adapter(e, x, module);
  if (requires_conversion) {
    Tensor converted = e.to(output, expected);
    output = std::move(converted);
  }
  Tensor sum = e.add(result, output);
  result = std::move(sum);
  return result;
}

}  // namespace

Tensor linear(Engine& e,
              const Tensor& input,
              const Linear& module,
              const ModelOptions& options,
              std::int32_t layer) {
  ModuleScope scope(e, module.name, layer);
  if (!module.lora_a.defined()) return base_layer(e, input, module, options);
  if (!module.weight.defined()) return lora_linear_packed(e, input, module, options);
  return lora_linear(e, input, module, options);
}

}  // namespace peakline
