// The symbolic engine's record of a tensor: everything autograd and the allocator look at, and no
// numbers.
#pragma once

#include <cstdint>

#include "peakline/engine.h"

namespace peakline::symbolic {

struct Node;

struct Storage {
  std::int32_t references = 1;
  std::int32_t event_tensor = 0;  // index into Events::tensors
};

struct SymbolicTensor : TensorRecord {
  Shape strides;
  Storage* storage = nullptr;
  Node* grad_fn = nullptr;  // owned; null for leaves
  std::int32_t output_number = 0;
  Tensor base;  // a view keeps the tensor it looks into (VariableHooks' view metadata)
  Node* accumulator = nullptr;  // not owned: a leaf's AccumulateGrad while the graph holds it
  Tensor grad;
  Tensor autocast_copy;  // what autocast's cache holds for this weight
};

inline SymbolicTensor& record_of(const Tensor& tensor) {
  return *static_cast<SymbolicTensor*>(tensor.record());
}

[[nodiscard]] Shape contiguous_strides(const Shape& sizes);
[[nodiscard]] bool is_contiguous(const Shape& sizes, const Shape& strides);
[[nodiscard]] bool is_non_overlapping_and_dense(const Shape& sizes, const Shape& strides);
// Strides that keep the order of dimensions in memory, packed (torch.preserve_format).
[[nodiscard]] Shape packed_like(const Shape& sizes, const Shape& strides);
// The strides of `shape` as a view of the tensor, if there is one (at::detail::computeStride).
[[nodiscard]] bool view_strides(const Shape& sizes,
                                const Shape& strides,
                                const Shape& shape,
                                Shape& out);
[[nodiscard]] Shape broadcast(const Shape& a, const Shape& b);
// The layout TensorIterator gives a new output of `sizes` made from these operands.
[[nodiscard]] Shape output_strides(const Shape& sizes,
                                   const SymbolicTensor& a,
                                   const SymbolicTensor* b);
[[nodiscard]] DType promote(DType a, DType b);

}  // namespace peakline::symbolic
