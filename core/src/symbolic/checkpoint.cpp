// torch.utils.checkpoint, both kinds. Source: torch/utils/checkpoint.py (torch 2.13).
#include <utility>

#include "symbolic/symbolic_engine.h"

namespace peakline::symbolic {

// Saved tensors come back through the hooks they were packed with: the first one to be asked for runs the
// checkpointed function again, up to the last tensor it saves (early_stop).
void SymbolicEngine::unpack(Node& node) {
  for (int i = 0; i < node.num_saved; ++i) {
    SavedTensor& saved = node.saved[static_cast<std::size_t>(i)];
    Tensor& unpacked = node.unpacked[static_cast<std::size_t>(i)];
    if (saved.frame == nullptr) {
      unpacked = saved.tensor;
      continue;
    }
    if (!saved.frame->recomputed) recompute(*saved.frame);
    unpacked = std::move(saved.frame->again[static_cast<std::size_t>(saved.index)]);
  }
}

void SymbolicEngine::recompute(Frame& frame) {
  frame.recomputed = true;
  frame.recomputing = true;
  frame.again.resize(static_cast<std::size_t>(frame.num_saved));
  // The shared pointer's owner is the node being unpacked, so the frame outlives this call.
  std::shared_ptr<Frame> outer_frame = std::exchange(frame_, std::shared_ptr<Frame>(std::shared_ptr<void>{}, &frame));
  const bool outer_grad = set_grad_enabled(true);
  const Module outer_module = enter_module(frame.module);
  {
    Tensor input = frame.input;
    AutocastScope autocast_scope(*this, frame.autocast);
    Tensor unused = frame.function(input);
  }
  halted_ = false;
  enter_module(outer_module);
  set_grad_enabled(outer_grad);
  frame_ = std::move(outer_frame);
  frame.recomputing = false;
}

Tensor SymbolicEngine::checkpoint(Function function, const Tensor& input, bool use_reentrant) {
  if (halted_ || !input.defined()) return {};
  auto frame = std::make_shared<Frame>();
  frame->function = std::move(function);
  frame->input = input;
  frame->autocast = autocast_;
  frame->module = module_;
  if (!use_reentrant) {
    std::shared_ptr<Frame> outer = std::exchange(frame_, frame);
    Tensor out = frame->function(input);
    frame_ = std::move(outer);
    return out;
  }
  Node* node = start(&SymbolicEngine::formula_reentrant, {&input});
  if (!save(node, input)) return abandon(node);
  Tensor out;
  {
    NoGrad no_grad(*this);
    out = frame->function(input);
  }
  frame->input.reset();
  if (node != nullptr) node->frame = std::move(frame);
  return finish(node, std::move(out));
}

// CheckpointFunction.backward: its Python frame holds the incoming gradient, the detached input and the
// outputs of the second forward until the nested backward pass has returned.
void SymbolicEngine::formula_reentrant(SymbolicEngine& engine, Node& node,
                                       std::array<Tensor, kMaxOutputs>& incoming, Gradients& outgoing) {
  const Frame& frame = *node.frame;
  Tensor input = engine.detach(node.unpacked[0]);
  engine.set_requires_grad(input, true);
  Tensor output;
  const Module outer_module = engine.enter_module(frame.module);
  {
    const bool outer_grad = engine.set_grad_enabled(true);
    AutocastScope autocast_scope(engine, frame.autocast);
    output = frame.function(input);
    engine.set_grad_enabled(outer_grad);
  }
  engine.enter_module({});
  engine.run_backward(record_of(output).grad_fn, incoming[0]);
  engine.enter_module(outer_module);
  outgoing[0] = record_of(input).grad;
}

}  // namespace peakline::symbolic
