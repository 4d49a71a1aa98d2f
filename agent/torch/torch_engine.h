// The engine that computes: every operation is its ATen call, on the CPU or on a GPU, and
// LibTorch's own autograd and autocast are the machine beneath them. The step is the same code that
// the symbolic engine counts (tests/parity holds the two together).
//
// Errors are sticky: an operation catches what LibTorch throws, the engine keeps the first message,
// and from then on operations return undefined tensors. No exception crosses the step.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "peakline/engine.h"

namespace peakline::torch_engine {

enum class Device { Cpu, Cuda };

class ComputingEngine : public Engine {
 public:
  // The first failure: the operation and what LibTorch said about it, or nothing.
  [[nodiscard]] virtual std::optional<std::string_view> error() const = 0;
  // Called once, when the step says that the run is over and all that follows is teardown.
  std::function<void()> when_finished;
};

// One at a time in a process: checkpointing replaces LibTorch's default autograd engine by one that
// also knows the saved-tensor hooks, and autocast and grad mode are the thread's.
[[nodiscard]] std::unique_ptr<ComputingEngine> make_torch_engine(Device device);

}  // namespace peakline::torch_engine
