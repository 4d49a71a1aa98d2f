// Weights as bitsandbytes packs them.
#pragma once

#include "peakline/engine.h"
#include "peakline/train_setup.h"

namespace peakline {

// `dynamic_code` is made at the first use and kept as long as the process lives.
[[nodiscard]] Packed4bit pack_4bit(
    Engine& e, const TrainSetup& setup, std::int64_t out, std::int64_t in, Tensor& dynamic_code);

[[nodiscard]] Packed8bit pack_8bit(Engine& e, std::int64_t out, std::int64_t in);

}  // namespace peakline
