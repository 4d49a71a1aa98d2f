#include "torch/linear_4bit.h"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <utility>

#include "torch/values.h"

namespace peakline::torch_engine {
namespace {

constexpr std::int64_t kBlock = 64;
constexpr std::int64_t kNestedBlock = 256;

using torch::autograd::variable_list;

// Two codes to a byte, the first in the high half; every block of 64 has its factor.
void read_back(const Packed4bit& weight, const at::Tensor& absmax, at::Tensor& out) {
  RECORD_FUNCTION("reference::dequantize_4bit", {});
  const at::Tensor& packed = value_of(weight.packed);
  const at::Tensor codes =
      at::stack({at::bitwise_right_shift(packed, 4), at::bitwise_and(packed, 15)}, -1).flatten();
  const at::Tensor values = value_of(weight.code).index({codes.to(at::kLong)});
  const at::Tensor scaled = values * absmax.repeat_interleave(kBlock).slice(0, 0, values.numel());
  out.copy_(scaled.view(sizes_of(weight.shape)));
}

// Double quantisation: the factors themselves are 8-bit codes in blocks of 256, with an offset.
void read_back_absmax(const Packed4bit& weight, at::Tensor& out) {
  RECORD_FUNCTION("reference::dequantize_blockwise", {});
  const at::Tensor codes = value_of(weight.absmax).to(at::kLong);
  const at::Tensor values = value_of(weight.nested_code).index({codes});
  const at::Tensor factors =
      value_of(weight.nested_absmax).repeat_interleave(kNestedBlock).slice(0, 0, values.numel());
  out.copy_(values * factors);
}

// The weight, and the factors it was read back with.
struct Dequantized {
  at::Tensor plain;
  at::Tensor absmax;
  at::Tensor weight;
};

Dequantized dequantized(const Packed4bit& weight, at::ScalarType dtype, bool in_backward) {
  Dequantized out;
  out.absmax = value_of(weight.absmax);
  if (weight.nested_absmax.defined()) {
    out.plain = at::empty_like(out.absmax, at::kFloat);
    read_back_absmax(weight, out.plain);
    const at::Tensor& offset = value_of(weight.offset);
    // Backward adds the offset in place (functional.py, dequantize_4bit), the fused call does not.
    out.absmax = in_backward ? out.plain.add_(offset) : out.plain + offset;
  }
  out.weight = at::empty(sizes_of(weight.shape), out.absmax.options().dtype(dtype));
  read_back(weight, out.absmax, out.weight);
  return out;
}

}  // namespace

at::Tensor dequantize_4bit(const Packed4bit& weight) {
  return dequantized(weight, scalar_type_of(weight.dtype), true).weight;
}

namespace {

// grad_output x weight; the bias takes the gradient as it comes.
class MatMul4Bit final : public torch::autograd::Node {
 public:
  MatMul4Bit(const Packed4bit& weight, const at::Tensor& input, const at::Tensor& bias)
      : Node(torch::autograd::collect_next_edges(input, bias)), weight_(weight) {}

  variable_list apply(variable_list&& gradients) override {
    const at::Tensor& gradient = gradients[0];
    at::Tensor factor = dequantize_4bit(weight_);
    factor = factor.to(gradient.scalar_type());
    at::Tensor of_input;
    if (task_should_compute_output(0)) of_input = at::matmul(gradient, factor);
    return {of_input, task_should_compute_output(1) ? gradient : at::Tensor{}};
  }

 private:
  const Packed4bit& weight_;
};

}  // namespace

at::Tensor linear_4bit(const at::Tensor& input, const Packed4bit& weight, const at::Tensor& bias) {
  c10::intrusive_ptr<MatMul4Bit> node;
  if (torch::autograd::compute_requires_grad(input, bias))
    node = c10::make_intrusive<MatMul4Bit>(weight, input, bias);
  at::Tensor out;
  {
    const at::NoGradGuard no_grad;
    const Dequantized factor = dequantized(weight, input.scalar_type(), false);
    out = at::linear(input, factor.weight, bias);
  }
  if (node) torch::autograd::set_history(out, node);
  return out;
}

}  // namespace peakline::torch_engine
