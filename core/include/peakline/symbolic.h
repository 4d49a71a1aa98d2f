// What a run of the step leaves behind: every storage's birth and death in order, each size rounded
// up to 512 bytes as the CUDA caching allocator does. This is the same form the real stack's
// timelines have.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "peakline/dtype.h"
#include "peakline/engine.h"
#include "peakline/quantity.h"

namespace peakline {

// A card, as far as it changes which kernels run.
struct DeviceModel {
  int compute_capability = 80;  // major * 10 + minor
  std::int64_t sm_count = 108;
  bool is_cpu = false;  // LibTorch's kernels for the CPU: what the engines are compared on
};

struct EventTensor {
  Bytes bytes;
  const char* op = "";  // the dispatcher's name: "mm", "_to_copy", "hidden:flash_backward"
  Module module;        // where it was made; forward and recomputation only
  std::array<std::int64_t, Shape::kMaxRank> dims{};
  std::int8_t rank = 0;
  DType dtype = DType::Float32;
  Phase phase = Phase::Load;
  Role role = Role::Unknown;
  bool grad_mode = false;         // made while gradients were recorded
  bool kernel_temporary = false;  // allocated inside one kernel launcher
  std::int32_t born = 0;          // event index
  std::int32_t died = -1;         // event index, -1 while alive
};

struct PhaseMark {
  std::int32_t event = 0;  // the phase starts with the event at this index
  Phase phase = Phase::Load;
};

struct Events {
  std::vector<EventTensor> tensors;
  std::vector<std::int32_t> events;  // i >= 0 allocates tensors[i], i < 0 frees tensors[-i - 1]
  std::vector<PhaseMark> phases;
  // Where a first step is implied instead of run: the events from here to the first `data` mark
  // make what it leaves alive, optimizer states first. -1 where both steps are in the list.
  std::int32_t leftovers_begin = -1;
  bool too_large = false;  // the event budget ran out; nothing after it was recorded
};

// A budget against absurd inputs; train/step_size.h refuses them before the step runs.
inline constexpr std::size_t kMaxEvents = 8'000'000;

// The engine that counts bytes. `events` outlives the engine.
[[nodiscard]] std::unique_ptr<Engine> make_symbolic_engine(const DeviceModel& device,
                                                           Events& events);

}  // namespace peakline
