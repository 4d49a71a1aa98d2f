// How large a step is, in closed form, so that absurd inputs are refused before anything runs.
#pragma once

#include <cstdint>

#include "peakline/architecture.h"
#include "peakline/train_setup.h"

namespace peakline {

// The bytes alive after the second micro batch repeat in every later one, except for the batches
// themselves, so a steady step runs at most this many.
inline constexpr std::int64_t kDistinctMicroBatches = 3;

// No step makes more events than this.
[[nodiscard]] double most_events(const DenseDecoder& shape,
                                 const TrainSetup& setup,
                                 std::int64_t micro_batches);

// No tensor has more elements than this.
[[nodiscard]] double most_elements(const DenseDecoder& shape, const TrainSetup& setup);

// Keeps every size and stride within 64 bits.
inline constexpr double kMaxElements = 1'152'921'504'606'846'976.0;  // 2^60

}  // namespace peakline
