// From the events and their uncertain terms to an answer.
#pragma once

#include <string>

#include "peakline/report.h"
#include "peakline/symbolic.h"

namespace peakline {

// Fills the allocator's numbers, context, workspaces, the interval and the verdict.
// `report.memory.tensor_peak` and the setup must be there. The events are replayed without limit,
// for the numbers shown, and where those come close to the card once more under its limit: PyTorch
// gives cached segments back before it fails.
// The worst of verdict.limits, those already there included, is the answer.
void judge(Report& report, const Events& events);

// A second replay, with expandable segments where they are off.
void add_allocator_saving(Report& report, const Events& events);

[[nodiscard]] Risk risk_of(Bytes high, Bytes usable);

// "RTX 3060 12GB" or "this card".
[[nodiscard]] std::string card_name(const GpuSetup& gpu);

}  // namespace peakline
