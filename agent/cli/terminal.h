// What the place a text goes to can show: its width, its letters, its colours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "text/tame.h"  // every user of a terminal needs it

namespace peakline::cli {

enum class Stream : int { Out = 1, Err = 2 };

enum class Tone { Plain, Strong, Quiet, Good, Warning, Bad };

struct Terminal {
  int width = 80;        // columns
  bool unicode = false;  // a terminal whose locale is UTF-8
  bool colours = false;  // a terminal, and NO_COLOR is not set

  [[nodiscard]] std::string paint(Tone tone, std::string_view text) const;
};

[[nodiscard]] bool is_terminal(Stream stream);

// Asks the system and the environment (COLUMNS, NO_COLOR, TERM, LC_ALL, LC_CTYPE, LANG).
[[nodiscard]] Terminal terminal_of(Stream stream);

// Number of columns a UTF-8 text takes; every letter counts as one.
[[nodiscard]] std::size_t columns_of(std::string_view text);

[[nodiscard]] std::string padded(std::string_view text, std::size_t columns);
[[nodiscard]] std::string right_aligned(std::string_view text, std::size_t columns);

// At most `columns` columns; what is too long ends in "...".
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);

// Breaks at spaces so that no line is longer than `width`; lines after the first start with
// `indent` spaces. The first line is taken to have `used` columns before it. Ends without a line
// break.
[[nodiscard]] std::string wrapped(std::string_view text,
                                  int width,
                                  std::size_t indent,
                                  std::size_t used = 0);

}  // namespace peakline::cli
