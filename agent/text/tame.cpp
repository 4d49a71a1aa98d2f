#include "text/tame.h"

#include <cstddef>
#include <cstdint>

namespace peakline {
namespace {

struct Control {
  std::size_t num_bytes = 0;  // 0: the text there is harmless
  std::uint32_t letter = 0;
};

// The control character that starts at `at`, in UTF-8.
Control control_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const std::uint32_t first = byte(0);
  if (first < 0x20 || first == 0x7F) return {1, first};
  // U+0080 to U+009F, the second set of control characters.
  if (first == 0xC2 && byte(1) >= 0x80 && byte(1) < 0xA0) return {2, byte(1)};
  if (first == 0xD8 && byte(1) == 0x9C) return {2, 0x061C};  // Arabic letter mark
  if (first != 0xE2 || (byte(1) != 0x80 && byte(1) != 0x81) || byte(2) < 0x80) return {};
  const std::uint32_t letter = 0x2000 + ((byte(1) & 1u) << 6) + (byte(2) & 0x3Fu);
  const bool is_mark = letter == 0x200E || letter == 0x200F;
  const bool ends_line = letter == 0x2028 || letter == 0x2029;
  const bool embeds = letter >= 0x202A && letter <= 0x202E;
  const bool isolates = letter >= 0x2066 && letter <= 0x2069;
  return is_mark || ends_line || embeds || isolates ? Control{3, letter} : Control{};
}

std::string escaped(std::uint32_t letter) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(letter >> shift) & 15u];
  return out;
}

}  // namespace

std::string tame(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Control control = control_at(text, i);
    const bool is_space = control.letter == '\n' || control.letter == '\t';
    out += control.num_bytes == 0 ? text[i] : is_space ? ' ' : '?';
    i += control.num_bytes == 0 ? 1 : control.num_bytes;
  }
  return out;
}

// Line breaks stand between values; inside strings the writer has escaped them already.
std::string tame_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t i = 0; i < json.size();) {
    const Control control = control_at(json, i);
    const bool is_kept = control.num_bytes == 0 || control.letter == '\n';
    out += is_kept ? std::string(1, json[i]) : escaped(control.letter);
    i += control.num_bytes == 0 ? 1 : control.num_bytes;
  }
  return out;
}

}  // namespace peakline
