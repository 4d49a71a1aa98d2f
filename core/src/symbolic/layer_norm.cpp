// The fused layer norm. Sources: aten/src/ATen/native/layer_norm.cpp, cuda/layer_norm_kernel.cu,
// autocast_mode.h and derivatives.yaml of torch 2.13.
#include "symbolic/symbolic_engine.h"

namespace peakline::symbolic {

using Incoming = std::array<Tensor, kMaxOutputs>;

namespace {

// Saved: the input, the weight and bias there are, mean and inverse deviation.
void formula_layer_norm(SymbolicEngine& engine, Node& node, Incoming&, Gradients& outgoing) {
  const char* op = "native_layer_norm_backward";
  for (int i = 0; i < node.num_inputs; ++i) {
    if (!node.needs(i)) continue;
    const Shape& sizes = node.input_sizes(i);
    const Edge& edge = node.edges[static_cast<std::size_t>(i)];
    const auto number = static_cast<std::size_t>(edge.input_number);
    outgoing[static_cast<std::size_t>(i)] =
        engine.fresh(op, sizes, edge.node->outputs[number].dtype);
  }
}

}  // namespace

// Rule R061: autocast computes it in float32: the input's cast is kept, and the result is float32.
Tensor SymbolicEngine::do_layer_norm(const Tensor& input_,
                                     const Tensor& weight_,
                                     const Tensor& bias_) {
  const char* op = "native_layer_norm";
  // Autocast casts a call's arguments from right to left.
  const Tensor bias = autocast_wide(bias_);
  const Tensor weight = autocast_wide(weight_);
  const Tensor input = autocast_wide(input_);
  Node* node = start(formula_layer_norm, {&input, &weight, &bias});
  for (const Tensor* saved : {&bias, &input, &weight}) {
    if (saved->defined() && !save(node, *saved)) return abandon(node);
  }
  Shape statistics = input.sizes();
  statistics[-1] = 1;
  Tensor out = fresh(op, input.sizes(), input.dtype());
  // Statistics are float32; the CPU's kernel takes the input's type unless the weight has a wider
  // one (mixed_data_type.h).
  const bool narrow = device_.is_cpu && !(weight.defined() && weight.dtype() != input.dtype());
  const DType precise = narrow ? input.dtype() : DType::Float32;
  const Tensor mean = fresh(op, statistics, precise);
  const Tensor deviation = fresh(op, statistics, precise);
  if (!save_output(node, mean) || !save_output(node, deviation)) return abandon(node);
  return finish(node, std::move(out));
}

}  // namespace peakline::symbolic
