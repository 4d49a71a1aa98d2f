#include "parity/parity.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "peakline/symbolic.h"
#include "torch/allocation_recorder.h"
#include "torch/torch_engine.h"

namespace peakline::test {
namespace {

// An allocation, and the allocations that were freed between it and the next one.
struct Step {
  std::int64_t bytes = 0;
  std::string op;
  std::vector<std::int32_t> freed;  // by number of allocation, sorted
};

// Numbers allocations anew, without those that do not count.
class Steps {
 public:
  void born(std::int32_t id, std::int64_t bytes, std::string op) {
    number_[id] = static_cast<std::int32_t>(steps_.size());
    steps_.push_back({bytes, std::move(op), {}});
  }
  void died(std::int32_t id) {
    const auto found = number_.find(id);
    if (found != number_.end() && !steps_.empty()) steps_.back().freed.push_back(found->second);
  }
  std::vector<Step> take() {
    for (Step& step : steps_) std::sort(step.freed.begin(), step.freed.end());
    return std::move(steps_);
  }

 private:
  std::map<std::int32_t, std::int32_t> number_;
  std::vector<Step> steps_;
};

std::int64_t exact_bytes(const EventTensor& tensor) {
  std::int64_t elements = 1;
  for (std::int8_t i = 0; i < tensor.rank; ++i)
    elements *= tensor.dims[static_cast<std::size_t>(i)];
  return elements * bytes_per_element(tensor.dtype);
}

std::vector<Step> counted(const Program& program) {
  Events events;
  {
    DeviceModel cpu;
    cpu.is_cpu = true;
    const std::unique_ptr<Engine> engine = make_symbolic_engine(cpu, events);
    program(*engine);
    engine->finish_recording();
  }
  Steps steps;
  for (const std::int32_t event : events.events) {
    const std::int32_t id = event >= 0 ? event : -event - 1;
    const EventTensor& tensor = events.tensors[static_cast<std::size_t>(id)];
    if (tensor.kernel_temporary || exact_bytes(tensor) == 0) continue;
    if (event >= 0) {
      steps.born(id, exact_bytes(tensor), tensor.op);
    } else {
      steps.died(id);
    }
  }
  return steps.take();
}

std::vector<Step> computed(const Program& program, std::string& error) {
  torch_engine::Recording recording;
  {
    const std::unique_ptr<torch_engine::ComputingEngine> engine =
        torch_engine::make_torch_engine(torch_engine::Device::Cpu);
    std::optional<torch_engine::AllocationRecorder> recorder(std::in_place);
    engine->when_finished = [&] {
      recording = recorder->recording();
      recorder.reset();
    };
    program(*engine);
    engine->finish_recording();
    if (engine->error()) error = std::string(*engine->error());
  }
  Steps steps;
  for (const std::int32_t event : recording.events) {
    const std::int32_t id = event >= 0 ? event : -event - 1;
    const torch_engine::Allocation& made = recording.allocations[static_cast<std::size_t>(id)];
    if (made.temporary) continue;
    if (event >= 0) {
      steps.born(id, made.bytes, made.op);
    } else {
      steps.died(id);
    }
  }
  return steps.take();
}

std::string words(const Step& step) {
  std::string text = step.op + " " + std::to_string(step.bytes) + " B, then frees {";
  for (const std::int32_t number : step.freed) text += " " + std::to_string(number);
  return text + " }";
}

std::string difference(const std::vector<Step>& ours, const std::vector<Step>& theirs) {
  const std::size_t both = std::min(ours.size(), theirs.size());
  std::size_t at = 0;
  while (at < both && ours[at].bytes == theirs[at].bytes && ours[at].freed == theirs[at].freed)
    ++at;
  if (at == both && ours.size() == theirs.size()) return "";
  std::ostringstream text;
  const std::size_t from = at < 6 ? 0 : at - 6;
  for (std::size_t i = from; i < at + 4; ++i) {
    text << (i == at ? "> " : "  ") << i << "\n";
    text << "    symbolic: " << (i < ours.size() ? words(ours[i]) : "nothing") << "\n";
    text << "    torch:    " << (i < theirs.size() ? words(theirs[i]) : "nothing") << "\n";
  }
  return text.str();
}

}  // namespace

Parity compare(const Program& program) {
  Parity result;
  const std::vector<Step> ours = counted(program);
  std::string error;
  const std::vector<Step> theirs = computed(program, error);
  result.num_events = ours.size();
  result.difference = error.empty() ? difference(ours, theirs) : "LibTorch: " + error;
  result.equal = result.difference.empty();
  return result;
}

}  // namespace peakline::test
