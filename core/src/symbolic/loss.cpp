// Cross-entropy. Sources: aten/src/ATen/native/LossNLL.cpp, SoftMax.cpp and derivatives.yaml of
// torch 2.13.
#include <utility>

#include "symbolic/symbolic_engine.h"

namespace peakline::symbolic {

using Incoming = std::array<Tensor, kMaxOutputs>;

namespace {

// Saves its result; the gradient has the input's dtype.
void formula_log_softmax(SymbolicEngine& engine, Node& node, Incoming&, Gradients& outgoing) {
  outgoing[0] = engine.fresh("_log_softmax_backward_data", node.unpacked[0].sizes(), node.dtype);
}

// Saves its input (the log-probabilities), the target and the total weight.
void formula_nll_loss(SymbolicEngine& engine, Node& node, Incoming&, Gradients& outgoing) {
  const Tensor& self = node.unpacked[0];
  outgoing[0] = engine.fresh("nll_loss_backward", self.sizes(), self.dtype());
}

}  // namespace

Tensor SymbolicEngine::do_cross_entropy(const Tensor& logits, const Tensor& target) {
  // Both are on autocast's float32 list; the step has cast the logits already.
  Node* softmax_node = start(formula_log_softmax, {&logits});
  if (softmax_node != nullptr) softmax_node->dtype = logits.dtype();
  Tensor log_probabilities = fresh("_log_softmax", logits.sizes(), DType::Float32);
  if (!save_output(softmax_node, log_probabilities)) return abandon(softmax_node);
  log_probabilities = finish(softmax_node, std::move(log_probabilities));

  Node* node = start(formula_nll_loss, {&log_probabilities});
  if (!save(node, log_probabilities) || !save(node, target)) return abandon(node);
  Tensor out = fresh("nll_loss_forward", Shape{}, DType::Float32);
  Tensor total_weight = fresh("nll_loss_forward", Shape{}, DType::Float32);
  if (!save_output(node, total_weight)) return abandon(node);
  return finish(node, std::move(out));
}

}  // namespace peakline::symbolic
