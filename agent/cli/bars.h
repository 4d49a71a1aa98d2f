// Horizontal bars of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "peakline/quantity.h"

namespace peakline::cli {

// A bar for `part` of `whole`, at most `columns` wide: block letters down to an eighth of a column,
// or '#'. What is there at all gets at least the smallest mark.
[[nodiscard]] std::string bar(Bytes part, Bytes whole, std::size_t columns, bool unicode);

// "54 %", "<1 %", "100 %".
[[nodiscard]] std::string percent(Bytes part, Bytes whole);

}  // namespace peakline::cli
