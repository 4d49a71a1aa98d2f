#include "torch/allocation_recorder.h"

#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <exception>
#include <string_view>
#include <unordered_map>

namespace peakline::torch_engine {
namespace {

struct OpenOperation {
  std::string name;
  bool composite = false;  // its parts are operations of their own
  std::uint64_t id = 0;
};

thread_local std::vector<OpenOperation> open_operations;
thread_local std::uint64_t next_operation = 0;

// Nodes of the backward pass, and operations that only call others (CompositeImplicitAutograd).
bool is_composite(const at::RecordFunction& function) {
  const auto name = function.operator_name();
  if (!name) return !std::string_view(function.name()).starts_with("reference::");
  const auto found = c10::Dispatcher::singleton().findOp(*name);
  return found && found->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

bool is_cast(std::string_view name) {
  return name == "aten::baddbmm" || name == "aten::bmm" || name == "aten::mm" ||
         name == "aten::addmm";
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  // An operation of autocast's list inside itself: the outer call only casts.
  for (OpenOperation& operation : open_operations) {
    if (operation.name == function.name() && is_cast(operation.name)) operation.composite = true;
  }
  open_operations.push_back({function.name(), is_composite(function), next_operation++});
  return nullptr;
}

void end(const at::RecordFunction&, at::ObserverContext*) {
  if (!open_operations.empty()) open_operations.pop_back();
}

// The outermost operation with a kernel of its own: what it makes and drops is its business.
const OpenOperation* maker() {
  for (const OpenOperation& operation : open_operations) {
    if (!operation.composite) return &operation;
  }
  return open_operations.empty() ? nullptr : &open_operations.back();
}

}  // namespace

struct AllocationRecorder::State final : c10::MemoryReportingInfoBase {
  struct Alive {
    std::int32_t index = 0;
    std::uint64_t operation = 0;
    bool inside = false;
  };

  void reportMemoryUsage(
      void* pointer, std::int64_t bytes, std::size_t, std::size_t, c10::Device) override {
    if (bytes > 0) {
      born(pointer, bytes);
    } else {
      died(pointer);
    }
  }
  bool memoryProfilingEnabled() const override { return true; }

  void born(void* pointer, std::int64_t bytes) {
    const OpenOperation* operation = maker();
    const auto index = static_cast<std::int32_t>(recording.allocations.size());
    recording.allocations.push_back({bytes, operation ? operation->name : "", false});
    recording.events.push_back(index);
    alive[pointer] = {index, operation ? operation->id : 0, operation != nullptr};
  }

  void died(void* pointer) {
    const auto found = alive.find(pointer);
    if (found == alive.end()) return;  // older than the recording
    const Alive gone = found->second;
    alive.erase(found);
    recording.events.push_back(-gone.index - 1);
    // What dies because a recomputation stopped is a result that nobody took.
    if (std::uncaught_exceptions() > 0) return;
    for (const OpenOperation& operation : open_operations) {
      if (gone.inside && operation.id == gone.operation && !operation.composite)
        recording.allocations[static_cast<std::size_t>(gone.index)].temporary = true;
    }
  }

  Recording recording;
  std::unordered_map<void*, Alive> alive;
};

struct AllocationRecorder::Guards {
  explicit Guards(std::shared_ptr<c10::DebugInfoBase> state)
      : observer(at::addThreadLocalCallback(
            at::RecordFunctionCallback(begin, end)
                .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}))),
        memory(c10::DebugInfoKind::PROFILER_STATE, std::move(state)) {}
  ~Guards() { at::removeCallback(observer); }

  at::CallbackHandle observer;
  c10::DebugInfoGuard memory;
};

// Only this thread is watched, so it does all the work; a team would also spin at its barriers.
AllocationRecorder::AllocationRecorder()
    : state_(std::make_shared<State>()), guards_(std::make_unique<Guards>(state_)) {
  at::set_num_threads(1);
}

AllocationRecorder::~AllocationRecorder() = default;

const Recording& AllocationRecorder::recording() const {
  return state_->recording;
}

}  // namespace peakline::torch_engine
