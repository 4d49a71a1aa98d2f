// PyTorch's CUDA caching allocator, replayed on a run's events: what
// torch.cuda.max_memory_allocated and max_memory_reserved would say, and whether a run passes under
// a limit. Source of the rules: c10/cuda/CUDACachingAllocator.cpp (torch 2.13), one stream, no
// per-process memory fraction, without which garbage_collection_threshold has no effect.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "peakline/quantity.h"
#include "peakline/symbolic.h"

namespace peakline {

struct AllocatorOptions {
  // Segments that grow in place, so that free space of one pool is never split among segments.
  bool expandable_segments = false;
  // Blocks above this size are never split. Absent: any block may be.
  std::optional<Bytes> max_split_size;
  // What segments may take in all. Absent: without limit. At the limit cached segments are given
  // back and the request is tried again before it fails.
  std::optional<Bytes> capacity;
};

// From this event on the segments hold so much.
struct ReservedLevel {
  std::int32_t event = 0;
  Bytes reserved;
};

struct AllocatorPeaks {
  Bytes allocated;           // most bytes in handed-out blocks during the last step
  Bytes reserved;            // most bytes in segments over the whole run
  std::int64_t retries = 0;  // times cached segments had to be given back
  bool out_of_memory = false;
  std::vector<ReservedLevel> levels;  // of the last step, each where it changes
};

// What is alive at the first step's begin is laid out compactly first, in birth order; the history
// of a real loader is not modelled. Where the events imply their first step, it is replayed from
// the second's.
[[nodiscard]] AllocatorPeaks replay(const Events& events, const AllocatorOptions& options);

}  // namespace peakline
