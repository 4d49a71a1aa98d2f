// Patterns over the layers.
#pragma once

#include "peakline/architecture.h"

namespace peakline {

[[nodiscard]] LayerPattern every_layer();
// Every `interval`-th layer: the last one of each round.
[[nodiscard]] LayerPattern every(std::int64_t interval);
[[nodiscard]] LayerPattern all_but_every(std::int64_t interval);

}  // namespace peakline
