// Pointwise operations and casts. Sources: tools/autograd/derivatives.yaml, FunctionsManual.cpp and
// aten/src/ATen/native of torch 2.13; "saves" is what the generated node keeps.
#include <utility>

#include "symbolic/symbolic_engine.h"

namespace peakline::symbolic {

using Incoming = std::array<Tensor, kMaxOutputs>;

// ---------------------------------------------------------------- kernels

Tensor SymbolicEngine::pointwise1(const char* op, const Tensor& a, DType dtype) {
  const SymbolicTensor& record = record_of(a);
  return fresh(op, record.sizes, packed_like(record.sizes, record.strides), dtype);
}

Tensor SymbolicEngine::pointwise2(const char* op, const Tensor& a, const Tensor& b) {
  const SymbolicTensor& first = record_of(a);
  const SymbolicTensor& second = record_of(b);
  const Shape sizes = broadcast(first.sizes, second.sizes);
  // A zero-dimensional operand does not widen a tensor of the same kind (c10::result_type).
  DType dtype = promote(first.dtype, second.dtype);
  const bool same_kind = is_floating_point(first.dtype) == is_floating_point(second.dtype);
  if (same_kind && first.sizes.rank() == 0 && second.sizes.rank() > 0) dtype = second.dtype;
  if (same_kind && second.sizes.rank() == 0 && first.sizes.rank() > 0) dtype = first.dtype;
  return fresh(op, sizes, output_strides(sizes, first, &second), dtype);
}

Tensor SymbolicEngine::sum_to(Tensor gradient, const Shape& shape) {
  const Shape& sizes = gradient.sizes();
  Shape kept = sizes;
  const int missing = sizes.rank() - shape.rank();
  bool reduces = false;
  for (int i = 0; i < sizes.rank(); ++i) {
    const bool drop = i < missing || (shape[i - missing] == 1 && sizes[i] != 1);
    if (drop) kept[i] = 1;
    reduces = reduces || drop;
  }
  if (!reduces) return gradient;
  Tensor sum = fresh("sum.dim_IntList", kept, gradient.dtype());
  gradient.reset();
  if (missing == 0) return sum;
  return alias(sum, shape, contiguous_strides(shape));
}

// ---------------------------------------------------------------- formulas

namespace {

void formula_add(SymbolicEngine&, Node& node, Incoming& incoming, Gradients& outgoing) {
  for (int i = 0; i < node.num_inputs; ++i) {
    if (node.needs(i)) outgoing[static_cast<std::size_t>(i)] = incoming[0];
  }
}

void formula_sub(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  if (node.needs(0)) outgoing[0] = incoming[0];
  if (node.needs(1)) outgoing[1] = engine.pointwise1("neg", incoming[0], incoming[0].dtype());
}

void formula_pass(SymbolicEngine&, Node&, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = incoming[0];
}

void formula_mul_scalar(SymbolicEngine& engine, Node&, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.pointwise1("mul.Tensor", incoming[0], incoming[0].dtype());
}

void formula_scaled(SymbolicEngine& engine, Node&, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.pointwise1("mul.Scalar", incoming[0], incoming[0].dtype());
}

void formula_div_scalar(SymbolicEngine& engine, Node&, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.pointwise1("div.Tensor", incoming[0], incoming[0].dtype());
}

// Saves `other` for self, `self` for other; computes other's gradient first.
void formula_mul(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  std::size_t slot = 0;
  Tensor other = node.needs(0) ? node.unpacked[slot++] : Tensor{};
  Tensor self = node.needs(1) ? node.unpacked[slot++] : Tensor{};
  if (node.needs(1)) outgoing[1] = engine.pointwise2("mul.Tensor", incoming[0], self);
  if (node.needs(0)) outgoing[0] = engine.pointwise2("mul.Tensor", incoming[0], other);
}

void formula_div(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.pointwise2("div.Tensor", incoming[0], node.unpacked[0]);
}

// where(condition, grad, 0)
void formula_where(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  static_cast<void>(node);
  Tensor zero = engine.fresh("scalar_tensor", Shape{}, incoming[0].dtype());
  outgoing[0] = engine.pointwise1("where.self", incoming[0], incoming[0].dtype());
}

// CopySlices: a copy of the whole gradient, and of the part in it, which becomes zeros there.
void formula_copy_part(SymbolicEngine& engine,
                       Node& node,
                       Incoming& incoming,
                       Gradients& outgoing) {
  const DType dtype = incoming[0].dtype();
  Tensor whole = engine.fresh("new_empty_strided", incoming[0].sizes(), dtype);
  outgoing[1] = engine.fresh("clone", node.input_sizes(1), dtype);
  if (!node.needs(0)) return;
  const Tensor zeros = engine.fresh("zeros_like", node.input_sizes(1), dtype);
  outgoing[0] = std::move(whole);
}

// clamp_backward: where((self >= min).logical_and_(self <= max), grad, 0)
void formula_clamp(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  const Shape& sizes = node.unpacked[0].sizes();
  const Tensor zero = engine.fresh("scalar_tensor", Shape{}, incoming[0].dtype());
  const Tensor above = engine.fresh("ge.Scalar", sizes, DType::Bool);
  const Tensor below = engine.fresh("le.Scalar", sizes, DType::Bool);
  outgoing[0] = engine.fresh("where.self", sizes, incoming[0].dtype());
}

void formula_neg(SymbolicEngine& engine, Node&, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.pointwise1("neg", incoming[0], incoming[0].dtype());
}

// grad * (exponent * self.pow(exponent - 1))
void formula_square(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  const Tensor& self = node.unpacked[0];
  Tensor power = engine.pointwise1("pow.Tensor_Scalar", self, self.dtype());
  Tensor scaled = engine.pointwise1("mul.Scalar", power, power.dtype());
  outgoing[0] = engine.pointwise2("mul.Tensor", incoming[0], scaled);
}

// -0.5 * grad * result.pow(3)
void formula_rsqrt(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  const Tensor& result = node.unpacked[0];
  Tensor power = engine.pointwise1("pow.Tensor_Scalar", result, result.dtype());
  Tensor half = engine.pointwise1("mul.Scalar", incoming[0], incoming[0].dtype());
  outgoing[0] = engine.pointwise2("mul.Tensor", half, power);
}

void formula_tanh(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.pointwise2("tanh_backward", incoming[0], node.unpacked[0]);
}

void formula_silu(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.pointwise2("silu_backward", incoming[0], node.unpacked[0]);
}

void formula_gelu(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.pointwise2("gelu_backward", incoming[0], node.unpacked[0]);
}

void formula_relu(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.pointwise2("threshold_backward", node.unpacked[0], incoming[0]);
}

void formula_dropout(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.pointwise1("native_dropout_backward", incoming[0], incoming[0].dtype());
  static_cast<void>(node);
}

void formula_to(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.to(incoming[0], node.dtype);
}

void formula_sum(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  Shape zero = node.input_sizes(0);
  for (int i = 0; i < zero.rank(); ++i) zero[i] = 0;
  outgoing[0] = engine.alias(incoming[0], node.input_sizes(0), zero);
}

// grad.expand(sizes) / n
void formula_mean(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.fresh("div.Scalar", node.input_sizes(0), incoming[0].dtype());
}

}  // namespace

// ---------------------------------------------------------------- operations

Tensor SymbolicEngine::unary(
    const char* op, const Tensor& self, Formula formula, bool save_self, bool save_result) {
  Node* node = start(formula, {&self});
  if (save_self && !save(node, self)) return abandon(node);
  Tensor out = pointwise1(op, self, self.dtype());
  if (save_result && !save_output(node, out)) return abandon(node);
  return finish(node, std::move(out));
}

Tensor SymbolicEngine::do_add(const Tensor& self, const Tensor& other) {
  Node* node = start(formula_add, {&self, &other});
  return finish(node, pointwise2("add.Tensor", self, other));
}

Tensor SymbolicEngine::do_sub(const Tensor& self, const Tensor& other) {
  Node* node = start(formula_sub, {&self, &other});
  return finish(node, pointwise2("sub.Tensor", self, other));
}

Tensor SymbolicEngine::do_mul(const Tensor& self, const Tensor& other) {
  Node* node = start(formula_mul, {&self, &other});
  if (node != nullptr && node->needs(0) && !save(node, other)) return abandon(node);
  if (node != nullptr && node->needs(1) && !save(node, self)) return abandon(node);
  return finish(node, pointwise2("mul.Tensor", self, other));
}

Tensor SymbolicEngine::do_div(const Tensor& self, const Tensor& other) {
  Node* node = start(formula_div, {&self});  // the divisor is a count, never a parameter
  if (!save(node, other)) return abandon(node);
  return finish(node, pointwise2("div.Tensor", self, other));
}

Tensor SymbolicEngine::do_add_scalar(const Tensor& self) {
  return unary("add.Tensor", self, formula_pass, false, false);
}
Tensor SymbolicEngine::do_sub_scalar(const Tensor& self) {
  return unary("sub.Tensor", self, formula_pass, false, false);
}
Tensor SymbolicEngine::do_mul_scalar(const Tensor& self) {
  return unary("mul.Tensor", self, formula_mul_scalar, false, false);
}
Tensor SymbolicEngine::unary_scaled(const Tensor& self) {
  return unary("mul.Scalar", self, formula_scaled, false, false);
}
Tensor SymbolicEngine::do_div_scalar(const Tensor& self) {
  return unary("div.Tensor", self, formula_div_scalar, false, false);
}
// The result of an operation in place: the same storage with another history.
Tensor SymbolicEngine::overwritten(Node* node, const Tensor& self) {
  return finish(node, unsafe_alias(self, self.sizes(), record_of(self).strides));
}
Tensor SymbolicEngine::do_iadd(const Tensor& self, const Tensor& other) {
  return overwritten(start(formula_add, {&self, &other}), self);
}
Tensor SymbolicEngine::do_icopy_part(const Tensor& self, const Tensor& source) {
  return overwritten(start(formula_copy_part, {&self, &source}), self);
}
// Autograd needs what is overwritten, and keeps a clone.
Tensor SymbolicEngine::do_iclamp(const Tensor& self) {
  Node* node = start(formula_clamp, {&self});
  if (node != nullptr) {
    const NoGrad no_grad(*this);
    const Tensor before = do_clone(self);
    if (!save(node, before)) return abandon(node);
  }
  return overwritten(node, self);
}
Tensor SymbolicEngine::do_imul_scalar(const Tensor& self) {
  return overwritten(start(formula_mul_scalar, {&self}), self);
}
Tensor SymbolicEngine::do_idiv_scalar(const Tensor& self) {
  return overwritten(start(formula_div_scalar, {&self}), self);
}

Tensor SymbolicEngine::do_where(const Tensor& condition, const Tensor& self) {
  Tensor number = fresh("_to_copy", Shape{}, self.dtype());
  Node* node = start(formula_where, {&self});
  if (!save(node, condition)) return abandon(node);
  return finish(node, pointwise1("where.self", self, self.dtype()));
}

Tensor SymbolicEngine::do_neg(const Tensor& self) {
  return unary("neg", self, formula_neg, false, false);
}
// pow is on autocast's float32 list.
Tensor SymbolicEngine::do_square(const Tensor& self_) {
  const Tensor self = autocast_wide(self_);
  return unary("pow.Tensor_Scalar", self, formula_square, true, false);
}
Tensor SymbolicEngine::do_rsqrt(const Tensor& self) {
  return unary("rsqrt", self, formula_rsqrt, false, true);
}
Tensor SymbolicEngine::do_tanh(const Tensor& self) {
  return unary("tanh", self, formula_tanh, false, true);
}
Tensor SymbolicEngine::do_silu(const Tensor& self) {
  return unary("silu", self, formula_silu, true, false);
}
Tensor SymbolicEngine::do_gelu(const Tensor& self) {
  return unary("gelu", self, formula_gelu, true, false);
}
Tensor SymbolicEngine::do_relu(const Tensor& self) {
  return unary("relu", self, formula_relu, false, true);
}

Tensor SymbolicEngine::do_pointwise(const char* op, const Tensor& self, DType result) {
  return pointwise1(op, self, result);
}

void SymbolicEngine::do_add_in_place(const Tensor&, const Tensor&) {}

// Saves the mask (one byte per element).
Tensor SymbolicEngine::do_dropout(const Tensor& self) {
  Node* node = start(formula_dropout, {&self});
  const char* op = "native_dropout";
  Tensor out;
  if (!device_.is_cpu) out = pointwise1(op, self, self.dtype());
  Tensor mask = pointwise1(op, self, DType::Bool);
  if (device_.is_cpu) out = pointwise1(op, self, self.dtype());  // made from its mask
  if (!save_output(node, mask)) return abandon(node);
  return finish(node, std::move(out));
}

Tensor SymbolicEngine::do_to(const Tensor& self, DType dtype) {
  Node* node = start(formula_to, {&self});
  if (node != nullptr) node->dtype = self.dtype();
  return finish(node, pointwise1("_to_copy", self, dtype));
}

Tensor SymbolicEngine::do_clone(const Tensor& self) {
  return unary("clone", self, formula_pass, false, false);
}

Tensor SymbolicEngine::do_mean_last(const Tensor& self) {
  Node* node = start(formula_mean, {&self});
  Shape sizes = self.sizes();
  sizes[-1] = 1;
  return finish(node, fresh("mean.dim", sizes, self.dtype()));
}

Tensor SymbolicEngine::do_sum(const Tensor& self) {
  Node* node = start(formula_sum, {&self});
  return finish(
      node, fresh("sum", Shape{}, is_floating_point(self.dtype()) ? self.dtype() : DType::Int64));
}

// Under autocast it sums in float32 whatever it reads (fp32_set_opt_dtype); the step asks for no
// gradient of it.
Tensor SymbolicEngine::do_norm_last(const Tensor& self) {
  Shape sizes;
  for (int i = 0; i + 1 < self.sizes().rank(); ++i) sizes.push_back(self.sizes()[i]);
  return fresh("linalg_vector_norm", sizes, autocast_ ? DType::Float32 : self.dtype());
}

// at::autocast::cached_cast. Rule R060: only casts of float32 leaves that require grad are kept for
// the scope's life.
Tensor SymbolicEngine::autocast_input(const Tensor& input) {
  if (!autocast_ || !input.defined() || !is_floating_point(input.dtype()) ||
      input.dtype() == *autocast_) {
    return input;
  }
  const SymbolicTensor& record = record_of(input);
  const bool cached = record.dtype == DType::Float32 && record.requires_grad &&
                      record.grad_fn == nullptr && !record.base.defined();
  if (!cached) return to(input, *autocast_);
  if (record.autocast_copy.defined()) return record.autocast_copy;
  Tensor cast = to(input, *autocast_);
  record_of(input).autocast_copy = cast;
  autocast_cache_.push_back(input);
  return cast;
}

Tensor SymbolicEngine::autocast_wide(const Tensor& input) {
  if (!autocast_ || !input.defined() || !is_floating_point(input.dtype())) return input;
  if (device_.is_cpu) return input;  // its list has no operation of the step
  return to(input, DType::Float32);
}

}  // namespace peakline::symbolic
