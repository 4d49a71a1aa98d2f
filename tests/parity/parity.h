// One program in both engines: the storages that the symbolic engine counts must be those that
// LibTorch makes, byte for byte and in the same order. What is born and dies inside one operation's
// kernel is that kernel's business and left out on both sides; frees between two allocations have
// no order of their own (Python drops a frame's names in another order than C++).
#pragma once

#include <functional>
#include <string>

#include "peakline/engine.h"

namespace peakline::test {

using Program = std::function<void(Engine&)>;

struct Parity {
  bool equal = false;
  std::size_t num_events = 0;  // compared
  std::string difference;      // the first one, or the error of an engine
};

[[nodiscard]] Parity compare(const Program& program);

}  // namespace peakline::test
