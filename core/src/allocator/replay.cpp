#include <algorithm>
#include <vector>

#include "allocator/caching_allocator.h"
#include "peakline/allocator.h"

namespace peakline {

namespace {

using allocator::BlockId;
using allocator::CachingAllocator;
using allocator::kNoBlock;

class Replay {
 public:
  Replay(const Events& events, const AllocatorOptions& options)
      : events_(events), allocator_(options) {
    blocks_.assign(events.tensors.size(), kNoBlock);
    for (const PhaseMark& mark : events.phases) {
      if (mark.phase != Phase::Data) continue;
      if (first_step_ < 0) first_step_ = mark.event;
      last_step_ = mark.event;
    }
    first_step_ = std::max(first_step_, 0);
  }

  AllocatorPeaks run() {
    const bool implied = events_.leftovers_begin >= 0;
    if (!lay_out(implied ? events_.leftovers_begin : first_step_)) return peaks_;
    if (implied) {
      if (!run_events(first_step_, true)) return peaks_;
      hand_over_leftovers();
    }
    event_ = 0;
    peaks_.levels = {{last_step_, allocator_.reserved()}};
    run_events(first_step_, false);
    return peaks_;
  }

 private:
  // The tensors alive at the first step that were born before `until`, side by side.
  bool lay_out(std::int32_t until) {
    for (std::size_t i = 0; i < events_.tensors.size(); ++i) {
      const EventTensor& tensor = events_.tensors[i];
      if (tensor.born >= until) break;
      const bool alive = tensor.died < 0 || tensor.died >= first_step_;
      if (alive && !make(static_cast<std::int32_t>(i))) return false;
    }
    return true;
  }

  bool run_events(std::int32_t begin, bool implied_first_step) {
    const auto end = static_cast<std::int32_t>(events_.events.size());
    const std::int32_t optimizer = implied_first_step ? optimizer_begin() : -1;
    for (std::int32_t i = begin; i < end; ++i) {
      event_ = i;
      if (i == optimizer && !make_optimizer_states()) return false;
      const std::int32_t event = events_.events[static_cast<std::size_t>(i)];
      if (event < 0) {
        drop(-event - 1);
      } else if (!make(event)) {
        return false;
      }
      if (i >= last_step_ && !implied_first_step) {
        peaks_.allocated = std::max(peaks_.allocated, allocator_.allocated());
      }
    }
    return optimizer < end || make_optimizer_states();
  }

  [[nodiscard]] std::int32_t optimizer_begin() const {
    for (const PhaseMark& mark : events_.phases) {
      if (mark.phase == Phase::Optimizer) return mark.event;
    }
    return static_cast<std::int32_t>(events_.events.size());
  }

  [[nodiscard]] bool is_leftover(const EventTensor& tensor) const {
    return tensor.born >= events_.leftovers_begin && tensor.born < first_step_;
  }

  bool make_optimizer_states() {
    for (std::size_t i = 0; i < events_.tensors.size(); ++i) {
      const EventTensor& tensor = events_.tensors[i];
      if (tensor.born >= first_step_) break;
      if (!is_leftover(tensor) || tensor.role != Role::Optimizer) continue;
      if (!make(static_cast<std::int32_t>(i))) return false;
    }
    return true;
  }

  // What the first pass of the step left alive is what its second pass finds: the survivors, in
  // birth order, stand where the leftovers do.
  void hand_over_leftovers() {
    std::vector<BlockId> survivors;
    for (std::size_t i = 0; i < events_.tensors.size(); ++i) {
      if (events_.tensors[i].born < first_step_ || blocks_[i] == kNoBlock) continue;
      survivors.push_back(blocks_[i]);
      blocks_[i] = kNoBlock;
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < events_.tensors.size() && next < survivors.size(); ++i) {
      const EventTensor& tensor = events_.tensors[i];
      if (is_leftover(tensor) && tensor.role != Role::Optimizer) blocks_[i] = survivors[next++];
    }
  }

  bool make(std::int32_t tensor) {
    const Bytes size = events_.tensors[static_cast<std::size_t>(tensor)].bytes;
    if (size == Bytes(0)) return true;
    BlockId& block = blocks_[static_cast<std::size_t>(tensor)];
    block = allocator_.allocate(size);
    peaks_.retries = allocator_.retries();
    peaks_.reserved = std::max(peaks_.reserved, allocator_.reserved());
    note_level();
    peaks_.out_of_memory = block == kNoBlock;
    return !peaks_.out_of_memory;
  }
  // Segments come, and go, only where a block is asked for.
  void note_level() {
    const Bytes reserved = allocator_.reserved();
    const std::int32_t event = std::max(event_, last_step_);
    std::vector<ReservedLevel>& levels = peaks_.levels;
    if (levels.empty() || levels.back().reserved == reserved) return;
    if (levels.back().event == event) {
      levels.back().reserved = reserved;
    } else {
      levels.push_back({event, reserved});
    }
  }
  void drop(std::int32_t tensor) {
    BlockId& block = blocks_[static_cast<std::size_t>(tensor)];
    if (block != kNoBlock) allocator_.free(block);
    block = kNoBlock;
  }

  const Events& events_;
  CachingAllocator allocator_;
  std::vector<BlockId> blocks_;
  AllocatorPeaks peaks_;
  std::int32_t event_ = 0;  // the one being replayed
  std::int32_t first_step_ = -1;
  std::int32_t last_step_ = 0;
};

}  // namespace

AllocatorPeaks replay(const Events& events, const AllocatorOptions& options) {
  return Replay(events, options).run();
}

}  // namespace peakline
