// "Did you mean": the known name closest to what was typed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace peakline::cli {

// Empty where nothing is close enough to be meant.
[[nodiscard]] std::string nearest(std::string_view typed, const std::vector<std::string>& names);

}  // namespace peakline::cli
