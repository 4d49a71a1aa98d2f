// Element types, in PyTorch's names.
#pragma once

#include <cstdint>
#include <string_view>

#include "peakline/quantity.h"

namespace peakline {

enum class DType : std::uint8_t {
  Bool,
  UInt8,
  Int8,
  Int32,
  Int64,
  UInt64,
  Float16,
  BFloat16,
  Float32
};

[[nodiscard]] constexpr std::int64_t bytes_per_element(DType dtype) {
  switch (dtype) {
    case DType::Bool:
    case DType::UInt8:
    case DType::Int8:
      return 1;
    case DType::Float16:
    case DType::BFloat16:
      return 2;
    case DType::Int32:
    case DType::Float32:
      return 4;
    case DType::Int64:
    case DType::UInt64:
      return 8;
  }
  return 0;
}

[[nodiscard]] constexpr Bytes size_of(Elements elements, DType dtype) {
  return Bytes(1) * bytes_per_element(dtype) * elements.count();
}

[[nodiscard]] constexpr bool is_floating_point(DType dtype) {
  return dtype == DType::Float16 || dtype == DType::BFloat16 || dtype == DType::Float32;
}
[[nodiscard]] constexpr bool is_half(DType dtype) {
  return dtype == DType::Float16 || dtype == DType::BFloat16;
}

// "bfloat16", "int64", ...
[[nodiscard]] constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return "bool";
    case DType::UInt8:
      return "uint8";
    case DType::Int8:
      return "int8";
    case DType::Int32:
      return "int32";
    case DType::Int64:
      return "int64";
    case DType::UInt64:
      return "uint64";
    case DType::Float16:
      return "float16";
    case DType::BFloat16:
      return "bfloat16";
    case DType::Float32:
      return "float32";
  }
  return "?";
}

}  // namespace peakline
