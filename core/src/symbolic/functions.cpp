// Autograd functions that transformers' models write in Python: the forward runs without recording,
// and what is saved is saved after it. Source: models/bloom/modeling_bloom.py (5.24).
#include "symbolic/functions.h"

#include <utility>

#include "symbolic/symbolic_engine.h"

namespace peakline::symbolic {

using Incoming = std::array<Tensor, kMaxOutputs>;

namespace {

// torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x))
Tensor bent(Engine& e, const Tensor& x) {
  Tensor scaled = e.mul_scalar(x);
  Tensor small = e.mul_scalar(x);
  Tensor square = e.mul(std::move(small), x);
  Tensor factor = e.add_scalar(std::move(square));
  Tensor argument = e.mul(std::move(scaled), std::move(factor));
  return e.tanh(std::move(argument));
}

}  // namespace

// GeLUFunction.forward: x * 0.5 * (1.0 + bent)
Tensor written_out_gelu(Engine& e, const Tensor& x) {
  Tensor half = e.mul_scalar(x);
  Tensor tanh = bent(e, x);
  Tensor factor = e.add_scalar(std::move(tanh));
  return e.mul(std::move(half), std::move(factor));
}

// GeLUFunction.backward: (0.5 * x * ((1 - bent * bent) * (0.79788456 + 0.1070322243 * x * x)) + 0.5
// * (1 + bent)) * gradient. The recorder of the timelines takes the sum for one of autograd's own,
// which are in place, and the step follows it: a GPU holds one tensor more for that moment, no more
// than before.
Tensor written_out_gelu_backward(Engine& e, const Tensor& x, const Tensor& gradient) {
  const Tensor tanh = bent(e, x);
  Tensor half = e.mul_scalar(x);
  Tensor square = e.mul(tanh, tanh);
  Tensor rest = e.pointwise("rsub.Scalar", std::move(square), x.dtype());
  Tensor small = e.mul_scalar(x);
  Tensor cubic = e.mul(std::move(small), x);
  Tensor slope = e.add_scalar(std::move(cubic));
  Tensor inner = e.mul(std::move(rest), std::move(slope));
  const Tensor factor = e.mul(std::move(half), std::move(inner));
  {
    Tensor shifted = e.add_scalar(tanh);
    const Tensor right = e.mul_scalar(std::move(shifted));
    e.add_in_place(factor, right);
  }
  return e.mul(factor, gradient);
}

namespace {

void formula_gelu(SymbolicEngine& e, Node& node, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = written_out_gelu_backward(e, node.unpacked[0], incoming[0]);
}

}  // namespace

Tensor SymbolicEngine::do_gelu_recomputed(const Tensor& self) {
  Node* node = start(formula_gelu, {&self});
  Tensor out;
  {
    NoGrad no_grad(*this);
    out = written_out_gelu(*this, self);
  }
  if (!save(node, self)) return abandon(node);
  return finish(node, std::move(out));
}

}  // namespace peakline::symbolic
