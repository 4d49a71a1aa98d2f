#include "cli/error_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>

namespace peakline::cli {
namespace {

std::string_view line_of(std::string_view document, long number) {
  for (long i = 1; i < number; ++i) {
    const std::size_t end = document.find('\n');
    if (end == std::string_view::npos) return {};
    document.remove_prefix(end + 1);
  }
  return document.substr(0, document.find('\n'));
}

std::string one_error(const Error& error, const Terminal& terminal) {
  constexpr std::size_t kIndent = 2;
  const std::string label = "error " + code_name(error.code) + ": ";
  std::string text = terminal.paint(Tone::Bad, label);
  std::string body = error.where.empty() ? "" : tame(error.where) + ": ";
  body += tame(error.message);
  text += wrapped(body, terminal.width, kIndent, label.size()) + "\n";
  if (!error.hint.empty()) {
    const std::string hint = "hint: " + tame(error.hint);
    text += "  " +
            terminal.paint(Tone::Quiet, wrapped(hint, terminal.width, kIndent + 6, kIndent)) + "\n";
  }
  return text;
}

}  // namespace

std::string error_text(const Errors& errors, const Terminal& terminal) {
  std::string text;
  for (const Error& error : errors) text += one_error(error, terminal);
  return text;
}

std::string excerpt(std::string_view document, std::string_view place) {
  constexpr long kMaxColumns = 72;
  const std::size_t at = place.find("line ");
  long line = 0;
  long column = 0;
  if (at == std::string_view::npos) return {};
  const std::string numbers(place.substr(at));
  if (std::sscanf(numbers.c_str(), "line %ld, column %ld", &line, &column) != 2) return {};
  std::string_view text = line_of(document, line);
  if (line < 1 || column < 1 || text.empty()) return {};
  // A window of a long line, so that the mark stays in view.
  const long first = std::max(0L, column - kMaxColumns);
  if (first >= static_cast<long>(text.size())) return {};
  text = text.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(kMaxColumns + 8));
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return {};
  }
  return "  | " + tame(text) + "\n  | " +
         std::string(static_cast<std::size_t>(column - 1 - first), ' ') + "^\n";
}

}  // namespace peakline::cli
