// Mistakes as a person reads them: place, what was got and expected, what to do.
#pragma once

#include <string>
#include <string_view>

#include "cli/terminal.h"
#include "peakline/result.h"

namespace peakline::cli {

// One or more lines per error, in order.
[[nodiscard]] std::string error_text(const Errors& errors, const Terminal& terminal);

// The line of `document` that a place such as "config: line 3, column 7" points into, with a mark
// under the column; empty where the place names no line.
[[nodiscard]] std::string excerpt(std::string_view document, std::string_view place);

}  // namespace peakline::cli
