#include "cli/terminal.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>

namespace peakline::cli {
namespace {

constexpr int kMinWidth = 32;
constexpr int kMaxWidth = 100;  // longer lines are hard to read
constexpr int kDefaultWidth = 80;

int number_or_zero(const char* text) {
  return text == nullptr ? 0 : std::atoi(text);
}

int width_of(int descriptor) {
  winsize size{};
  int width = number_or_zero(std::getenv("COLUMNS"));
  if (width <= 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (width <= 0) width = kDefaultWidth;
  return std::clamp(width, kMinWidth, kMaxWidth);
}

bool locale_is_utf8() {
  std::setlocale(LC_CTYPE, "");
  return std::string_view(nl_langinfo(CODESET)) == "UTF-8";
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

const char* code_of(Tone tone) {
  switch (tone) {
    case Tone::Plain:
      return "";
    case Tone::Strong:
      return "\x1b[1m";
    case Tone::Quiet:
      return "\x1b[2m";
    case Tone::Good:
      return "\x1b[1;32m";
    case Tone::Warning:
      return "\x1b[1;33m";
    case Tone::Bad:
      return "\x1b[1;31m";
  }
  return "";
}

bool starts_letter(char c) {
  return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
}

}  // namespace

std::string Terminal::paint(Tone tone, std::string_view text) const {
  if (!colours || tone == Tone::Plain) return std::string(text);
  return code_of(tone) + std::string(text) + "\x1b[0m";
}

bool is_terminal(Stream stream) {
  return isatty(static_cast<int>(stream)) == 1;
}

Terminal terminal_of(Stream stream) {
  const int descriptor = static_cast<int>(stream);
  const bool is_screen = is_terminal(stream);
  const char* term = std::getenv("TERM");
  const bool is_dumb = term == nullptr || std::string_view(term) == "dumb";
  Terminal terminal;
  terminal.width = width_of(descriptor);
  terminal.unicode = is_screen && locale_is_utf8();
  terminal.colours = is_screen && !is_dumb && !is_set("NO_COLOR");
  return terminal;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_letter));
}

std::string padded(std::string_view text, std::size_t columns) {
  const std::size_t used = columns_of(text);
  return std::string(text) + std::string(used < columns ? columns - used : 0, ' ');
}

std::string right_aligned(std::string_view text, std::size_t columns) {
  const std::size_t used = columns_of(text);
  return std::string(used < columns ? columns - used : 0, ' ') + std::string(text);
}

std::string shortened(std::string_view text, std::size_t columns) {
  constexpr std::string_view kDots = "...";
  if (columns_of(text) <= columns) return std::string(text);
  const std::size_t kept = columns > kDots.size() ? columns - kDots.size() : 0;
  std::string out;
  std::size_t used = 0;
  for (const char c : text) {
    if (starts_letter(c) && used++ == kept) break;
    out += c;
  }
  return out + std::string(kDots);
}

std::string wrapped(std::string_view text, int width, std::size_t indent, std::size_t used) {
  std::string out;
  const auto limit = static_cast<std::size_t>(width);
  bool line_is_empty = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t columns = columns_of(word);
    if (!line_is_empty && used + 1 + columns > limit) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
      line_is_empty = true;
    }
    if (!line_is_empty) {
      out += ' ';
      ++used;
    }
    out += word;
    used += columns;
    line_is_empty = false;
  }
  return out;
}

}  // namespace peakline::cli
