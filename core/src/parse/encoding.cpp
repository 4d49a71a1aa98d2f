#include "parse/encoding.h"

#include <cstddef>

namespace peakline::json {
namespace {

// What a JSON text may begin with.
constexpr std::string_view kFirstLetters = "{[\" \t\r\n";

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// True where each of the first two letters takes `width` bytes, all zero but the one at `place`.
bool has_letters_of(std::string_view text, std::size_t width, std::size_t place) {
  if (text.size() < 2 * width) return false;
  for (std::size_t i = 0; i < 2 * width; ++i) {
    if ((text[i] == '\0') != (i % width != place)) return false;
  }
  return kFirstLetters.find(text[place]) != std::string_view::npos;
}

}  // namespace

std::optional<std::string_view> foreign_encoding(std::string_view text) {
  using namespace std::string_view_literals;
  const bool utf32 = starts_with(text, "\xFF\xFE\0\0"sv) || starts_with(text, "\0\0\xFE\xFF"sv) ||
                     has_letters_of(text, 4, 0) || has_letters_of(text, 4, 3);
  if (utf32) return "UTF-32";
  const bool utf16 = starts_with(text, "\xFF\xFE"sv) || starts_with(text, "\xFE\xFF"sv) ||
                     has_letters_of(text, 2, 0) || has_letters_of(text, 2, 1);
  if (utf16) return "UTF-16";
  return std::nullopt;
}

}  // namespace peakline::json
