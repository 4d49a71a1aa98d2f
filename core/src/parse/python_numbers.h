// Python writes NaN, Infinity and -Infinity into real config.json files and reads them back. To the
// JSON lexer they are finite numbers of equal length, so that places stay right; the reader asks
// here what a number it was given stood for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace peakline::json {

class PythonNumbers {
 public:
  explicit PythonNumbers(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  // The value of a number after which the lexer has read `offset` characters: `lexed`, or what the
  // text had in its place.
  [[nodiscard]] double value_at(std::size_t offset, double lexed) const;

 private:
  struct Name {
    std::size_t end;  // beyond its last character
    bool is_nan;
  };

  void replace_name(std::size_t at, std::string_view name, std::string_view number);

  std::string text_;
  std::vector<Name> names_;
};

}  // namespace peakline::json
