#include "symbolic/tensor.h"

#include <algorithm>
#include <array>

#include "peakline/small_sort.h"

namespace peakline::symbolic {

Shape contiguous_strides(const Shape& sizes) {
  Shape strides = sizes;
  std::int64_t step = 1;
  for (int i = sizes.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<std::int64_t>(sizes[i], 1);
  }
  return strides;
}

bool is_contiguous(const Shape& sizes, const Shape& strides) {
  std::int64_t step = 1;
  for (int i = sizes.rank() - 1; i >= 0; --i) {
    if (sizes[i] == 1) continue;
    if (strides[i] != step) return false;
    step *= sizes[i];
  }
  return true;
}

namespace {

// Dimensions from the fastest to the slowest in memory; ties keep the later dimension faster.
std::array<int, Shape::kMaxRank> memory_order(const Shape& strides) {
  std::array<int, Shape::kMaxRank> order{};
  const int rank = strides.rank();
  for (int i = 0; i < rank; ++i) order[static_cast<std::size_t>(i)] = rank - 1 - i;
  small_sort(
      order.begin(), order.begin() + rank, [&](int a, int b) { return strides[a] < strides[b]; });
  return order;
}

}  // namespace

bool is_non_overlapping_and_dense(const Shape& sizes, const Shape& strides) {
  if (is_contiguous(sizes, strides)) return true;
  const auto order = memory_order(strides);
  std::int64_t step = 1;
  for (int i = 0; i < sizes.rank(); ++i) {
    const int dim = order[static_cast<std::size_t>(i)];
    if (sizes[dim] == 1) continue;
    if (strides[dim] != step) return false;
    step *= sizes[dim];
  }
  return true;
}

namespace {

// at::infer_dense_strides: innermost first; a stride of zero tells nothing.
std::array<int, Shape::kMaxRank> dense_order(const Shape& sizes, const Shape& strides) {
  std::array<int, Shape::kMaxRank> order{};
  const int rank = sizes.rank();
  for (int i = 0; i < rank; ++i) order[static_cast<std::size_t>(i)] = rank - 1 - i;
  for (int i = 1; i < rank; ++i) {
    auto later = static_cast<std::size_t>(i);
    for (std::size_t earlier = later; earlier-- > 0;) {
      const int a = order[earlier];
      const int b = order[later];
      if (strides[a] == 0 || strides[b] == 0) continue;
      if (strides[a] < strides[b]) break;
      if (strides[a] == strides[b] && sizes[a] <= sizes[b]) continue;
      std::swap(order[earlier], order[later]);
      later = earlier;
    }
  }
  return order;
}

}  // namespace

Shape packed_like(const Shape& sizes, const Shape& strides) {
  if (is_contiguous(sizes, strides)) return contiguous_strides(sizes);
  if (is_non_overlapping_and_dense(sizes, strides)) return strides;
  const auto order = dense_order(sizes, strides);
  Shape packed = sizes;
  std::int64_t step = 1;
  for (int i = 0; i < sizes.rank(); ++i) {
    const int dim = order[static_cast<std::size_t>(i)];
    packed[dim] = step;
    step *= sizes[dim];
  }
  return packed;
}

bool view_strides(const Shape& sizes, const Shape& strides, const Shape& shape, Shape& out) {
  out = shape;
  int view_dim = shape.rank() - 1;
  if (sizes.rank() == 0) {
    for (int i = 0; i < shape.rank(); ++i) out[i] = 1;
    return true;
  }
  // Chunks of dimensions that are contiguous among themselves must map onto whole view dimensions.
  std::int64_t chunk_base_stride = strides[-1];
  std::int64_t tensor_numel = 1;
  std::int64_t view_numel = 1;
  for (int dim = sizes.rank() - 1; dim >= 0; --dim) {
    tensor_numel *= sizes[dim];
    const bool chunk_ends =
        dim == 0 || (sizes[dim - 1] != 1 && strides[dim - 1] != tensor_numel * chunk_base_stride);
    if (!chunk_ends) continue;
    while (view_dim >= 0 && (view_numel < tensor_numel || shape[view_dim] == 1)) {
      out[view_dim] = view_numel * chunk_base_stride;
      view_numel *= shape[view_dim];
      --view_dim;
    }
    if (view_numel != tensor_numel) return false;
    if (dim > 0) {
      chunk_base_stride = strides[dim - 1];
      tensor_numel = 1;
      view_numel = 1;
    }
  }
  return view_dim == -1;
}

Shape broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape out;
  for (int i = 0; i < rank; ++i) {
    const int from_a = i - (rank - a.rank());
    const int from_b = i - (rank - b.rank());
    const std::int64_t size_a = from_a < 0 ? 1 : a[from_a];
    const std::int64_t size_b = from_b < 0 ? 1 : b[from_b];
    out.push_back(size_a == 1 ? size_b : size_a);
  }
  return out;
}

namespace {

// The operand's stride in dimension `dim` of the broadcast shape; 0 where it is broadcast.
std::int64_t operand_stride(const SymbolicTensor& operand, int dim, int rank) {
  const int own = dim - (rank - operand.sizes.rank());
  if (own < 0 || operand.sizes[own] == 1) return 0;
  return operand.strides[own];
}

// TensorIteratorBase::reorder_dimensions: > 0 when dim0 should be slower than dim1.
int compare_dims(
    const Shape& sizes, const SymbolicTensor& a, const SymbolicTensor* b, int dim0, int dim1) {
  for (const SymbolicTensor* operand : {&a, b}) {
    if (operand == nullptr) continue;
    const std::int64_t stride0 = operand_stride(*operand, dim0, sizes.rank());
    const std::int64_t stride1 = operand_stride(*operand, dim1, sizes.rank());
    if (stride0 == 0 || stride1 == 0) continue;
    if (stride0 != stride1) return stride0 < stride1 ? -1 : 1;
    if (sizes[dim0] > sizes[dim1]) return 1;
  }
  return 0;
}

bool plain(const Shape& sizes, const SymbolicTensor* operand) {
  return operand == nullptr || operand->sizes.rank() == 0 ||
         (operand->sizes == sizes && is_contiguous(operand->sizes, operand->strides));
}

}  // namespace

Shape output_strides(const Shape& sizes, const SymbolicTensor& a, const SymbolicTensor* b) {
  if (plain(sizes, &a) && plain(sizes, b)) return contiguous_strides(sizes);
  const int rank = sizes.rank();
  std::array<int, Shape::kMaxRank> order{};
  for (int i = 0; i < rank; ++i) order[static_cast<std::size_t>(i)] = rank - 1 - i;
  for (int i = 1; i < rank; ++i) {
    int at = i;
    for (int j = i - 1; j >= 0; --j) {
      auto& low = order[static_cast<std::size_t>(j)];
      auto& high = order[static_cast<std::size_t>(at)];
      const int comparison = compare_dims(sizes, a, b, low, high);
      if (comparison > 0) {
        std::swap(low, high);
        at = j;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  Shape strides = sizes;
  std::int64_t step = 1;
  for (int i = 0; i < rank; ++i) {
    const int dim = order[static_cast<std::size_t>(i)];
    strides[dim] = step;
    step *= std::max<std::int64_t>(sizes[dim], 1);
  }
  return strides;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  const bool float_a = is_floating_point(a);
  const bool float_b = is_floating_point(b);
  if (float_a != float_b) return float_a ? a : b;
  if (float_a) return DType::Float32;  // bf16 with fp16, or a half with float32
  return bytes_per_element(a) >= bytes_per_element(b) ? a : b;
}

}  // namespace peakline::symbolic
