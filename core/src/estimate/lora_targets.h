// Which modules of a model the names of lora.target_modules mean, as PEFT matches them.
#pragma once

#include "peakline/architecture.h"
#include "peakline/result.h"
#include "peakline/train_setup.h"

namespace peakline {

// Errors: no name has a match, or one means a module that takes no adapter. A name without a match
// among others becomes a note of the setup; a module whose adapter the step does not know becomes
// one of its not_modelled.
[[nodiscard]] Errors apply_lora_targets(const Architecture& architecture, TrainSetup& setup);

}  // namespace peakline
