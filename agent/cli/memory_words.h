// What categories of memory and phases of a step are called in a text for people. The report's JSON
// keeps the short names.
#pragma once

#include <string>
#include <string_view>

#include "peakline/report.h"

namespace peakline::cli {

// "4-bit weights and statistics" for Category::Quant.
[[nodiscard]] std::string category_words(Category category);

// "32 x [1, 1024, 4096] float32".
[[nodiscard]] std::string tensor_shape(const PeakTensor& tensor);

// "backward, loss part" for "backward:loss"; a name that is not known is itself.
[[nodiscard]] std::string phase_words(std::string_view phase);

}  // namespace peakline::cli
