// From the events and their uncertain terms to an answer.
#pragma once

#include "peakline/report.h"
#include "peakline/symbolic.h"

namespace peakline {

// Fills the allocator's numbers, context, workspaces, the interval and the verdict.
// `report.memory.tensor_peak` and the setup must be there. The events are replayed without limit,
// for the numbers shown, and where those come close to the card once more under its limit: PyTorch
// gives cached segments back before it fails.
void judge(Report& report, const Events& events);

}  // namespace peakline
