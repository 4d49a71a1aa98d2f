// Watches LibTorch allocate: every storage's birth and death on this thread, in order, with the
// operation it was made in. On the CPU LibTorch reports each allocation to its profiler's state;
// this is one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace peakline::torch_engine {

struct Allocation {
  std::int64_t bytes = 0;
  std::string op;          // "aten::mm", as LibTorch names it
  bool temporary = false;  // born and dead inside one operation's kernel
};

struct Recording {
  std::vector<Allocation> allocations;
  std::vector<std::int32_t> events;  // i >= 0 allocates allocations[i], i < 0 frees [-i - 1]
};

// Records while it lives; one at a time on a thread. Empty allocations are left out.
class AllocationRecorder {
 public:
  AllocationRecorder();
  ~AllocationRecorder();
  AllocationRecorder(const AllocationRecorder&) = delete;
  AllocationRecorder& operator=(const AllocationRecorder&) = delete;

  [[nodiscard]] const Recording& recording() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  struct Guards;
  std::unique_ptr<Guards> guards_;
};

}  // namespace peakline::torch_engine
