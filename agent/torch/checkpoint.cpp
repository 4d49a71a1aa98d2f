#include "torch/checkpoint.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <array>
#include <utility>

#include "torch/torch_engine_impl.h"

namespace peakline::torch_engine {
namespace {

using torch::autograd::SavedVariableHooks;
using torch::autograd::variable_list;

thread_local std::shared_ptr<Frame> active_frame;

// pack_hook and unpack_hook of _checkpoint_without_reentrant_generator and _recomputation_hook.
class CheckpointHooks final : public SavedVariableHooks {
 public:
  explicit CheckpointHooks(std::shared_ptr<Frame> frame) : frame_(std::move(frame)) {}

  void call_pack_hook(const at::Tensor& tensor) override {
    if (!frame_->recomputing) {
      index_ = frame_->num_saved++;
      return;
    }
    // A result comes with its node, which owns these hooks: kept whole it would own itself.
    frame_->again.push_back(tensor.detach());
    if (frame_->again.size() == frame_->num_saved) throw StopRecomputation{};
    tensor_ = tensor.detach();
  }

  at::Tensor call_unpack_hook() override {
    if (tensor_.defined()) return tensor_;
    if (!frame_->recomputed) frame_->engine->recompute(*frame_);
    return index_ < frame_->again.size() ? std::move(frame_->again[index_]) : at::Tensor{};
  }

 private:
  std::shared_ptr<Frame> frame_;
  std::size_t index_ = 0;
  at::Tensor tensor_;
};

class HookedEngine final : public torch::autograd::Engine {
 public:
  HookedEngine() = default;
  std::unique_ptr<SavedVariableHooks> get_default_saved_variable_hooks() override {
    if (!active_frame) return nullptr;
    return std::make_unique<CheckpointHooks>(active_frame);
  }
};

// Never destroyed, like LibTorch's own.
torch::autograd::Engine& hooked_engine() {
  static auto* engine = new HookedEngine;
  return *engine;
}

}  // namespace

FrameScope::FrameScope(std::shared_ptr<Frame> frame)
    : outer_(std::exchange(active_frame, std::move(frame))) {}

FrameScope::~FrameScope() {
  active_frame = std::move(outer_);
}

void install_checkpoint_hooks() {
  torch::autograd::set_default_engine_stub(hooked_engine);
}

ReentrantCheckpoint::ReentrantCheckpoint(std::shared_ptr<Frame> frame, const at::Tensor& input)
    : Node(torch::autograd::collect_next_edges(input)),
      frame_(std::move(frame)),
      input_(input, /*is_output=*/false) {}

// CheckpointFunction.backward: its Python frame holds the incoming gradients, the detached input
// and the outputs of the second forward until the nested backward pass has returned. A second
// result that nobody used gets a gradient of zeros (materialize_grads).
variable_list ReentrantCheckpoint::apply(variable_list&& gradients) {
  if (gradients.size() > 1 && !gradients[1].defined())
    gradients[1] = input_metadata(1).zeros_like();
  at::Tensor input;
  {
    const at::Tensor saved = input_.unpack();
    input = saved.detach();
  }
  input.requires_grad_(true);
  TorchEngine& engine = *frame_->engine;
  std::array<Tensor, 2> outputs;
  {
    const at::AutoGradMode with_gradients(true);
    const AutocastScope autocast(engine, frame_->autocast);
    outputs[0] = frame_->function(engine.wrap(input), outputs[1]);
  }
  torch::autograd::edge_list roots;
  for (const Tensor& output : outputs) {
    if (output.requires_grad())
      roots.push_back(torch::autograd::impl::gradient_edge(value_of(output)));
  }
  if (roots.empty()) return {at::Tensor{}};
  gradients.resize(roots.size());
  const at::AutoGradMode without(false);
  torch::autograd::Engine::get_default_engine().execute(
      roots, gradients, false, false, /*accumulate_grad=*/true, {});
  return {input.grad()};
}

void ReentrantCheckpoint::release_variables() {
  input_.reset_data();
}

}  // namespace peakline::torch_engine
