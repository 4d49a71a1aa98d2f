#include "model/mask.h"

#include <utility>

namespace peakline {

namespace {

// find_packed_sequence_indices: do position ids restart anywhere? Asked only where no mask was
// given.
void look_for_packed_sequences(Engine& e,
                               const Tensor& position_ids,
                               std::int64_t batch,
                               std::int64_t length) {
  Tensor spread = batch == 1 ? position_ids : e.expand(position_ids, Shape{batch, length});
  Tensor first = e.slice(spread, 1, 0, 1);
  Tensor before = e.pointwise("sub.Tensor", std::move(first), DType::Int64);
  Tensor prepended = e.cat(before, spread, 1);
  Tensor later = e.slice(prepended, 1, 1, length + 1);
  Tensor earlier = e.slice(prepended, 1, 0, length);
  Tensor steps = e.sub(std::move(later), std::move(earlier));
  prepended.reset();
  before.reset();
  Tensor jumps = e.pointwise("ne.Scalar", std::move(steps), DType::Bool);
  Tensor indices = e.pointwise("cumsum", std::move(jumps), DType::Int64);
  Tensor last = e.slice(indices, 1, length - 1, length);
  Tensor single = e.pointwise("eq.Scalar", std::move(last), DType::Bool);
  Tensor all = e.sum(std::move(single));
}

Tensor positions(Engine& e, std::int64_t length) {
  Tensor range = e.factory("arange", Shape{length}, DType::Int64);
  return e.add_scalar(std::move(range));
}

// and_masks starts from a scalar of ones and keeps every partial result until the next one exists.
Tensor combined(Engine& e, Tensor so_far, const char* op, const Shape& shape) {
  Tensor part = e.factory(op, shape, DType::Bool);
  Tensor both = e.factory("bitwise_and.Tensor", shape, DType::Bool);
  so_far.reset();
  return both;
}

// causal_mask_function, under sliding_window_overlay where there is a window: [1, 1, S, S].
Tensor pattern(Engine& e, const MaskRequest& request) {
  const Shape square{1, 1, request.length, request.length};
  if (!request.sliding_window) return e.factory("le.Tensor", square, DType::Bool);
  Tensor window;
  {
    Tensor one = e.factory("new_ones", Shape{}, DType::Bool);
    Tensor start = e.factory("sub.Tensor", Shape{1, 1, request.length, 1}, DType::Int64);
    Tensor inside = e.factory("gt.Tensor", square, DType::Bool);
    start.reset();
    window = e.factory("bitwise_and.Tensor", square, DType::Bool);
  }
  return combined(e, std::move(window), "le.Tensor", square);
}

// sdpa_mask: the pattern, and the padding mask over it.
Tensor build(Engine& e, const Tensor& padding, const MaskRequest& request) {
  const std::int64_t length = request.length;
  const Shape whole{request.batch, 1, length, length};
  Tensor batch_range = e.factory("arange", Shape{request.batch}, DType::Int64);
  Tensor head_range = e.factory("arange", Shape{1}, DType::Int64);
  Tensor query = positions(e, length);
  Tensor key = positions(e, length);
  if (!padding.defined()) return e.expand(pattern(e, request), whole);
  Tensor started;
  {
    Tensor one = e.factory("new_ones", Shape{}, DType::Bool);
    Tensor shape = pattern(e, request);
    started = e.factory("bitwise_and.Tensor", Shape{1, 1, length, length}, DType::Bool);
  }
  Tensor kept = e.factory("index.Tensor", Shape{request.batch, 1, 1, length}, DType::Bool);
  return e.factory("bitwise_and.Tensor", whole, DType::Bool);
}

bool needs_mask(const MaskRequest& request) {
  const bool window_reached = request.sliding_window && request.length >= *request.sliding_window;
  return request.always || request.additive.has_value() || request.padded || window_reached;
}

}  // namespace

// transformers 5.24, masking_utils.py: _preprocess_mask_arguments, sdpa_mask and eager_mask.
Tensor causal_mask(Engine& e,
                   const Tensor& attention_mask,
                   const Tensor& position_ids,
                   const MaskRequest& request) {
  NoGrad no_grad(e);
  Tensor padding;
  if (attention_mask.defined()) {
    padding = e.to(attention_mask, DType::Bool);
  } else if (position_ids.defined()) {
    look_for_packed_sequences(e, position_ids, request.batch, request.length);
  }
  const bool window_reached = request.sliding_window && request.length >= *request.sliding_window;
  // Is every token kept? Not asked where a mask is built anyway.
  const bool asked = !request.always && !request.additive && !window_reached;
  if (padding.defined() && asked) Tensor kept = e.sum(padding);
  if (!needs_mask(request)) return {};
  Tensor mask = build(e, padding, request);
  if (!request.additive) return mask;
  Tensor zero = e.factory("zeros", Shape{}, *request.additive);
  Tensor lowest = e.factory("scalar_tensor", Shape{}, *request.additive);
  return e.factory("where.self", mask.sizes(), *request.additive);
}

// transformers 5.24, FalconModel.forward.
Tensor mask_with_alibi(Engine& e, Tensor mask, Tensor& alibi) {
  const DType dtype = alibi.dtype();
  const NoGrad no_grad(e);
  if (mask.dtype() == DType::Bool) {
    Tensor zero = e.factory("full", Shape{}, dtype);
    Tensor additive = e.factory("where.self", mask.sizes(), dtype);
    mask = std::move(additive);
  }
  const Shape whole{mask.size(0), alibi.size(0) / mask.size(0), mask.size(2), mask.size(3)};
  Tensor split = e.view(std::move(alibi), Shape{whole[0], whole[1], 1, whole[3]});
  alibi = std::move(split);
  Tensor scaled = e.div_scalar(alibi);
  Tensor closed = e.pointwise("lt.Scalar", mask, DType::Bool);
  return e.factory("masked_fill.Scalar", whole, dtype);
}

}  // namespace peakline
