// From events to numbers: phases, the moment of the peak, and what is alive then.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "peakline/report.h"
#include "peakline/symbolic.h"

namespace peakline {

// The steady-state step within a run: events [begin, end).
struct StepRange {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

struct PeakMoment {
  std::int32_t event = 0;  // the allocation that reaches it
  Bytes bytes;
};

// What every number below is measured on. "Peak" is always the second step's, as the timelines
// define it.
struct Analysis {
  StepRange step;
  PeakMoment peak;
  Bytes static_bytes;  // alive once the model is loaded
  std::vector<PhaseMemory> phases;
  std::vector<PeakCategory> at_peak;
  std::string_view peak_phase;
  std::string_view peak_op;
  std::vector<TimelinePoint> timeline;
};

// A phase as the report names it: the step's own phases, with the bookkeeping ones folded into
// their neighbours.
[[nodiscard]] std::string_view shown_phase(Phase phase);

// `vocab_size` tells logits from other tensors.
[[nodiscard]] Analysis analyse(const Events& events, std::int64_t vocab_size);

}  // namespace peakline
