// Integers that know their unit. All counts are 64-bit on every platform (wasm32 included) and
// saturate instead of wrapping, so an absurd input can be reported as too large rather than as a
// small number.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace peakline {

template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t count) : count_(count) {}

  // The bare integer: for the JSON writer and for formatting only.
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }
  [[nodiscard]] constexpr bool saturated() const { return count_ == kMax || count_ == kMin; }

  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a.count_, b.count_, &sum))
      return Quantity(a.count_ < 0 ? kMin : kMax);
    return Quantity(sum);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(a.count_, b.count_, &difference)) {
      return Quantity(a.count_ < 0 ? kMin : kMax);
    }
    return Quantity(difference);
  }
  friend constexpr Quantity operator*(Quantity a, std::int64_t factor) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a.count_, factor, &product)) {
      return Quantity((a.count_ < 0) == (factor < 0) ? kMax : kMin);
    }
    return Quantity(product);
  }
  friend constexpr Quantity operator*(std::int64_t factor, Quantity a) { return a * factor; }
  constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
  constexpr Quantity& operator-=(Quantity other) { return *this = *this - other; }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  static constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  std::int64_t count_ = 0;
};

using Bytes = Quantity<struct BytesTag>;
using Elements = Quantity<struct ElementsTag>;
using Tokens = Quantity<struct TokensTag>;

[[nodiscard]] constexpr Bytes mebibytes(std::int64_t n) {
  return Bytes(n) * (std::int64_t{1} << 20);
}
[[nodiscard]] constexpr Bytes gibibytes(std::int64_t n) {
  return Bytes(n) * (std::int64_t{1} << 30);
}

// Of counts that are not negative.
[[nodiscard]] constexpr std::int64_t divide_up(std::int64_t n, std::int64_t by) {
  return (n + by - 1) / by;
}
[[nodiscard]] constexpr std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return divide_up(n, multiple) * multiple;
}

// `bytes` times `numerator / denominator`, rounded towards zero; for shares and percentages without
// floating point. A share of too much is too much.
[[nodiscard]] constexpr Bytes scaled(Bytes bytes,
                                     std::int64_t numerator,
                                     std::int64_t denominator) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  if (bytes.saturated() && numerator != 0) {
    const bool keeps_sign = (numerator < 0) == (denominator < 0);
    return Bytes((bytes.count() > 0) == keeps_sign ? kMax : kMin);
  }
  const __int128 share = static_cast<__int128>(bytes.count()) * numerator / denominator;
  if (share > kMax) return Bytes(kMax);
  if (share < kMin) return Bytes(kMin);
  return Bytes(static_cast<std::int64_t>(share));
}

// The CUDA caching allocator hands out multiples of 512 bytes (kMinBlockSize in
// c10/cuda/CUDACachingAllocator.cpp); an empty tensor takes nothing.
inline constexpr std::int64_t kAllocationGranularity = 512;
[[nodiscard]] constexpr Bytes rounded_to_block(Bytes bytes) {
  const Bytes padded = bytes + Bytes(kAllocationGranularity - 1);
  if (padded.saturated()) return padded;
  return Bytes(padded.count() & -kAllocationGranularity);  // a power of two
}

}  // namespace peakline
