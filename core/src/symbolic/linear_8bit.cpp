// The product with an int8 weight. Sources: bitsandbytes 0.50 autograd/_functions.py
// (MatMul8bitLt), backends/cuda/ops.py and backends/default/ops.py. Taken to have no outlier
// columns, whose number depends on the data.
#include <utility>

#include "symbolic/symbolic_engine.h"

namespace peakline::symbolic {

using Incoming = std::array<Tensor, kMaxOutputs>;

namespace {

// The weight is read back whole, in the input's type.
void formula_8bit(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  const Tensor& gradient = incoming[0];
  if (node.needs(1)) outgoing[1] = engine.sum_first(gradient);
  if (!node.needs(0)) return;
  const Shape& input = node.input_sizes(0);
  Tensor flat = engine.do_reshape(gradient, Shape{input.numel().count() / input[-1], node.number});
  flat = engine.do_contiguous(flat);
  const Tensor weight = engine.fresh("_to_copy", Shape{node.number, input[-1]}, node.dtype);
  { const Tensor scales = engine.fresh("mul.Tensor", Shape{node.number, 1}, DType::Float32); }
  const Tensor product = engine.mm(flat, weight);
  outgoing[0] = engine.do_reshape(product, input);
}

}  // namespace

// Rule R026: the input is an attribute of the function, so that it stays until the loss goes, and
// no hook of a checkpoint sees it; a reentrant one runs without gradients and makes no function.
Tensor SymbolicEngine::do_linear_8bit(const Tensor& input,
                                      const Packed8bit& weight,
                                      const Tensor& bias) {
  Node* node = start(formula_8bit, {&input, &bias});
  const Shape sizes = input.sizes();
  const Shape rows{sizes.numel().count() / sizes[-1], sizes[-1]};
  const Shape product{rows[0], weight.values.size(0)};
  const NoGrad no_grad(*this);
  const Tensor flat = sizes.rank() == 2 ? input : do_reshape(input, rows);
  if (node != nullptr) {
    node->number = product[1];
    node->dtype = input.dtype();
    node->held = flat;
  }
  Tensor statistics;
  Tensor quantised;
  {
    const Tensor half = to(flat, DType::Float16);
    statistics = fresh("empty.memory_format", Shape{rows[0]}, DType::Float32);
    quantised = fresh("empty.memory_format", rows, DType::Int8);
    Tensor magnitudes = fresh("abs", rows, DType::Float16);
    const Tensor outliers = fresh("ge.Scalar", rows, DType::Bool);
    magnitudes.reset();
  }
  Tensor out;
  {
    const Tensor sums = fresh("empty.memory_format", product, DType::Int32);
    Tensor half = fresh("empty_like", product, DType::Float16);
    out = to(std::move(half), input.dtype());
  }
  Shape result = sizes;
  result[-1] = product[1];
  return finish(node, sizes.rank() == 2 ? std::move(out) : do_reshape(out, result));
}

}  // namespace peakline::symbolic
