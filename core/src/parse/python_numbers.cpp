#include "parse/python_numbers.h"

#include <algorithm>
#include <limits>

namespace peakline::json {
namespace {

bool continues_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
         c == '.' || c == '+' || c == '-';
}

}  // namespace

PythonNumbers::PythonNumbers(std::string_view text) : text_(text) {
  bool in_string = false;
  for (std::size_t i = 0; i < text_.size(); ++i) {
    const char c = text_[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == 'N') {
      replace_name(i, "NaN", "0.0");
    } else if (c == 'I') {
      replace_name(i, "Infinity", "1.0e+300");
    }
  }
}

// A whole word only: "2NaN" is no number.
void PythonNumbers::replace_name(std::size_t at, std::string_view name, std::string_view number) {
  if (text_.compare(at, name.size(), name) != 0) return;
  const std::size_t end = at + name.size();
  const bool is_nan = name == "NaN";
  const bool signed_infinity =
      !is_nan && at > 0 && text_[at - 1] == '-' && (at == 1 || !continues_word(text_[at - 2]));
  if (at > 0 && continues_word(text_[at - 1]) && !signed_infinity) return;
  if (end < text_.size() && continues_word(text_[end])) return;
  text_.replace(at, name.size(), number);
  names_.push_back({end, is_nan});
}

double PythonNumbers::value_at(std::size_t offset, double lexed) const {
  // The lexer reads one character beyond a number, unless it ends the document.
  const auto name = std::lower_bound(
      names_.begin(), names_.end(), offset - 1, [](const Name& a, std::size_t end) {
        return a.end < end;
      });
  if (name == names_.end() || name->end > offset) return lexed;
  if (name->is_nan) return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return lexed < 0.0 ? -infinity : infinity;
}

}  // namespace peakline::json
