// The first event in which two timelines differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "peakline/quantity.h"
#include "timeline/timeline.h"

namespace peakline::timeline {

// Storages up to this size are compared only by how many bytes of them live.
inline constexpr Bytes kSmall = Bytes(4096);
inline constexpr Bytes kSmallSlack = mebibytes(1);

struct Difference {
  std::string what;  // one sentence: what differs
  std::int64_t event_a = 0;
  std::int64_t event_b = 0;
  std::string phase;
  std::string context;  // the events before it, one a line
};

struct Comparison {
  std::optional<Difference> first;
  std::int64_t compared_events = 0;  // large allocations and frees that agree
};

// What is alive when the first batch is made is compared in birth order (how a model is loaded is
// not compared); from there on allocations above 4 KiB one by one, in order, by size, shape, dtype
// and operation; frees above 4 KiB as sets between two allocations; bytes of smaller storages
// within 1 MiB wherever such an allocation is compared.
[[nodiscard]] Comparison compare(const Timeline& a, const Timeline& b);

}  // namespace peakline::timeline
