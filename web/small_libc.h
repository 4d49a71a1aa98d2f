// The two functions that nlohmann's JSON takes from the C library, without what the library's own
// bring along: 128-bit floating point and printf's. 19 KB of the module, 4 % of its size.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

namespace peakline::small_libc {

// An unsigned integer of up to 8000 bits: what 800 digits over 10^1130 need.
class Natural {
 public:
  void multiply_add(std::uint32_t factor, std::uint32_t plus) {
    std::uint64_t carry = plus;
    for (std::size_t i = 0; i < size_; ++i) {
      carry += std::uint64_t{words_[i]} * factor;
      words_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) words_[size_++] = static_cast<std::uint32_t>(carry);
  }

  void shift_left(int bits) {
    const auto whole = static_cast<std::size_t>(bits / 32);
    if (whole > 0 && size_ > 0) {
      std::copy_backward(words_.begin(), words_.begin() + size_, words_.begin() + size_ + whole);
      std::fill_n(words_.begin(), whole, 0);
      size_ += whole;
    }
    if (bits % 32 != 0) multiply_add(std::uint32_t{1} << (bits % 32), 0);
  }

  [[nodiscard]] bool at_least(const Natural& other) const {
    if (size_ != other.size_) return size_ > other.size_;
    for (std::size_t i = size_; i-- > 0;) {
      if (words_[i] != other.words_[i]) return words_[i] > other.words_[i];
    }
    return true;
  }

  // `other` is not larger.
  void subtract(const Natural& other) {
    std::int64_t borrow = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      borrow += words_[i];
      if (i < other.size_) borrow -= other.words_[i];
      words_[i] = static_cast<std::uint32_t>(borrow);
      borrow >>= 32;
    }
    while (size_ > 0 && words_[size_ - 1] == 0) --size_;
  }

  [[nodiscard]] bool is_zero() const { return size_ == 0; }
  [[nodiscard]] int bits() const {
    return size_ == 0 ? 0
                      : static_cast<int>(size_ - 1) * 32 +
                            static_cast<int>(std::bit_width(words_[size_ - 1]));
  }

 private:
  std::array<std::uint32_t, 250> words_{};
  std::size_t size_ = 0;
};

// The double nearest to above / below, the even one of two: IEEE 754's own rounding.
inline double nearest_quotient(Natural above, Natural below) {
  constexpr int kBits = 62;  // of the quotient, or one more: enough to round by
  const int shift = kBits - (above.bits() - below.bits());
  if (shift > 0) above.shift_left(shift);
  below.shift_left(kBits + (shift < 0 ? -shift : 0));
  std::uint64_t quotient = 0;
  for (int i = 0; i <= kBits; ++i) {
    const bool bit = above.at_least(below);
    if (bit) above.subtract(below);
    quotient = quotient << 1 | (bit ? 1u : 0u);
    above.shift_left(1);
  }
  const int width = static_cast<int>(std::bit_width(quotient));
  const int exponent = width - 1 - shift;  // of the first bit
  if (exponent > 1023) return std::bit_cast<double>(std::uint64_t{0x7ff} << 52);
  const bool normal = exponent >= -1022;
  const int precision = normal ? 53 : 53 + exponent + 1022;
  if (precision < 0) return 0;
  const int dropped = width - precision;
  std::uint64_t mantissa = dropped < 64 ? quotient >> dropped : 0;
  const std::uint64_t rest = quotient & ((std::uint64_t{1} << dropped) - 1);
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  if (rest > half || (rest == half && (!above.is_zero() || mantissa % 2 == 1))) ++mantissa;
  // A mantissa that was rounded up to the next power of two carries into the exponent.
  const auto before = normal ? static_cast<std::uint64_t>(exponent + 1022) << 52 : 0;
  return std::bit_cast<double>(before + mantissa);
}

// strtod of decimal numbers: JSON has no other. Correctly rounded, as the C library's is, so that
// the module gives the replies of the native core byte for byte.
inline double decimal_number(const char* text, char** end) {
  constexpr int kMostDigits = 800;  // 767 decide; of the rest only whether all are zero
  constexpr int kFar = 100'000;
  constexpr double kExact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const char* at = text;
  const bool negative = *at == '-';
  if (*at == '-' || *at == '+') ++at;
  Natural digits;
  std::uint64_t small = 0;  // the same while it fits
  int count = 0;
  int exponent = 0;
  bool more = false;
  bool any = false;
  bool point = false;
  for (;; ++at) {
    if (*at == '.' && !point) {
      point = true;
      continue;
    }
    if (!is_digit(*at)) break;
    any = true;
    const auto digit = static_cast<std::uint32_t>(*at - '0');
    if (count > 0 || digit != 0) {
      if (count < kMostDigits) {
        digits.multiply_add(10, digit);
        small = small * 10 + digit;
        ++count;
      } else {
        more = more || digit != 0;
        ++exponent;
      }
    }
    if (point) exponent = std::max(exponent - 1, -kFar);
  }
  if (!any) {
    if (end != nullptr) *end = const_cast<char*>(text);
    return 0;
  }
  if (*at == 'e' || *at == 'E') {
    const char* power = at + 1;
    const bool down = *power == '-';
    if (*power == '-' || *power == '+') ++power;
    int given = 0;
    if (is_digit(*power)) {
      for (; is_digit(*power); ++power) given = std::min(given * 10 + (*power - '0'), kFar);
      exponent += down ? -given : given;
      at = power;
    }
  }
  if (end != nullptr) *end = const_cast<char*>(at);
  const auto with_sign = [negative](double value) { return negative ? -value : value; };
  if (count == 0) return with_sign(0);
  if (count + exponent > 310) return with_sign(std::bit_cast<double>(std::uint64_t{0x7ff} << 52));
  if (count + exponent < -330) return with_sign(0);
  constexpr int kExactPowers = static_cast<int>(std::size(kExact)) - 1;
  if (count <= 15 && exponent >= -kExactPowers && exponent <= kExactPowers) {
    const auto exact = static_cast<double>(small);
    return with_sign(exponent < 0 ? exact / kExact[-exponent] : exact * kExact[exponent]);
  }
  if (more) {
    digits.multiply_add(10, 1);
    --exponent;
  }
  Natural below;
  below.multiply_add(0, 1);
  for (int i = 0; i < exponent; ++i) digits.multiply_add(10, 0);
  for (int i = 0; i < -exponent; ++i) below.multiply_add(10, 0);
  return with_sign(nearest_quotient(digits, below));
}

// snprintf of text and of "%04x", "%.4X", "%.2hhX": hexadecimal numbers of unsigned, padded with
// zeros. Returns what the whole text takes.
inline int print_hex(char* out, std::size_t room, const char* format, std::va_list arguments) {
  std::size_t length = 0;
  const auto put = [&](char c) {
    if (length + 1 < room) out[length] = c;
    ++length;
  };
  for (const char* at = format; *at != '\0'; ++at) {
    if (*at != '%') {
      put(*at);
      continue;
    }
    int width = 1;
    for (++at; *at == '.' || *at == 'h' || (*at >= '0' && *at <= '9'); ++at) {
      if (*at >= '1' && *at <= '8') width = *at - '0';
    }
    const char* const letters = *at == 'x' ? "0123456789abcdef" : "0123456789ABCDEF";
    const unsigned value = va_arg(arguments, unsigned);
    for (int nibble = 7; nibble >= 0; --nibble) {
      const unsigned rest = value >> (nibble * 4);
      if (rest != 0 || nibble < width) put(letters[rest & 15u]);
    }
  }
  if (room > 0) out[std::min(length, room - 1)] = '\0';
  return static_cast<int>(length);
}

}  // namespace peakline::small_libc
