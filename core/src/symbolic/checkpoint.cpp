// torch.utils.checkpoint, both kinds. Source: torch/utils/checkpoint.py (torch 2.13).
#include <algorithm>
#include <utility>

#include "symbolic/symbolic_engine.h"

namespace peakline::symbolic {

// Saved tensors come back through the hooks they were packed with: the first one to be asked for
// runs the checkpointed function again, up to the last tensor it saves (early_stop).
void SymbolicEngine::unpack(Node& node) {
  for (int i = 0; i < node.num_saved; ++i) {
    const SavedTensor& slot = node.saved[static_cast<std::size_t>(i)];
    Tensor& unpacked = node.unpacked[i];
    if (!slot.hooked()) {
      unpacked = Tensor::share(slot.tensor);
      continue;
    }
    if (!slot.frame->recomputed) recompute(*slot.frame);
    unpacked = std::move(slot.frame->again[static_cast<std::size_t>(slot.index)]);
  }
}

void SymbolicEngine::recompute(Frame& frame) {
  frame.recomputed = true;
  frame.recomputing = true;
  std::sort(frame.forgotten.begin(), frame.forgotten.end());
  frame.again.resize(static_cast<std::size_t>(frame.num_saved));
  Frame* outer_frame = std::exchange(frame_, &frame);
  const bool outer_grad = set_grad_enabled(true);
  const Module outer_module = enter_module(frame.module);
  {
    Tensor input = frame.input;
    AutocastScope autocast_scope(*this, frame.autocast);
    Tensor second;
    Tensor unused = frame.function(input, second);
  }
  halted_ = false;
  enter_module(outer_module);
  set_grad_enabled(outer_grad);
  frame_ = outer_frame;
  frame.recomputing = false;
}

Tensor SymbolicEngine::checkpoint_pair(PairFunction function,
                                       const Tensor& input,
                                       bool use_reentrant,
                                       Tensor& second) {
  if (halted_ || !input.defined()) return {};
  Frame* frame = new Frame;
  frame->function = std::move(function);
  frame->autocast = autocast_;
  frame->module = module_;
  if (!use_reentrant) {
    frame->input = input;
    Frame* outer = std::exchange(frame_, frame);
    Tensor out = frame->function(input, second);
    frame_ = outer;
    Frame::release(frame);
    return out;
  }
  Node* node = start(&SymbolicEngine::formula_reentrant, {&input});
  Tensor out;
  if (save(node, input)) {
    NoGrad no_grad(*this);
    out = frame->function(input, second);
  }
  if (node == nullptr || halted_) {
    Frame::release(frame);
    return halted_ ? abandon(node) : out;
  }
  node->frame = frame;
  if (second.defined()) {
    ++node->references;
    attach(node, second, 1);
  }
  return finish(node, std::move(out));
}

// CheckpointFunction.backward: its Python frame holds the incoming gradients, the detached input
// and the outputs of the second forward until the nested backward pass has returned. A second
// result that nobody used gets a gradient of zeros (materialize_grads), which goes all the way
// back.
void SymbolicEngine::formula_reentrant(SymbolicEngine& engine,
                                       Node& node,
                                       std::array<Tensor, kMaxOutputs>& incoming,
                                       Gradients& outgoing) {
  const Frame& frame = *node.frame;
  if (!incoming[1].defined() && node.outputs[1].sizes.rank() > 0)
    incoming[1] = engine.fresh("zeros", node.outputs[1].sizes, node.outputs[1].dtype);
  Tensor input = engine.detach(node.unpacked[0]);
  engine.set_requires_grad(input, true);
  std::array<Tensor, 2> outputs;
  const Module outer_module = engine.enter_module(frame.module);
  {
    const bool outer_grad = engine.set_grad_enabled(true);
    AutocastScope autocast_scope(engine, frame.autocast);
    outputs[0] = frame.function(input, outputs[1]);
    engine.set_grad_enabled(outer_grad);
  }
  engine.enter_module({});
  std::array<Tensor, 2> gradients{incoming[0], incoming[1]};
  const std::size_t count = outputs[1].requires_grad() ? 2 : 1;
  engine.run_backward(std::span(outputs).first(count), std::span(gradients).first(count));
  engine.enter_module(outer_module);
  outgoing[0] = record_of(input).grad;
}

}  // namespace peakline::symbolic
