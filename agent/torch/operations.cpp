// The operations: each is the ATen call of its name.
#include <ATen/Context.h>

#include <limits>

#include "torch/gelu_recomputed.h"
#include "torch/linear_4bit.h"
#include "torch/torch_engine_impl.h"

namespace peakline::torch_engine {
namespace {

// What the step does not say yet: the numbers that scale, shift and bend.
constexpr double kEpsilon = 1e-6;
constexpr double kDropout = 0.1;
constexpr double kLimit = 30.0;
constexpr double kFactor = 0.5;

// A whole number keeps whole numbers whole.
at::Scalar one_for(const at::Tensor& self) {
  return at::isIntegralType(self.scalar_type(), true) ? at::Scalar(1) : at::Scalar(1.0);
}

class FlashAllowed {
 public:
  explicit FlashAllowed(bool allowed) : outer_(at::globalContext().userEnabledFlashSDP()) {
    at::globalContext().setSDPUseFlash(allowed);
  }
  ~FlashAllowed() { at::globalContext().setSDPUseFlash(outer_); }
  FlashAllowed(const FlashAllowed&) = delete;
  FlashAllowed& operator=(const FlashAllowed&) = delete;

 private:
  bool outer_;
};

}  // namespace

// ---------------------------------------------------------------- pointwise

Tensor TorchEngine::do_add(const Tensor& self, const Tensor& other) {
  return computed("add", [&] { return at::add(value_of(self), value_of(other)); });
}
Tensor TorchEngine::do_sub(const Tensor& self, const Tensor& other) {
  return computed("sub", [&] { return at::sub(value_of(self), value_of(other)); });
}
Tensor TorchEngine::do_mul(const Tensor& self, const Tensor& other) {
  return computed("mul", [&] { return at::mul(value_of(self), value_of(other)); });
}
Tensor TorchEngine::do_div(const Tensor& self, const Tensor& other) {
  return computed("div", [&] { return at::div(value_of(self), value_of(other)); });
}
Tensor TorchEngine::do_add_scalar(const Tensor& self) {
  return computed("add", [&] { return at::add(value_of(self), one_for(value_of(self))); });
}
Tensor TorchEngine::do_sub_scalar(const Tensor& self) {
  return computed("sub", [&] { return at::sub(value_of(self), one_for(value_of(self))); });
}
Tensor TorchEngine::do_mul_scalar(const Tensor& self) {
  return computed("mul", [&] { return at::mul(value_of(self), one_for(value_of(self))); });
}
Tensor TorchEngine::do_div_scalar(const Tensor& self) {
  return computed("div", [&] { return at::div(value_of(self), one_for(value_of(self))); });
}
Tensor TorchEngine::do_neg(const Tensor& self) {
  return computed("neg", [&] { return at::neg(value_of(self)); });
}
Tensor TorchEngine::do_square(const Tensor& self) {
  return computed("pow", [&] { return at::pow(value_of(self), 2); });
}
Tensor TorchEngine::do_rsqrt(const Tensor& self) {
  return computed("rsqrt", [&] { return at::rsqrt(value_of(self)); });
}
Tensor TorchEngine::do_tanh(const Tensor& self) {
  return computed("tanh", [&] { return at::tanh(value_of(self)); });
}
Tensor TorchEngine::do_silu(const Tensor& self) {
  return computed("silu", [&] { return at::silu(value_of(self)); });
}
Tensor TorchEngine::do_gelu(const Tensor& self) {
  return computed("gelu", [&] { return at::gelu(value_of(self)); });
}
Tensor TorchEngine::do_relu(const Tensor& self) {
  return computed("relu", [&] { return at::relu(value_of(self)); });
}
Tensor TorchEngine::do_gelu_recomputed(const Tensor& self) {
  return computed("gelu_recomputed", [&] { return torch_engine::gelu_recomputed(*this, self); });
}
// Its result's place and type; the function itself is not computed yet.
Tensor TorchEngine::do_pointwise(const char* op, const Tensor& self, DType result) {
  return computed(op, [&] {
    const at::NoGradGuard no_grad;
    return at::empty_like(value_of(self), scalar_type_of(result)).zero_();
  });
}
Tensor TorchEngine::do_dropout(const Tensor& self) {
  return computed("dropout",
                  [&] { return std::get<0>(at::native_dropout(value_of(self), kDropout, true)); });
}
// In place: the tensor itself, with its new history.
Tensor TorchEngine::do_iadd(const Tensor& self, const Tensor& other) {
  return computed("add_", [&] { return record_of(self).value.add_(value_of(other)); });
}
Tensor TorchEngine::do_icopy_part(const Tensor& self, const Tensor& source) {
  return computed("copy_", [&] {
    at::Tensor& whole = record_of(self).value;
    const at::Tensor& part = value_of(source);
    at::slice(whole, -1, whole.size(-1) - part.size(-1), whole.size(-1)).copy_(part);
    return whole;
  });
}
Tensor TorchEngine::do_iclamp(const Tensor& self) {
  return computed("clamp_", [&] { return record_of(self).value.clamp_(-kLimit, kLimit); });
}
Tensor TorchEngine::do_imul_scalar(const Tensor& self) {
  return computed("mul_", [&] { return record_of(self).value.mul_(one_for(value_of(self))); });
}
Tensor TorchEngine::do_idiv_scalar(const Tensor& self) {
  return computed("div_", [&] { return record_of(self).value.div_(one_for(value_of(self))); });
}
void TorchEngine::do_add_in_place(const Tensor& self, const Tensor& other) {
  const at::NoGradGuard no_grad;
  const Tensor same = computed("add_", [&] { return record_of(self).value.add_(value_of(other)); });
}

// ---------------------------------------------------------------- dtype and layout

Tensor TorchEngine::do_to(const Tensor& self, DType dtype) {
  return computed("to", [&] { return value_of(self).to(scalar_type_of(dtype)); });
}
Tensor TorchEngine::do_clone(const Tensor& self) {
  return computed("clone", [&] { return at::clone(value_of(self)); });
}
Tensor TorchEngine::do_contiguous(const Tensor& self) {
  return computed("contiguous", [&] { return value_of(self).contiguous(); });
}
Tensor TorchEngine::do_view(const Tensor& self, const Shape& shape) {
  return computed("view", [&] { return value_of(self).view(sizes_of(shape)); });
}
Tensor TorchEngine::do_reshape(const Tensor& self, const Shape& shape) {
  return computed("reshape", [&] { return at::reshape(value_of(self), sizes_of(shape)); });
}
Tensor TorchEngine::do_expand(const Tensor& self, const Shape& shape) {
  return computed("expand", [&] { return value_of(self).expand(sizes_of(shape)); });
}
Tensor TorchEngine::do_transpose(const Tensor& self, int dim0, int dim1) {
  return computed("transpose", [&] { return at::transpose(value_of(self), dim0, dim1); });
}
Tensor TorchEngine::do_unsqueeze(const Tensor& self, int dim) {
  return computed("unsqueeze", [&] { return at::unsqueeze(value_of(self), dim); });
}
Tensor TorchEngine::do_slice(
    const Tensor& self, int dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  return computed("slice", [&] { return at::slice(value_of(self), dim, start, end, step); });
}
Tensor TorchEngine::do_select(const Tensor& self, int dim, std::int64_t index) {
  return computed("select", [&] { return at::select(value_of(self), dim, index); });
}
void TorchEngine::split(const Tensor& self,
                        std::span<const std::int64_t> sizes,
                        int dim,
                        std::span<Tensor> out) {
  if (halted_ || !self.defined()) return;
  attempt("split", [&] {
    std::vector<at::Tensor> parts =
        at::split_with_sizes(value_of(self), at::IntArrayRef(sizes.data(), sizes.size()), dim);
    for (std::size_t i = 0; i < parts.size(); ++i) out[i] = wrap(std::move(parts[i]));
  });
}
Tensor TorchEngine::do_cat(const Tensor& first, const Tensor& second, int dim) {
  return computed("cat", [&] { return at::cat({value_of(first), value_of(second)}, dim); });
}
Tensor TorchEngine::do_stack_last(const Tensor& first, const Tensor& second) {
  return computed("stack", [&] { return at::stack({value_of(first), value_of(second)}, -1); });
}
Tensor TorchEngine::do_index_one(const Tensor& self, int dim) {
  return computed("index", [&] {
    const at::Tensor& x = value_of(self);
    const at::Tensor last = at::empty({1}, options(DType::Int64)).fill_(x.size(dim) - 1);
    c10::List<std::optional<at::Tensor>> indices;
    const std::int64_t place = dim < 0 ? dim + x.dim() : dim;
    for (std::int64_t i = 0; i < place; ++i) indices.push_back(std::nullopt);
    indices.push_back(last);
    return at::index(x, indices);
  });
}
std::vector<Tensor> TorchEngine::split_each(const Tensor& self, int dim) {
  std::vector<Tensor> out;
  if (halted_ || !self.defined()) return out;
  attempt("split", [&] {
    for (at::Tensor& part : at::split(value_of(self), 1, dim)) out.push_back(wrap(std::move(part)));
  });
  return out;
}
Tensor TorchEngine::cat_all(std::span<const Tensor> parts, int dim) {
  if (halted_ || parts.empty()) return {};
  std::vector<at::Tensor> values;
  for (const Tensor& part : parts) values.push_back(value_of(part));
  return computed("cat", [&] { return at::cat(values, dim); });
}

// ---------------------------------------------------------------- reductions

Tensor TorchEngine::do_mean_last(const Tensor& self) {
  return computed("mean", [&] { return at::mean(value_of(self), {-1}, /*keepdim=*/true); });
}
Tensor TorchEngine::do_sum(const Tensor& self) {
  return computed("sum", [&] { return at::sum(value_of(self)); });
}
Tensor TorchEngine::do_norm_last(const Tensor& self) {
  return computed("norm", [&] { return at::linalg_vector_norm(value_of(self), 2, {-1}); });
}

// ---------------------------------------------------------------- layers

Tensor TorchEngine::do_embedding(const Tensor& weight, const Tensor& indices) {
  return computed("embedding", [&] { return at::embedding(value_of(weight), value_of(indices)); });
}
Tensor TorchEngine::do_linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return computed("linear",
                  [&] { return at::linear(value_of(input), value_of(weight), value_of(bias)); });
}
Tensor TorchEngine::do_addmm(const Tensor& bias, const Tensor& input, const Tensor& weight) {
  return computed("addmm",
                  [&] { return at::addmm(value_of(bias), value_of(input), value_of(weight)); });
}
Tensor TorchEngine::do_where(const Tensor& condition, const Tensor& self) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  return computed("where", [&] {
    const at::Tensor& x = value_of(self);
    const at::Tensor number = at::empty({}, x.options()).fill_(kLowest);
    return at::where(value_of(condition), x, number);
  });
}
Tensor TorchEngine::do_softmax_as_is(const Tensor& self) {
  return computed("softmax", [&] { return at::softmax(value_of(self), -1); });
}
Tensor TorchEngine::do_softmax_last(const Tensor& self, DType dtype) {
  return computed("softmax",
                  [&] { return at::softmax(value_of(self), -1, scalar_type_of(dtype)); });
}
Tensor TorchEngine::do_layer_norm(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return computed("layer_norm", [&] {
    const at::Tensor& x = value_of(input);
    return at::layer_norm(x, {x.size(-1)}, value_of(weight), value_of(bias), kEpsilon);
  });
}
Tensor TorchEngine::do_linear_4bit(const Tensor& input,
                                   const Packed4bit& weight,
                                   const Tensor& bias) {
  return computed("linear_4bit", [&] {
    return torch_engine::linear_4bit(value_of(input), weight, value_of(bias));
  });
}
Tensor TorchEngine::do_linear_8bit(const Tensor&, const Packed8bit&, const Tensor&) {
  fail("linear_8bit", "got bitsandbytes' int8 product, which this engine has no kernel for");
  return {};
}
Tensor TorchEngine::do_dequantize_4bit(const Packed4bit& weight) {
  return computed("dequantize_4bit", [&] { return torch_engine::dequantize_4bit(weight); });
}
Tensor TorchEngine::do_matmul(const Tensor& self, const Tensor& other) {
  return computed("matmul", [&] { return at::matmul(value_of(self), value_of(other)); });
}
Tensor TorchEngine::do_baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2) {
  return computed("baddbmm", [&] {
    return at::baddbmm(value_of(self), value_of(batch1), value_of(batch2), 1.0, kFactor);
  });
}
Tensor TorchEngine::do_attention(const Tensor& query,
                                 const Tensor& key,
                                 const Tensor& value,
                                 const Tensor& mask,
                                 const AttentionOptions& options) {
  return computed("scaled_dot_product_attention", [&] {
    const FlashAllowed allowed(options.allow_flash);
    std::optional<at::Tensor> given;
    if (mask.defined()) given = value_of(mask);
    return at::scaled_dot_product_attention(value_of(query),
                                            value_of(key),
                                            value_of(value),
                                            given,
                                            options.dropout ? kDropout : 0.0,
                                            options.is_causal,
                                            std::nullopt,
                                            options.enable_gqa);
  });
}
Tensor TorchEngine::do_cross_entropy(const Tensor& logits, const Tensor& target) {
  return computed("cross_entropy", [&] {
    return at::cross_entropy_loss(value_of(logits), value_of(target), {}, at::Reduction::Sum);
  });
}

// ---------------------------------------------------------------- Liger

Tensor TorchEngine::do_liger_rms_norm(const Tensor&, const Tensor&, bool) {
  return no_liger("liger_rms_norm");
}
Tensor TorchEngine::do_liger_silu_mul(const Tensor&, const Tensor&) {
  return no_liger("liger_silu_mul");
}
Tensor TorchEngine::do_liger_cross_entropy(const Tensor&, const Tensor&) {
  return no_liger("liger_cross_entropy");
}
Tensor TorchEngine::do_liger_fused_linear_cross_entropy(const Tensor&,
                                                        const Tensor&,
                                                        const Tensor&) {
  return no_liger("liger_fused_linear_cross_entropy");
}
void TorchEngine::liger_rope(Tensor&, Tensor&, const Tensor&, const Tensor&) {
  no_liger("liger_rope");
}

// ---------------------------------------------------------------- optimizers

std::vector<Tensor> TorchEngine::foreach (const char* op, std::span<const Tensor> inputs) {
  std::vector<Tensor> out;
  if (halted_) return out;
  const at::NoGradGuard no_grad;
  for (const Tensor& input : inputs)
    out.push_back(computed(op, [&] { return at::empty_like(value_of(input)).zero_(); }));
  return out;
}

std::vector<Tensor> TorchEngine::foreach_norm(std::span<const Tensor> inputs) {
  std::vector<Tensor> out;
  if (halted_) return out;
  std::vector<at::Tensor> values;
  for (const Tensor& input : inputs) values.push_back(value_of(input));
  const at::NoGradGuard no_grad;
  attempt("_foreach_norm", [&] {
    for (at::Tensor& norm : at::_foreach_norm(values)) out.push_back(wrap(std::move(norm)));
  });
  return out;
}

}  // namespace peakline::torch_engine
