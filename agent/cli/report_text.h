// A report as a person reads it in a terminal. Every size goes through peakline::format_bytes.
#pragma once

#include <string>

#include "cli/terminal.h"
#include "peakline/report.h"

namespace peakline::cli {

// `model` names where the config came from.
[[nodiscard]] std::string report_text(const Report& report,
                                      const std::string& model,
                                      const Terminal& terminal);

}  // namespace peakline::cli
