#include "report/analyse.h"

#include <algorithm>
#include <array>
#include <string>

#include "report/categories.h"

namespace peakline {

namespace {

const EventTensor& tensor_of(const Events& events, std::int32_t event) {
  return events.tensors[static_cast<std::size_t>(event >= 0 ? event : -event - 1)];
}

StepRange last_step(const Events& events) {
  StepRange range{0, static_cast<std::int32_t>(events.events.size())};
  for (const PhaseMark& mark : events.phases) {
    if (mark.phase == Phase::Data) range.begin = mark.event;
  }
  return range;
}

// Walks the last step and keeps the level of every phase.
class PhaseLevels {
 public:
  void enter(Phase phase, Bytes live) {
    leave(live);
    current_ = &row(shown_phase(phase));
    reach(live);
  }
  void reach(Bytes live) {
    if (current_ != nullptr && live > current_->tensor_peak) current_->tensor_peak = live;
  }
  void leave(Bytes live) {
    if (current_ != nullptr) current_->end = live;
  }
  [[nodiscard]] std::vector<PhaseMemory> rows() const {
    return {rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(count_)};
  }

 private:
  PhaseMemory& row(std::string_view name) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (rows_[i].name == name) return rows_[i];
    }
    rows_[count_].name = name;
    return rows_[count_++];
  }

  std::array<PhaseMemory, kNumPhases> rows_;
  std::size_t count_ = 0;
  PhaseMemory* current_ = nullptr;
};

// The level in at most kMaxTimelinePoints points: of each stretch of events its lowest and highest.
// Called for every event, so a point gets its words only when it stays.
class Outline {
 public:
  explicit Outline(StepRange range) : range_(range) {
    const std::int32_t stretches = static_cast<std::int32_t>(kMaxTimelinePoints / 2);
    width_ = std::max<std::int32_t>(1, (range.end - range.begin + stretches - 1) / stretches);
    stretch_end_ = range.begin + width_;
    points_.reserve(kMaxTimelinePoints);
  }
  void add(std::int32_t event, Bytes live, Phase phase) {
    if (event >= stretch_end_) {
      flush();
      stretch_end_ += width_;
    }
    if (empty_) {
      low_ = high_ = {event, live, phase};
      empty_ = false;
    } else if (live < low_.live) {
      low_ = {event, live, phase};
    } else if (live > high_.live) {
      high_ = {event, live, phase};
    }
  }
  [[nodiscard]] std::vector<TimelinePoint> points() {
    flush();
    return std::move(points_);
  }

 private:
  struct Level {
    std::int32_t event = 0;
    Bytes live;
    Phase phase = Phase::Data;
  };

  void keep(const Level& level) {
    points_.push_back(
        {level.event - range_.begin, level.live, Bytes(0), std::string(shown_phase(level.phase))});
  }
  void flush() {
    if (empty_) return;
    empty_ = true;
    const bool low_first = low_.event <= high_.event;
    keep(low_first ? low_ : high_);
    if (low_.event != high_.event) keep(low_first ? high_ : low_);
  }

  StepRange range_;
  std::int32_t width_ = 1;
  std::int32_t stretch_end_ = 0;
  bool empty_ = true;
  Level low_;
  Level high_;
  std::vector<TimelinePoint> points_;
};

Bytes level_at(const Events& events, std::int32_t end) {
  Bytes live;
  for (std::int32_t i = 0; i < end; ++i) {
    const std::int32_t event = events.events[static_cast<std::size_t>(i)];
    const Bytes bytes = tensor_of(events, event).bytes;
    live = event >= 0 ? live + bytes : live - bytes;
  }
  return live;
}

// What loading leaves: an optimizer's states come later.
Bytes loaded_bytes(const Events& events, std::int32_t end) {
  Bytes live;
  for (std::int32_t i = 0; i < end; ++i) {
    const std::int32_t event = events.events[static_cast<std::size_t>(i)];
    const EventTensor& tensor = tensor_of(events, event);
    if (tensor.role == Role::Optimizer) continue;
    live = event >= 0 ? live + tensor.bytes : live - tensor.bytes;
  }
  return live;
}

// A steady step finds more than what was loaded: what the step before it left alive.
std::int32_t load_end(const Events& events) {
  if (events.leftovers_begin >= 0) return events.leftovers_begin;
  for (const PhaseMark& mark : events.phases) {
    if (mark.phase == Phase::Data) return mark.event;
  }
  return 0;
}

}  // namespace

std::string_view shown_phase(Phase phase) {
  switch (phase) {
    case Phase::Load:
      return "load";
    case Phase::Data:
    case Phase::Forward:
      return "forward";
    case Phase::Loss:
      return "loss";
    case Phase::Backward:
    case Phase::AfterBackward:
      return "backward";
    case Phase::Clip:
      return "clip";
    case Phase::Optimizer:
    case Phase::AfterStep:
      return "optimizer";
  }
  return "?";
}

Analysis analyse(const Events& events, std::int64_t vocab_size) {
  Analysis analysis;
  analysis.step = last_step(events);
  analysis.static_bytes = loaded_bytes(events, load_end(events));
  Bytes live = level_at(events, analysis.step.begin);
  auto mark = std::find_if(events.phases.begin(), events.phases.end(), [&](const PhaseMark& m) {
    return m.event >= analysis.step.begin;
  });
  PhaseLevels levels;
  Outline outline(analysis.step);
  Phase phase = Phase::Data;
  for (std::int32_t i = analysis.step.begin; i < analysis.step.end; ++i) {
    for (; mark != events.phases.end() && mark->event <= i; ++mark) {
      phase = mark->phase;
      levels.enter(phase, live);
    }
    const std::int32_t event = events.events[static_cast<std::size_t>(i)];
    const Bytes bytes = tensor_of(events, event).bytes;
    live = event >= 0 ? live + bytes : live - bytes;
    levels.reach(live);
    outline.add(i, live, phase);
    if (live > analysis.peak.bytes) analysis.peak = {i, live};
  }
  levels.leave(live);
  analysis.phases = levels.rows();
  analysis.timeline = outline.points();
  const PeakView view(events, analysis.step, analysis.peak.event, vocab_size);
  analysis.at_peak = view.categories();
  analysis.peak_phase = view.phase();
  analysis.peak_op = view.op();
  return analysis;
}

}  // namespace peakline
