// From the numbers and their uncertain terms to an answer.
#pragma once

#include "peakline/report.h"

namespace peakline {

// Fills context, workspace, interval, process_peak and the verdict from tensor_peak and the card. Until the
// caching allocator is simulated, blocks and fragmentation are one term of the interval.
void judge(Report& report);

}  // namespace peakline
