// scaled_dot_product_attention and what its backends keep. Sources: torch 2.13,
// aten/src/ATen/native/transformers/{attention.cpp, cuda/sdp_utils.cpp, cuda/flash_attn,
// cuda/mem_eff_attention}.
#include <algorithm>
#include <utility>

#include "symbolic/symbolic_engine.h"

namespace peakline::symbolic {

using Incoming = std::array<Tensor, kMaxOutputs>;

namespace {

// [B, A, S, D] that lies in memory as [B, S, A, D].
Shape heads_last_strides(const Shape& sizes) {
  Shape strides = sizes;
  strides[3] = 1;
  strides[1] = sizes[3];
  strides[2] = sizes[3] * sizes[1];
  strides[0] = sizes[3] * sizes[1] * sizes[2];
  return strides;
}

Shape like(const Tensor& tensor) {
  const SymbolicTensor& record = record_of(tensor);
  return packed_like(record.sizes, record.strides);
}

enum class Backend { Flash, Efficient, Math };

bool same_heads(const Tensor& a, const Tensor& b) {
  return a.size(1) == b.size(1);
}

// sdp_utils_cpp.cpp, use_flash_attention_cpp
bool cpu_flash_fits(const Tensor& q,
                    const Tensor& k,
                    const Tensor& v,
                    const AttentionOptions& options) {
  const bool heads_fit = options.enable_gqa || (same_heads(q, k) && same_heads(q, v));
  const bool same_dim = q.size(3) == k.size(3) && q.size(3) == v.size(3);
  return options.allow_flash && !options.dropout && heads_fit && same_dim;
}

// Saves q, k, v, the output and the log of the row sums (FlashAttentionKernel.cpp).
void formula_cpu_flash(SymbolicEngine& engine, Node& node, Incoming&, Gradients& outgoing) {
  const char* op = "_scaled_dot_product_flash_attention_for_cpu_backward";
  for (std::size_t i = 0; i < 3; ++i) {
    const Tensor& input = node.unpacked[i];
    outgoing[i] = engine.fresh(op, input.sizes(), heads_last_strides(input.sizes()), input.dtype());
  }
  for (int i = 0; i < 3; ++i) {
    if (!node.needs(i)) outgoing[static_cast<std::size_t>(i)].reset();
  }
}

// Flash, then memory-efficient, then math, as sdp_utils.cpp checks them.
Backend choose(const DeviceModel& card,
               const Tensor& q,
               const Tensor& k,
               const Tensor& v,
               bool masked,
               const AttentionOptions& options) {
  if (card.is_cpu) return Backend::Math;
  const int cc = card.compute_capability;
  const bool half = is_half(q.dtype());
  const std::int64_t dim = q.size(3);
  const bool same_dim = dim == k.size(3) && dim == v.size(3);
  const bool heads_fit = options.enable_gqa ? q.size(1) % k.size(1) == 0 : same_heads(q, k);
  const bool needs_grad = q.requires_grad() || k.requires_grad() || v.requires_grad();
  const bool small_shared_memory = (cc >= 86 && cc <= 89) || cc >= 120;
  const bool backward_fits = !(needs_grad && small_shared_memory) || dim <= 192 || dim > 224;
  if (options.allow_flash && cc >= 80 && half && !masked && same_dim && dim <= 256 && heads_fit &&
      backward_fits) {
    return Backend::Flash;
  }
  const bool dtype_fits = q.dtype() == DType::Float32 || q.dtype() == DType::Float16 || cc >= 80;
  const std::int64_t alignment = half ? (cc >= 70 ? 8 : 1) : (cc >= 80 ? 4 : 1);
  // Up to torch 2.13 the memory-efficient kernel takes no grouped heads.
  if (dtype_fits && same_heads(q, k) && dim == k.size(3) && dim % alignment == 0 &&
      v.size(3) % alignment == 0) {
    return Backend::Efficient;
  }
  return Backend::Math;
}

// Saves q, k, v, the output and the log of the row sums. Rule R033: the kernel holds a float32 dQ
// and, for grouped heads, dK and dV of every query head.
void formula_flash(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  const char* op = "_scaled_dot_product_flash_attention_backward";
  for (std::size_t i = 0; i < 3; ++i) {
    const Tensor& input = node.unpacked[i];
    outgoing[i] = engine.fresh(op, input.sizes(), like(input), input.dtype());
  }
  const Shape& q = node.unpacked[0].sizes();
  const Shape& k = node.unpacked[1].sizes();
  const DType dtype = node.unpacked[0].dtype();
  const std::int64_t dim8 = round_up(q[3], 8);
  const std::int64_t dim_rounded = round_up(dim8, dim8 <= 128 ? 32 : 64);
  const std::int64_t rows = round_up(q[2], 128);
  // A float32 accumulator of dQ with its row sums; dK and dV for every query head where heads are
  // grouped; a contiguous copy of the gradient where it is not.
  const Shape grouped = k[1] == q[1] ? Shape{} : Shape{q[0], k[2], q[1], dim8};
  const SymbolicTensor& gradient = record_of(incoming[0]);
  Shape sizes = gradient.sizes;
  Shape strides = gradient.strides;
  std::swap(sizes[1], sizes[2]);
  std::swap(strides[1], strides[2]);
  const Shape copy = is_contiguous(sizes, strides) ? Shape{} : gradient.sizes;
  engine.kernel_temporaries("hidden:flash_backward",
                            {{Shape{q[0], q[1], rows}, DType::Float32},
                             {Shape{q[0], rows, q[1], dim_rounded}, DType::Float32},
                             {grouped, dtype},
                             {grouped, dtype},
                             {copy, gradient.dtype}});
  for (int i = 0; i < 3; ++i) {
    if (!node.needs(i)) outgoing[static_cast<std::size_t>(i)].reset();
  }
}

void formula_efficient(SymbolicEngine& engine, Node& node, Incoming&, Gradients& outgoing) {
  const char* op = "_scaled_dot_product_efficient_attention_backward";
  for (std::size_t i = 0; i < 3; ++i) {
    const Tensor& input = node.unpacked[i];
    outgoing[i] = engine.fresh(op, input.sizes(), heads_last_strides(input.sizes()), input.dtype());
  }
  const Shape& q = node.unpacked[0].sizes();
  const Shape& k = node.unpacked[1].sizes();
  const std::int64_t widest = std::max(q[3], node.unpacked[2].size(3));
  const int cc = engine.device().compute_capability;
  const bool roomy = cc == 80 || cc == 90;  // shared memory for blocks of 128
  const std::int64_t block = widest <= 64 || !roomy ? 64 : 128;
  Shape accumulator;
  Shape key_accumulator;
  if (node.unpacked[0].dtype() != DType::Float32) {  // float32 gradients are accumulated in place
    accumulator = Shape{q[0], q[1], round_up(q[2], block), round_up(q[3], widest <= 64 ? 64 : 128)};
    if (widest > block)
      key_accumulator = Shape{q[0], q[1], round_up(k[2], 64), round_up(q[3], 128)};
  }
  engine.kernel_temporaries("hidden:efficient_backward",
                            {{Shape{q[0], q[1], round_up(q[2], 32)}, DType::Float32},
                             {accumulator, DType::Float32},
                             {key_accumulator, DType::Float32},
                             {key_accumulator, DType::Float32}});
  for (int i = 0; i < 3; ++i) {
    if (!node.needs(i)) outgoing[static_cast<std::size_t>(i)].reset();
  }
}

void formula_pad(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.fresh("constant_pad_nd", node.input_sizes(0), incoming[0].dtype());
}

void formula_slice(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.fresh("slice_backward", node.input_sizes(0), incoming[0].dtype());
}

void formula_softmax(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  const Tensor& result = node.unpacked[0];
  outgoing[0] = engine.fresh("_softmax_backward_data", result.sizes(), node.dtype);
  engine.kernel_temporaries("hidden:softmax_backward",
                            {{result.sizes(), promote(incoming[0].dtype(), result.dtype())}});
}

}  // namespace

Tensor SymbolicEngine::do_softmax_last(const Tensor& self, DType dtype) {
  // CUDA has a softmax from float16 to float32; every other input is cast first.
  const bool fused = self.dtype() == DType::Float16 && dtype == DType::Float32;
  Tensor wide = fused ? self : to(self, dtype);
  return halted_ ? Tensor{} : softmax("_softmax", wide, dtype);
}

Tensor SymbolicEngine::do_softmax_as_is(const Tensor& self) {
  const Tensor input = autocast_wide(self);
  return softmax("_softmax", input, input.dtype());
}

Tensor SymbolicEngine::softmax(const char* op, const Tensor& self, DType dtype) {
  Node* node = start(formula_softmax, {&self});
  if (node != nullptr) node->dtype = self.dtype();
  Tensor out = fresh(op, self.sizes(), dtype);
  if (!save_output(node, out)) return abandon(node);
  return finish(node, std::move(out));
}

Tensor SymbolicEngine::flash_attention(const Tensor& query,
                                       const Tensor& key,
                                       const Tensor& value) {
  const char* op = "_scaled_dot_product_flash_attention";
  Node* node = start(formula_flash, {&query, &key, &value});
  if (!save(node, query) || !save(node, key) || !save(node, value)) return abandon(node);
  const Shape& q = query.sizes();
  Tensor out = fresh(op, q, like(query), query.dtype());
  Tensor row_sums = fresh(op, Shape{q[0], q[1], q[2]}, DType::Float32);
  Tensor seed = fresh(op, Shape{2}, DType::UInt64);
  Tensor offset = fresh(op, Shape{}, DType::UInt64);
  { Tensor debug_mask = fresh(op, Shape{0}, query.dtype()); }
  for (const Tensor* result : {&out, &row_sums, &seed, &offset}) {
    if (!save_output(node, *result)) return abandon(node);
  }
  return finish(node, std::move(out));
}

Tensor SymbolicEngine::efficient_attention(const Tensor& query,
                                           const Tensor& key,
                                           const Tensor& value,
                                           const Tensor& bias) {
  const char* op = "_scaled_dot_product_efficient_attention";
  Node* node = start(formula_efficient, {&query, &key, &value});
  if (!save(node, query) || !save(node, key) || !save(node, value)) return abandon(node);
  if (bias.defined() && !save(node, bias)) return abandon(node);
  const Shape& q = query.sizes();
  Shape result = q;
  result[3] = value.size(3);
  Tensor out = fresh(op, result, heads_last_strides(result), query.dtype());
  const std::int64_t rows = node != nullptr ? round_up(q[2], 32) : 0;  // compute_log_sumexp
  Tensor row_sums = fresh(op, Shape{q[0], q[1], rows}, DType::Float32);
  Tensor seed = fresh(op, Shape{}, DType::Int64);
  Tensor offset = fresh(op, Shape{}, DType::Int64);
  for (const Tensor* saved : {&out, &row_sums, &seed, &offset}) {
    if (!save_output(node, *saved)) return abandon(node);
  }
  return finish(node, std::move(out));
}

Tensor SymbolicEngine::pad_last(const Tensor& self, std::int64_t size) {
  Node* node = start(formula_pad, {&self});
  Shape padded = self.sizes();
  padded[-1] = size;
  return finish(node, fresh("constant_pad_nd", padded, self.dtype()));
}

Tensor SymbolicEngine::slice_last(const Tensor& self, std::int64_t size) {
  Node* node = start(formula_slice, {&self});
  Shape narrow = self.sizes();
  narrow[-1] = size;
  return finish(node, alias(self, narrow, record_of(self).strides));
}

// pad_last_dim: flash takes head dimensions in multiples of 8; others are padded, and what is kept
// for backward is the padded copy.
Tensor SymbolicEngine::padded_flash_attention(const Tensor& query,
                                              const Tensor& key,
                                              const Tensor& value) {
  const std::int64_t given = query.size(3);
  const std::int64_t size = round_up(given, 8);
  if (size == given) return flash_attention(query, key, value);
  const Tensor wide_query = pad_last(query, size);
  const Tensor wide_key = pad_last(key, size);
  const Tensor wide_value = pad_last(value, size);
  if (halted_) return {};
  const Tensor out = flash_attention(wide_query, wide_key, wide_value);
  return halted_ ? Tensor{} : slice_last(out, given);
}

// convert_boolean_attn_mask and pad_bias: a bool mask becomes an additive one of the query's type,
// anew in every layer (Rule R032); the kernel wants its last dimension in multiples of 8.
Tensor SymbolicEngine::additive_mask(const Tensor& mask, DType dtype, bool pad) {
  Tensor bias = mask;
  if (mask.dtype() == DType::Bool) {
    const Tensor zero = fresh("scalar_tensor", Shape{}, dtype);
    const Tensor lowest = fresh("scalar_tensor", Shape{}, dtype);
    bias = fresh("where.self", mask.sizes(), dtype);
  }
  const std::int64_t columns = mask.size(-1);
  if (!pad || columns % 8 == 0) return bias;
  Shape padded = mask.sizes();
  padded[-1] = round_up(columns, 8);
  Tensor wide = fresh("constant_pad_nd", padded, dtype);
  return alias(wide, mask.sizes(), record_of(wide).strides);
}

// repeat_interleave over the heads.
Tensor SymbolicEngine::repeat_heads(Tensor self, std::int64_t times) {
  const Shape s = self.sizes();
  Tensor grouped = do_unsqueeze(self, 2);
  self.reset();
  Tensor spread = do_expand(grouped, Shape{s[0], s[1], times, s[2], s[3]});
  grouped.reset();
  Tensor copy = contiguous(std::move(spread));
  return do_reshape(copy, Shape{s[0], s[1] * times, s[2], s[3]});
}

// _scaled_dot_product_attention_math: composite, so that autograd sees every part. The [S, S]
// scores exist as product, masked and softmax; the softmax is saved (Rule R034). torch 2.13 adds
// the mask in place except under tensor subclasses; the timelines were recorded under one, and the
// step follows them.
Tensor SymbolicEngine::math_attention(const Tensor& query_,
                                      const Tensor& key_,
                                      const Tensor& value_,
                                      Tensor bias,
                                      const AttentionOptions& options) {
  const DType given = query_.dtype();
  Tensor query_acc = is_half(given) ? to(query_, DType::Float32) : query_;
  const Tensor key_acc = is_half(given) ? to(key_, DType::Float32) : key_;
  const Tensor value_acc = is_half(given) ? to(value_, DType::Float32) : value_;
  Tensor key = key_acc;
  Tensor value = value_acc;
  Tensor query = unary_scaled(query_acc);
  if (options.is_causal) {
    const Shape square{query.size(2), key.size(2)};
    Tensor ones_mask = fresh("ones", square, DType::Bool);
    Tensor lower = fresh("tril", square, DType::Bool);
    ones_mask.reset();
    bias = additive_mask(lower, query.dtype(), false);
  }
  const std::int64_t groups = query.size(1) / key.size(1);
  if (options.enable_gqa && groups > 1) {
    key = repeat_heads(std::move(key), groups);
    value = repeat_heads(std::move(value), groups);
  }
  Tensor turned = do_transpose(key, 2, 3);
  Tensor scaled_key = unary_scaled(turned);
  turned.reset();
  Tensor scores = matmul(query, std::move(scaled_key));
  if (bias.defined() && !device_.is_cpu) {
    Tensor masked = add(std::move(scores), bias);
    scores = std::move(masked);
  }
  if (halted_) return {};
  Tensor weights = softmax("_safe_softmax", scores, scores.dtype());
  scores.reset();
  if (options.dropout) {
    // The CPU has no fused dropout: it multiplies with noise of the weights' type.
    Tensor dropped = device_.is_cpu
                         ? do_mul(weights, pointwise1("empty_like", weights, weights.dtype()))
                         : do_dropout(weights);
    weights = std::move(dropped);
    if (halted_) return {};
  }
  // The returned pair is built from right to left: the weights' cast, which nobody takes, comes
  // first.
  Tensor weights_cast = to(weights, given);
  Tensor out = matmul(weights, value);
  return to(std::move(out), given);
}

// The CPU's flash kernel takes every mask, type and grouping.
Tensor SymbolicEngine::cpu_attention(const Tensor& query,
                                     const Tensor& key,
                                     const Tensor& value,
                                     const Tensor& mask) {
  const char* op = "_scaled_dot_product_flash_attention_for_cpu";
  Tensor bias;
  if (mask.defined()) bias = additive_mask(mask, query.dtype(), false);
  Node* node = start(formula_cpu_flash, {&query, &key, &value});
  if (!save(node, query) || !save(node, key) || !save(node, value)) return abandon(node);
  if (bias.defined() && !save(node, bias)) return abandon(node);
  const Shape& q = query.sizes();
  Tensor out = fresh(op, q, like(query), query.dtype());
  Tensor row_sums = fresh(op, Shape{q[0], q[1], q[2]}, DType::Float32);
  if (!save_output(node, out) || !save_output(node, row_sums)) return abandon(node);
  return finish(node, std::move(out));
}

Tensor SymbolicEngine::do_attention(const Tensor& query_,
                                    const Tensor& key_,
                                    const Tensor& value_,
                                    const Tensor& mask_,
                                    const AttentionOptions& options) {
  const Tensor mask = autocast_input(mask_);
  Tensor value = autocast_input(value_);
  Tensor key = autocast_input(key_);
  Tensor query = autocast_input(query_);
  if (device_.is_cpu && cpu_flash_fits(query, key, value, options))
    return cpu_attention(query, key, value, mask);
  const Backend backend = choose(device_, query, key, value, mask.defined(), options);
  Tensor bias;
  if (mask.defined()) bias = additive_mask(mask, query.dtype(), backend == Backend::Efficient);
  switch (backend) {
    case Backend::Flash:
      return padded_flash_attention(query, key, value);
    case Backend::Efficient:
      return efficient_attention(query, key, value, bias);
    case Backend::Math: {
      // The casts were made for the call as a whole; inside, autocast is off.
      const std::optional<DType> outer = std::exchange(autocast_, std::nullopt);
      Tensor out = math_attention(query, key, value, bias, options);
      autocast_ = outer;
      return out;
    }
  }
  return {};
}

}  // namespace peakline::symbolic
