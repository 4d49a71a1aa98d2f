#include "model/learned_positions.h"

#include <utility>

namespace peakline {

namespace {

// transformers 5.24, OPTDecoder.forward: (cumsum(mask) * mask - 1).long(), of a float32 mask of
// ones where the batch has none.
LearnedPositions counted_positions(Engine& e, const Batch& batch) {
  LearnedPositions positions;
  positions.counted = batch.attention_mask;
  if (!positions.counted.defined())
    positions.counted = e.factory("ones", batch.input_ids.sizes(), DType::Float32);
  const DType dtype = positions.counted.dtype();
  positions.position_ids = e.pointwise("cumsum", positions.counted, dtype);
  Tensor masked = e.pointwise("mul.Tensor", positions.position_ids, dtype);
  Tensor shifted = e.pointwise("sub.Tensor", std::move(masked), dtype);
  positions.position_ids = e.to(std::move(shifted), DType::Int64);
  return positions;
}

}  // namespace

LearnedPositions learned_positions(Engine& e, const CausalLm& model, const Batch& batch) {
  if (model.options.positions == Positions::LearnedCounted) return counted_positions(e, batch);
  LearnedPositions positions;
  Tensor range = e.factory("arange", Shape{batch.input_ids.size(1)}, DType::Int64);
  Tensor shifted = e.add_scalar(std::move(range));
  positions.position_ids = e.unsqueeze(std::move(shifted), 0);
  return positions;
}

Tensor embed_positions(Engine& e, const CausalLm& model, const Tensor& position_ids) {
  ModuleScope scope(e, "model.embed_positions");
  if (model.options.positions != Positions::LearnedCounted)
    return e.embedding(model.embed_positions, position_ids);
  // The table's first rows are for padding.
  Tensor shifted = e.add_scalar(position_ids);
  return e.embedding(model.embed_positions, std::move(shifted));
}

}  // namespace peakline
