#include "torch/values.h"

#include <array>
#include <utility>

namespace peakline::torch_engine {
namespace {

constexpr std::array<std::pair<DType, at::ScalarType>, 9> kTypes = {{
    {DType::Bool, at::kBool},
    {DType::UInt8, at::kByte},
    {DType::Int8, at::kChar},
    {DType::Int32, at::kInt},
    {DType::Int64, at::kLong},
    {DType::UInt64, at::kUInt64},
    {DType::Float16, at::kHalf},
    {DType::BFloat16, at::kBFloat16},
    {DType::Float32, at::kFloat},
}};

}  // namespace

at::ScalarType scalar_type_of(DType dtype) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == dtype) return theirs;
  }
  return at::kFloat;
}

DType dtype_of(at::ScalarType type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == type) return ours;
  }
  return DType::Float32;
}

}  // namespace peakline::torch_engine
