// Handles of the step and tensors of LibTorch, one for the other.
#pragma once

#include <ATen/ATen.h>

#include "peakline/engine.h"

namespace peakline::torch_engine {

struct TorchTensor : TensorRecord {
  at::Tensor value;
};

inline TorchTensor& record_of(const Tensor& tensor) {
  return *static_cast<TorchTensor*>(tensor.record());
}

// An undefined handle is an undefined tensor.
inline const at::Tensor& value_of(const Tensor& tensor) {
  static const at::Tensor kUndefined;
  return tensor.defined() ? record_of(tensor).value : kUndefined;
}

inline at::IntArrayRef sizes_of(const Shape& shape) {
  return {shape.dims().data(), static_cast<std::size_t>(shape.rank())};
}

[[nodiscard]] at::ScalarType scalar_type_of(DType dtype);
// Float32 for a type that no tensor of the step has.
[[nodiscard]] DType dtype_of(at::ScalarType type);

}  // namespace peakline::torch_engine
