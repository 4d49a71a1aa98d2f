// How many parameters an optimizer sees.
#pragma once

#include "peakline/architecture.h"
#include "peakline/train_setup.h"

namespace peakline {

struct ParameterCounts {
  Elements total;  // adapters included, as model.num_parameters() says
  Elements trainable;
};

[[nodiscard]] ParameterCounts count_parameters(const Architecture& architecture,
                                               const TrainSetup& setup);

}  // namespace peakline
