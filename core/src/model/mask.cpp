#include "model/mask.h"

#include <utility>

namespace peakline {

namespace {

// find_packed_sequence_indices: do position ids restart anywhere? Asked only where no mask was given.
void look_for_packed_sequences(Engine& e, const Tensor& position_ids, std::int64_t batch, std::int64_t length) {
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

// sliding_window_overlay and causal_mask_function, combined by and_masks; then the padding mask.
Tensor build(Engine& e, const Tensor& padding, std::int64_t batch, std::int64_t length) {
  const Shape square{1, 1, length, length};
  Tensor batch_range = e.factory("arange", Shape{batch}, DType::Int64);
  Tensor head_range = e.factory("arange", Shape{1}, DType::Int64);
  Tensor query = positions(e, length);
  Tensor key = positions(e, length);
  Tensor mask;
  if (padding.defined()) mask = e.factory("new_ones", Shape{}, DType::Bool);
  Tensor window;
  {
    Tensor one = e.factory("new_ones", Shape{}, DType::Bool);
    Tensor start = e.factory("sub.Tensor", Shape{1, 1, length, 1}, DType::Int64);
    Tensor inside = e.factory("gt.Tensor", square, DType::Bool);
    start.reset();
    window = e.factory("bitwise_and.Tensor", square, DType::Bool);
  }
  Tensor both;
  {
    Tensor causal = e.factory("le.Tensor", square, DType::Bool);
    both = e.factory("bitwise_and.Tensor", square, DType::Bool);
  }
  window.reset();
  if (!padding.defined()) return e.expand(std::move(both), Shape{batch, 1, length, length});
  Tensor started = e.factory("bitwise_and.Tensor", square, DType::Bool);
  both.reset();
  Tensor kept = e.factory("index.Tensor", Shape{batch, 1, 1, length}, DType::Bool);
  Tensor out = e.factory("bitwise_and.Tensor", Shape{batch, 1, length, length}, DType::Bool);
  return out;
}

}  // namespace

// transformers 5.24, masking_utils.py: _preprocess_mask_arguments and sdpa_mask.
Tensor causal_mask(Engine& e, const Tensor& attention_mask, const Tensor& position_ids, std::int64_t batch,
                   std::int64_t length, std::optional<std::int64_t> sliding_window) {
  NoGrad no_grad(e);
  Tensor padding;
  if (attention_mask.defined()) {
    padding = e.to(attention_mask, DType::Bool);
  } else {
    look_for_packed_sequences(e, position_ids, batch, length);
  }
  if (sliding_window && length >= *sliding_window) return build(e, padding, batch, length);
  if (padding.defined()) Tensor kept = e.sum(padding);
  return {};
}

}  // namespace peakline
