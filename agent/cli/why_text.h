// Why a report says what it says: for every value the sentence it rests on, from this run's own
// inputs.
#pragma once

#include <string>
#include <string_view>

#include "cli/terminal.h"
#include "peakline/report.h"
#include "peakline/result.h"

namespace peakline::cli {

// What --why asks for where it stands alone.
inline constexpr std::string_view kWhyAll = "all";

struct WhyQuestion {
  std::string value;        // "activations", "optim", "R040", "interval"; kWhyAll for everything
  bool corrections = true;  // false: --no-corrections
};

// An error for a value that nothing is called, with the nearest one as hint.
[[nodiscard]] Result<std::string> why_text(const Report& report,
                                           const WhyQuestion& question,
                                           const Terminal& terminal);

}  // namespace peakline::cli
