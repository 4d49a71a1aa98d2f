// torch.utils.checkpoint in C++: what a checkpointed call needs to run again.
// Source: torch/utils/checkpoint.py (torch 2.13).
#pragma once

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <memory>
#include <optional>
#include <vector>

#include "peakline/engine.h"
#include "torch/values.h"

namespace peakline::torch_engine {

class TorchEngine;

// A recomputation has all it needs (_StopRecomputationError). It crosses one ATen call, never the
// step.
struct StopRecomputation {};

// Shared by the hooks of the tensors that the call saved.
struct Frame : std::enable_shared_from_this<Frame> {
  TorchEngine* engine = nullptr;
  Engine::PairFunction function;
  Tensor input;
  std::optional<DType> autocast;
  std::size_t num_saved = 0;
  bool recomputing = false;
  bool recomputed = false;
  std::vector<at::Tensor> again;  // by index of saving
};

// While one lives, tensors that autograd saves on this thread go through `frame`'s hooks.
class FrameScope {
 public:
  explicit FrameScope(std::shared_ptr<Frame> frame);
  ~FrameScope();
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;

 private:
  std::shared_ptr<Frame> outer_;
};

// Gives LibTorch an autograd engine that asks FrameScope for the hooks; once per process.
void install_checkpoint_hooks();

// use_reentrant=True: a node that runs the function again, with gradients, inside backward.
class ReentrantCheckpoint final : public torch::autograd::Node {
 public:
  ReentrantCheckpoint(std::shared_ptr<Frame> frame, const at::Tensor& input);
  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override;
  void release_variables() override;

 private:
  std::shared_ptr<Frame> frame_;
  torch::autograd::SavedVariable input_;
};

}  // namespace peakline::torch_engine
