// Liger's fused kernels: what their Python code allocates, saves and overwrites. A Python autograd
// function runs its forward without recording and saves its inputs after that. Source:
// liger_kernel/ops/{rms_norm, swiglu, rope, fused_linear_cross_entropy}.py (0.8.5).
#include <algorithm>
#include <utility>

#include "symbolic/symbolic_engine.h"

namespace peakline::symbolic {

using Incoming = std::array<Tensor, kMaxOutputs>;

namespace {

Shape rows_of(const Shape& sizes) {
  return Shape{sizes.numel().count() / sizes[-1], sizes[-1]};
}

std::int64_t next_power_of_two(std::int64_t n) {
  std::int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

// The input's gradient overwrites the incoming one, where that is allowed; the weight's is summed
// from one float32 row per SM.
void formula_rms_norm(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  Tensor gradient = engine.contiguous(incoming[0]);
  const Shape sizes = gradient.sizes();
  Tensor partial;
  if (node.needs(1))
    partial = engine.fresh(
        "empty.memory_format", Shape{engine.device().sm_count, sizes[-1]}, DType::Float32);
  const bool in_place = node.number != 0;
  Tensor written =
      in_place ? gradient : engine.fresh("zeros_like", rows_of(sizes), gradient.dtype());
  outgoing[0] = engine.alias(written, sizes, contiguous_strides(sizes));
  if (node.needs(1)) {
    Tensor sum = engine.fresh("sum.dim_IntList", Shape{sizes[-1]}, DType::Float32);
    outgoing[1] = engine.to(std::move(sum), node.dtype);
  }
}

// Gate and up are overwritten with their gradients.
void formula_silu_mul(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  Tensor gradient = engine.contiguous(incoming[0]);
  const Shape& sizes = node.input_sizes(node.needs(0) ? 0 : 1);
  for (std::size_t i = 0; i < 2; ++i) {
    outgoing[i] = engine.alias(node.unpacked[i], sizes, contiguous_strides(sizes));
  }
}

void formula_rope(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (!incoming[i].defined()) continue;
    Tensor turned = engine.do_transpose(incoming[i], 1, 2);
    Tensor packed = engine.contiguous(std::move(turned));
    outgoing[i] = engine.do_transpose(packed, 1, 2);
  }
  static_cast<void>(node);
}

// The gradient stands where the logits were, and is scaled in place.
void formula_cross_entropy(SymbolicEngine& engine, Node& node, Incoming&, Gradients& outgoing) {
  const SymbolicTensor& logits = record_of(node.unpacked[0]);
  outgoing[0] = engine.alias(node.unpacked[0], logits.sizes, logits.strides);
}

// The gradients were computed in forward and are scaled in place.
void formula_fused_loss(SymbolicEngine&, Node& node, Incoming&, Gradients& outgoing) {
  std::size_t slot = 0;
  if (node.needs(0)) outgoing[0] = node.unpacked[slot++];
  if (node.needs(1)) outgoing[1] = node.unpacked[slot];
}

}  // namespace

Tensor SymbolicEngine::do_liger_rms_norm(const Tensor& input, const Tensor& weight, bool in_place) {
  Node* node = start(formula_rms_norm, {&input, &weight});
  if (node != nullptr) {
    node->dtype = weight.dtype();
    node->number = in_place ? 1 : 0;
  }
  const NoGrad no_grad(*this);
  Tensor dense = do_contiguous(input);
  const Shape rows = rows_of(input.sizes());
  Tensor flat = alias(dense, rows, contiguous_strides(rows));
  dense.reset();
  Tensor out = fresh("empty.memory_format", rows, input.dtype());
  Tensor deviation = fresh("empty.memory_format", Shape{rows[0]}, DType::Float32);
  if (!save(node, flat) || !save(node, weight) || !save(node, deviation)) return abandon(node);
  return finish(node, alias(out, input.sizes(), contiguous_strides(input.sizes())));
}

Tensor SymbolicEngine::do_liger_silu_mul(const Tensor& gate, const Tensor& up) {
  Node* node = start(formula_silu_mul, {&gate, &up});
  const NoGrad no_grad(*this);
  const Shape rows = rows_of(gate.sizes());
  Tensor flat_gate = alias(do_contiguous(gate), rows, contiguous_strides(rows));
  Tensor flat_up = alias(do_contiguous(up), rows, contiguous_strides(rows));
  Tensor out = fresh("empty_like", rows, gate.dtype());
  if (!save(node, flat_gate) || !save(node, flat_up)) return abandon(node);
  return finish(node, alias(out, gate.sizes(), contiguous_strides(gate.sizes())));
}

// Works on the physical layout [B, S, heads, D] in place, so nothing is allocated where the
// projections' outputs are dense.
void SymbolicEngine::liger_rope(Tensor& query, Tensor& key, const Tensor& cos, const Tensor& sin) {
  if (halted_ || !query.defined() || !key.defined()) return;
  Node* node = start(formula_rope, {&query, &key});
  std::array<Tensor, 2> turned;
  const Tensor* inputs[] = {&query, &key};
  for (std::size_t i = 0; i < 2; ++i) {
    NoGrad no_grad(*this);
    Tensor physical = do_transpose(*inputs[i], 1, 2);
    Tensor packed = contiguous(std::move(physical));
    turned[i] = do_transpose(packed, 1, 2);
  }
  if (!save(node, cos) || !save(node, sin)) {
    abandon(node);
    query.reset();
    key.reset();
    return;
  }
  if (node != nullptr) {
    ++node->references;
    attach(node, turned[0], 0);
    attach(node, turned[1], 1);
  }
  query = std::move(turned[0]);
  key = std::move(turned[1]);
}

Tensor SymbolicEngine::do_liger_cross_entropy(const Tensor& logits, const Tensor& target) {
  Node* node = start(formula_cross_entropy, {&logits});
  Tensor loss;
  {
    NoGrad no_grad(*this);
    Tensor losses = fresh("zeros", target.sizes(), logits.dtype());
    Tensor counted = fresh("ne.Scalar", target.sizes(), DType::Bool);
    { Tensor count = fresh("sum", Shape{}, DType::Int64); }
    for (const char* extreme : {"max", "min"}) {
      Tensor kept = fresh("mul.Tensor", target.sizes(), DType::Int64);
      Tensor most = fresh(extreme, Shape{}, DType::Int64);
    }
    loss = fresh("sum", Shape{}, logits.dtype());
  }
  if (!save_output(node, logits)) return abandon(node);
  return finish(node, std::move(loss));
}

// Logits exist for one chunk of tokens at a time; gradients of hidden states and weight are made in
// forward.
Tensor SymbolicEngine::do_liger_fused_linear_cross_entropy(const Tensor& hidden,
                                                           const Tensor& weight,
                                                           const Tensor& target) {
  Node* node = start(formula_fused_loss, {&hidden, &weight});
  const bool weight_gradient = weight.requires_grad();
  const std::int64_t tokens = hidden.size(0);
  const std::int64_t width = hidden.size(1);
  const std::int64_t vocabulary = weight.size(0);
  const std::int64_t parts = divide_up(vocabulary, width);
  const std::int64_t chunk = std::min(next_power_of_two(divide_up(tokens, parts)), tokens);
  Tensor hidden_gradient;
  Tensor gradient;
  Tensor loss;
  {
    NoGrad no_grad(*this);
    hidden_gradient = fresh("zeros_like", hidden.sizes(), hidden.dtype());
    if (hidden.requires_grad() && weight_gradient)
      gradient = fresh("zeros_like", weight.sizes(), weight.dtype());
    Tensor losses = fresh("zeros", Shape{tokens}, DType::Float32);
    Tensor counted = fresh("ne.Scalar", target.sizes(), DType::Bool);
    { Tensor count = fresh("sum", Shape{}, DType::Int64); }
    fused_loss_chunks(hidden, weight, chunk, gradient.defined());
    loss = fresh("sum", Shape{}, DType::Float32);
  }
  if (node != nullptr && node->needs(0) && !save(node, hidden_gradient)) return abandon(node);
  if (gradient.defined() && !save(node, gradient)) return abandon(node);
  return finish(node, std::move(loss));
}

void SymbolicEngine::fused_loss_chunks(const Tensor& hidden,
                                       const Tensor& weight,
                                       std::int64_t chunk,
                                       bool weight_gradient) {
  const std::int64_t tokens = hidden.size(0);
  const std::int64_t vocabulary = weight.size(0);
  // mm(out=) bypasses autocast: used only where the operands already have the type it would choose.
  // Then one buffer of logits serves every chunk.
  const DType compute = autocast_.value_or(hidden.dtype());
  const bool one_dtype = hidden.dtype() == weight.dtype() && hidden.dtype() == compute;
  Tensor storage;
  if (one_dtype) storage = fresh("empty.memory_format", Shape{chunk, vocabulary}, hidden.dtype());
  // Half operands are summed in place since torch 2.8 on compute capability 8.0 and later; others
  // pass through a whole matrix, made float32.
  const bool in_place = device_.compute_capability >= 80 && is_half(compute);
  for (std::int64_t begin = 0; begin < tokens; begin += chunk) {
    const std::int64_t rows = std::min(chunk, tokens - begin);
    const Shape part{rows, hidden.size(1)};
    Tensor logits;
    if (!one_dtype) {
      // The transposed weight is a view, which autocast casts anew every time.
      Tensor turned = do_transpose(weight, 0, 1);
      Tensor turned_cast = autocast_input(turned);
      Tensor input_cast = hidden.dtype() == compute ? hidden : fresh("_to_copy", part, compute);
      logits = fresh("mm", Shape{rows, vocabulary}, compute);
    }
    if (!one_dtype) {
      Tensor weight_cast = autocast_input(weight);
      Tensor product = fresh("mm", part, compute);
    }
    if (weight_gradient) {
      Tensor input_cast = hidden.dtype() == compute ? hidden : fresh("_to_copy", part, compute);
      if (!in_place) {
        Tensor transient = fresh("mm", weight.sizes(), compute);
        Tensor widened = to(transient, DType::Float32);
      }
    }
  }
}

}  // namespace peakline::symbolic
