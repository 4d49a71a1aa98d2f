// From events to numbers, on events written by hand.
#include "report/analyse.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "report/categories.h"
#include "support/print.h"

namespace peakline {
namespace {

constexpr std::int64_t kVocabulary = 1000;

// Writes events as an engine does.
class Script {
 public:
  Script& phase(Phase phase) {
    phase_ = phase;
    events_.phases.push_back({static_cast<std::int32_t>(events_.events.size()), phase});
    return *this;
  }
  struct Made {
    const char* op = "mm";
    Role role = Role::Unknown;
    std::vector<std::int32_t> shape = {4, 8};
    bool grad_mode = true;
    bool kernel_temporary = false;
    const char* module = "";
    std::int32_t layer = -1;
    DType dtype = DType::BFloat16;
  };
  int alloc(std::int64_t bytes) { return alloc(bytes, Made{}); }
  int alloc(std::int64_t bytes, const Made& made) {
    EventTensor tensor;
    tensor.bytes = Bytes(bytes);
    tensor.op = made.op;
    tensor.role = made.role;
    tensor.rank = static_cast<std::int8_t>(made.shape.size());
    std::copy(made.shape.begin(), made.shape.end(), tensor.dims.begin());
    tensor.grad_mode = made.grad_mode;
    tensor.kernel_temporary = made.kernel_temporary;
    tensor.module = {made.module, made.layer};
    tensor.dtype = made.dtype;
    tensor.phase = phase_;
    tensor.born = static_cast<std::int32_t>(events_.events.size());
    events_.events.push_back(static_cast<std::int32_t>(events_.tensors.size()));
    events_.tensors.push_back(tensor);
    return static_cast<int>(events_.tensors.size()) - 1;
  }
  Script& free(int tensor) {
    events_.tensors[static_cast<std::size_t>(tensor)].died =
        static_cast<std::int32_t>(events_.events.size());
    events_.events.push_back(-tensor - 1);
    return *this;
  }
  Script& leftovers() {
    events_.leftovers_begin = static_cast<std::int32_t>(events_.events.size());
    return *this;
  }
  [[nodiscard]] const Events& events() const { return events_; }

 private:
  Events events_;
  Phase phase_ = Phase::Load;
};

// Load, a first step with a high peak, a second with a lower one.
Script two_steps() {
  Script s;
  s.phase(Phase::Load);
  s.alloc(1000, {.role = Role::WeightTrainable});
  s.phase(Phase::Data);
  const int first = s.alloc(10, {.role = Role::Batch});
  s.phase(Phase::Forward).free(s.alloc(9000));
  s.free(first);
  s.phase(Phase::Optimizer);
  s.alloc(200, {.role = Role::Optimizer});
  const int scratch = s.alloc(5);
  s.phase(Phase::AfterStep).free(scratch);
  s.phase(Phase::Data);
  const int batch = s.alloc(10, {.role = Role::Batch});
  s.phase(Phase::Forward);
  const int hidden = s.alloc(300);
  s.phase(Phase::Loss);
  const int logits = s.alloc(400);
  s.phase(Phase::Forward).free(logits);
  s.phase(Phase::Backward);
  const int gradient = s.alloc(500, {.grad_mode = false});
  s.free(hidden);
  s.phase(Phase::AfterBackward);
  s.phase(Phase::Clip).free(s.alloc(20));
  s.phase(Phase::Optimizer).free(s.alloc(50));
  s.phase(Phase::AfterStep).free(gradient);
  s.free(batch);
  return s;
}

TEST_CASE("numbers are the second step's", "[report]") {
  const Script s = two_steps();
  const Analysis a = analyse(s.events(), kVocabulary);
  CHECK(a.peak.bytes == Bytes(1000 + 200 + 10 + 300 + 500));
  const auto& trigger = s.events().tensors[static_cast<std::size_t>(
      s.events().events[static_cast<std::size_t>(a.peak.event)])];
  CHECK(trigger.bytes == Bytes(500));
  CHECK(a.peak_phase == "backward:layers");
  CHECK(a.peak_op == "mm");
  CHECK(a.static_bytes == Bytes(1000));  // loaded, without the optimizer's states
}

TEST_CASE("what an implied first step leaves is not what was loaded", "[report]") {
  Script s;
  s.phase(Phase::Load);
  s.alloc(1000, {.role = Role::WeightTrainable});
  s.leftovers();
  s.alloc(200, {.role = Role::Optimizer});
  const int batch = s.alloc(10, {.role = Role::Batch});
  s.phase(Phase::Data);
  s.alloc(10, {.role = Role::Batch});
  s.free(batch);
  s.phase(Phase::Forward).free(s.alloc(300));
  const Analysis a = analyse(s.events(), kVocabulary);
  CHECK(a.static_bytes == Bytes(1000));
  CHECK(a.peak.bytes == Bytes(1000 + 200 + 10 + 300));
}

TEST_CASE("phases have their highest and their last level", "[report]") {
  const Analysis a = analyse(two_steps().events(), kVocabulary);
  struct Row {
    const char* name;
    std::int64_t peak;
    std::int64_t end;
  };
  const std::vector<Row> rows = {{"forward", 1510, 1510},
                                 {"loss", 1910, 1910},
                                 {"backward", 2010, 1710},
                                 {"clip", 1730, 1710},
                                 {"optimizer", 1760, 1200}};
  for (const PhaseMemory& row : a.phases) UNSCOPED_INFO(row.name << " " << row.tensor_peak.count());
  REQUIRE(a.phases.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO(rows[i].name);
    CHECK(a.phases[i].name == rows[i].name);
    CHECK(a.phases[i].end == Bytes(rows[i].end));
    // Forward comes again after the loss, still as high as the loss ended.
    const std::int64_t peak = i == 0 ? 1910 : rows[i].peak;
    CHECK(a.phases[i].tensor_peak == Bytes(peak));
  }
}

TEST_CASE("the timeline is short, in order, and has the highest and the lowest level", "[report]") {
  Script s;
  s.phase(Phase::Load);
  s.alloc(100);
  s.phase(Phase::Data);
  s.phase(Phase::Data).phase(Phase::Forward);
  std::vector<int> alive;
  std::int64_t highest = 0;
  std::int64_t live = 100;
  for (int i = 0; i < 20000; ++i) {
    const bool frees = i % 7 == 3 || i % 5 == 1;
    if (frees && !alive.empty()) {
      s.free(alive.back());
      alive.pop_back();
      live -= 10;
    } else {
      alive.push_back(s.alloc(10));
      live += 10;
    }
    highest = std::max(highest, live);
  }
  const Analysis a = analyse(s.events(), kVocabulary);
  CHECK(a.timeline.size() <= kMaxTimelinePoints);
  CHECK(a.timeline.size() > kMaxTimelinePoints / 2);
  std::int64_t top = 0;
  std::int64_t before = -1;
  for (const TimelinePoint& point : a.timeline) {
    CHECK(point.t > before);
    before = point.t;
    top = std::max(top, point.tensors.count());
    CHECK(point.phase == "forward");
  }
  CHECK(top == highest);
  CHECK(Bytes(highest) == a.peak.bytes);
}

struct Moment {
  Phase phase;
  const char* op;
  std::vector<std::int32_t> shape;
  bool grad_mode;
  const char* name;
};

TEST_CASE("the phase of the peak is named as the recorded rows name it", "[report]") {
  for (const Moment& m : std::vector<Moment>{
           {Phase::Data, "ones", {8}, true, "forward"},
           {Phase::Forward, "mm", {8, 8}, true, "forward"},
           {Phase::Forward, "mm", {8, kVocabulary}, true, "forward"},
           {Phase::Loss, "_log_softmax", {8, kVocabulary}, true, "loss"},
           {Phase::Backward, "nll_loss_backward", {8, 8}, false, "backward:loss"},
           {Phase::Backward, "_log_softmax_backward_data", {8, 8}, false, "backward:loss"},
           {Phase::Backward, "mm", {8, kVocabulary}, false, "backward:loss"},
           {Phase::Backward, "mm", {kVocabulary, 8}, false, "backward:layers"},
           {Phase::Backward, "mm", {kVocabulary}, false, "backward:layers"},
           {Phase::Backward, "mm", {8, 8}, true, "backward:recompute"},
           {Phase::AfterBackward, "isnan", {8, 8}, false, "backward:layers"},
           {Phase::Clip, "stack", {8}, false, "clip"},
           {Phase::Optimizer, "_foreach_sqrt", {8}, false, "optimizer"},
           {Phase::AfterStep, "x", {8}, false, "optimizer"}}) {
    Script s;
    s.phase(Phase::Load);
    s.alloc(100);
    s.phase(Phase::Data).phase(Phase::Data).phase(m.phase);
    s.alloc(100, {.op = m.op, .shape = m.shape, .grad_mode = m.grad_mode});
    INFO(m.op << " in " << name_of(m.phase));
    CHECK(analyse(s.events(), kVocabulary).peak_phase == m.name);
  }
}

// The category of one tensor at the peak; everything else there is a frozen weight of [4, 8].
Category category_of(Phase phase, const Script::Made& made, Phase moment, bool dies_in_forward) {
  Script s;
  s.phase(Phase::Load);
  s.alloc(1, {.role = Role::WeightFrozen, .shape = {4, 8}});
  if (phase == Phase::Load) s.alloc(100, made);
  s.phase(Phase::Data).phase(Phase::Data).phase(Phase::Forward);
  int tensor = -1;
  if (phase == Phase::Forward) tensor = s.alloc(100, made);
  if (moment == Phase::Backward) s.phase(Phase::Backward);
  if (phase == Phase::Backward) tensor = s.alloc(100, made);
  s.alloc(10, {.role = Role::Batch, .shape = {3}});  // reaches the peak
  if (tensor >= 0 && dies_in_forward) s.free(tensor);
  if (moment != Phase::Backward) s.phase(Phase::Backward);
  const Analysis a = analyse(s.events(), kVocabulary);
  REQUIRE(a.at_peak.front().bytes >= Bytes(100));
  return a.at_peak.front().category;
}

TEST_CASE("what is alive at the peak is sorted by what it is for", "[report]") {
  struct Row {
    Phase phase;
    Script::Made made;
    Phase moment;
    bool dies;
    Category category;
  };
  using enum Category;
  const Phase load = Phase::Load;
  const Phase forward = Phase::Forward;
  const Phase backward = Phase::Backward;
  const std::vector<std::int32_t> other{5, 5};
  const std::vector<std::int32_t> wide{2, kVocabulary};
  const std::vector<Row> rows = {
      {load, {.role = Role::WeightFrozen}, forward, false, WeightsFrozen},
      {load, {.role = Role::WeightTrainable}, forward, false, WeightsTrainable},
      {load, {.role = Role::Quant}, forward, false, Quant},
      {load, {.role = Role::Buffer}, forward, false, Buffers},
      {load, {}, forward, false, OtherStatic},
      {load, {.role = Role::Optimizer}, forward, false, Optimizer},
      {forward, {.role = Role::Batch}, forward, false, Batch},
      {backward, {.role = Role::Gradient, .grad_mode = false}, backward, false, Gradients},
      {backward, {.kernel_temporary = true}, backward, false, KernelTemporaries},
      {forward, {.op = "_to_copy"}, forward, false, AutocastWeightCasts},
      {forward, {.op = "_to_copy", .shape = other}, forward, false, Activations},
      {backward, {.op = "_to_copy", .grad_mode = false}, backward, false, Temporaries},
      {forward, {.shape = wide}, forward, false, Logits},
      {backward, {.shape = wide, .grad_mode = false}, backward, false, Logits},
      {forward, {}, forward, false, Activations},
      {forward, {}, forward, true, Temporaries},
      {forward, {}, backward, false, Activations},
      {backward, {.grad_mode = true}, backward, false, Recomputed},
      {backward, {.grad_mode = false}, backward, false, Temporaries},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    INFO("row " << i << ": " << name_of(row.category));
    CHECK(category_of(row.phase, row.made, row.moment, row.dies) == row.category);
  }
}

TEST_CASE("alike tensors of different layers are one line with their count", "[report]") {
  Script s;
  s.phase(Phase::Load);
  s.alloc(1);
  s.phase(Phase::Data).phase(Phase::Data).phase(Phase::Forward);
  for (std::int32_t layer = 0; layer < 3; ++layer) {
    s.alloc(64, {.op = "silu", .shape = {2, 8}, .module = "mlp.act_fn", .layer = layer});
    s.alloc(32, {.op = "mm", .shape = {2, 4}, .module = "mlp.up_proj", .layer = layer});
  }
  s.alloc(32, {.op = "mm", .shape = {2, 4}, .module = "lm_head"});
  for (int i = 0; i < 10; ++i) s.alloc(1 + i, {.op = "add.Tensor", .shape = {i + 1}});
  const Analysis a = analyse(s.events(), kVocabulary);
  REQUIRE(a.at_peak.front().category == Category::Activations);
  const std::vector<PeakTensor>& lines = a.at_peak.front().tensors;
  REQUIRE(lines.size() == kMaxPeakTensors);
  CHECK(lines[0].name == "layers.*.mlp.act_fn: silu");
  CHECK(lines[0].bytes == Bytes(192));
  CHECK(lines[0].count == 3);
  CHECK(lines[0].shape == std::vector<std::int64_t>{2, 8});
  CHECK(lines[1].name == "layers.*.mlp.up_proj: mm");
  CHECK(lines[1].bytes == Bytes(96));
  CHECK(lines[2].name == "lm_head: mm");
  CHECK(lines[2].count == 1);
  // The category has all bytes, though the list is cut.
  CHECK(a.at_peak.front().bytes == Bytes(192 + 96 + 32 + 55));
}

}  // namespace
}  // namespace peakline
