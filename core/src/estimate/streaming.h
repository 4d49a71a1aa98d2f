// What training takes where 4-bit blocks come from disk one by one: one block's step is run by the
// symbolic engine, everything else is a stated term of the block store's design.
#pragma once

#include <string_view>

#include "peakline/report.h"
#include "peakline/result.h"

namespace peakline {

struct StreamingNeed {
  Streaming bytes;
  Bytes gpu_low;                  // with the uncertain terms at their low end
  std::vector<Provenance> terms;  // what each number is made of
};

// As setup.placement asks. Errors: a setting that a block's step does not know.
[[nodiscard]] Result<StreamingNeed> streaming_need(const Architecture& architecture,
                                                   const TrainSetup& setup);

// Where even the smallest resident run does not fit the card: verdict.streaming.
void add_streaming(Report& asked, std::string_view config_json, std::string_view setup_json);

// The verdict of a run whose placement is streaming.
void judge_streaming(Report& report, StreamingNeed need);

}  // namespace peakline
