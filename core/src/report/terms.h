// What a real process adds to its tensors, with a low and a high end and a source each. A
// correction measured on the user's machine will replace a row.
#pragma once

#include <string_view>
#include <vector>

#include "peakline/quantity.h"
#include "peakline/train_setup.h"

namespace peakline {

struct Term {
  std::string_view name;
  Bytes low;
  Bytes high;
  std::string_view source;
  std::string_view kind;  // as in Provenance
};

// CUDA context and loaded modules.
[[nodiscard]] Term context_term(const GpuSetup& gpu);
// One cuBLAS workspace for the forward thread, one for autograd's.
[[nodiscard]] Term workspace_term(const GpuSetup& gpu);
// How far a real run's segments are from the replayed ones: a loader's history, library workspaces,
// chance. `low` is what the replay may overshoot by, `high` what a run may hold in addition.
[[nodiscard]] Term history_term(Bytes reserved);
// What the card can hand out: low and high are equal where the driver's own number is known.
[[nodiscard]] Term usable_term(const GpuSetup& gpu);

}  // namespace peakline
