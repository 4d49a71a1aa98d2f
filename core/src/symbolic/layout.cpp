// Views and the copies that a missing view costs. Sources: aten/src/ATen/native/TensorShape.cpp and
// tools/autograd/derivatives.yaml of torch 2.13.
#include <utility>

#include "symbolic/symbolic_engine.h"

namespace peakline::symbolic {

using Incoming = std::array<Tensor, kMaxOutputs>;

namespace {

void formula_view(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.do_reshape(incoming[0], node.input_sizes(0));
}

void formula_transpose(SymbolicEngine& engine,
                       Node& node,
                       Incoming& incoming,
                       Gradients& outgoing) {
  outgoing[0] = engine.do_transpose(
      incoming[0], static_cast<int>(node.number), static_cast<int>(node.number2));
}

void formula_unsqueeze(SymbolicEngine& engine,
                       Node& node,
                       Incoming& incoming,
                       Gradients& outgoing) {
  const SymbolicTensor& gradient = record_of(incoming[0]);
  Shape sizes;
  Shape strides;
  for (int i = 0; i < gradient.sizes.rank(); ++i) {
    if (i == static_cast<int>(node.number)) continue;
    sizes.push_back(gradient.sizes[i]);
    strides.push_back(gradient.strides[i]);
  }
  outgoing[0] = engine.alias(incoming[0], sizes, strides);
}

void formula_expand(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.sum_to(incoming[0], node.input_sizes(0));
}

void formula_slice(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.fresh("slice_backward", node.input_sizes(0), incoming[0].dtype());
}

void formula_select(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = engine.fresh("select_backward", node.input_sizes(0), incoming[0].dtype());
}

// index_backward. Under tensor subclasses torch 2.13 puts the gradient into a copy of the zeros;
// the timelines were recorded under one, and the step follows them.
void formula_index(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  Tensor zeros = engine.fresh("new_zeros", node.input_sizes(0), incoming[0].dtype());
  if (engine.device().is_cpu) {  // no subclass is in the way there
    outgoing[0] = std::move(zeros);
    return;
  }
  outgoing[0] = engine.fresh("index_put", node.input_sizes(0), incoming[0].dtype());
}

void formula_clone(SymbolicEngine&, Node&, Incoming& incoming, Gradients& outgoing) {
  outgoing[0] = incoming[0];
}

Tensor narrow(SymbolicEngine& engine, const Tensor& self, int dim, std::int64_t length) {
  Shape sizes = self.sizes();
  sizes[dim] = length;
  return engine.alias(self, sizes, record_of(self).strides);
}

// split_with_sizes_backward: the gradients side by side, zeros where a part has none.
void formula_split(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  std::array<Tensor, kMaxOutputs> zeros;
  DType dtype = DType::Float32;
  for (const Tensor& part : incoming) {
    if (part.defined()) dtype = part.dtype();
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(node.number); ++i) {
    if (!incoming[i].defined()) zeros[i] = engine.fresh("zeros", node.outputs[i].sizes, dtype);
  }
  outgoing[0] = engine.fresh("cat", node.input_sizes(0), dtype);
}

// stack_tensors_backward: each input's gradient is every second entry of the incoming one.
void formula_stack(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  const SymbolicTensor& gradient = record_of(incoming[0]);
  Shape sizes;
  Shape strides;
  for (int i = 0; i + 1 < gradient.sizes.rank(); ++i) {
    sizes.push_back(gradient.sizes[i]);
    strides.push_back(gradient.strides[i]);
  }
  for (int i = 0; i < node.num_inputs; ++i) {
    if (node.needs(i))
      outgoing[static_cast<std::size_t>(i)] = engine.alias(incoming[0], sizes, strides);
  }
}

// cat_tensors_backward: each input's gradient is a slice of the incoming one.
void formula_cat(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  const int dim = static_cast<int>(node.number);
  const std::int64_t first = node.number2;
  if (node.needs(0)) outgoing[0] = narrow(engine, incoming[0], dim, first);
  if (node.needs(1)) outgoing[1] = narrow(engine, incoming[0], dim, incoming[0].size(dim) - first);
}

}  // namespace

Tensor SymbolicEngine::do_view(const Tensor& self, const Shape& shape) {
  return do_reshape(self, shape);  // model code asks for views only where one exists
}

Tensor SymbolicEngine::do_reshape(const Tensor& self, const Shape& shape) {
  const SymbolicTensor& record = record_of(self);
  Shape strides;
  if (view_strides(record.sizes, record.strides, shape, strides)) {
    Node* node = start(formula_view, {&self});
    return finish(node, alias(self, shape, strides));
  }
  Tensor copy = do_contiguous(self);
  return unsafe_view(copy, shape);
}

Tensor SymbolicEngine::unsafe_view(const Tensor& self, const Shape& shape) {
  Node* node = start(formula_view, {&self});
  return finish(node, unsafe_alias(self, shape, contiguous_strides(shape)));
}

Tensor SymbolicEngine::do_contiguous(const Tensor& self) {
  const SymbolicTensor& record = record_of(self);
  if (is_contiguous(record.sizes, record.strides)) return self;
  Node* node = start(formula_clone, {&self});
  return finish(node, fresh("clone", record.sizes, record.dtype));
}

Tensor SymbolicEngine::do_transpose(const Tensor& self, int dim0, int dim1) {
  const SymbolicTensor& record = record_of(self);
  Node* node = start(formula_transpose, {&self});
  if (node != nullptr) {
    node->number = dim0;
    node->number2 = dim1;
  }
  Shape sizes = record.sizes;
  Shape strides = record.strides;
  std::swap(sizes[dim0], sizes[dim1]);
  std::swap(strides[dim0], strides[dim1]);
  return finish(node, alias(self, sizes, strides));
}

Tensor SymbolicEngine::do_unsqueeze(const Tensor& self, int dim) {
  const SymbolicTensor& record = record_of(self);
  const int at = dim < 0 ? dim + record.sizes.rank() + 1 : dim;
  Node* node = start(formula_unsqueeze, {&self});
  if (node != nullptr) node->number = at;
  Shape sizes;
  Shape strides;
  for (int i = 0; i <= record.sizes.rank(); ++i) {
    if (i == at) {
      sizes.push_back(1);
      strides.push_back(i < record.sizes.rank() ? record.sizes[i] * record.strides[i] : 1);
    }
    if (i < record.sizes.rank()) {
      sizes.push_back(record.sizes[i]);
      strides.push_back(record.strides[i]);
    }
  }
  return finish(node, alias(self, sizes, strides));
}

Tensor SymbolicEngine::do_expand(const Tensor& self, const Shape& shape) {
  const SymbolicTensor& record = record_of(self);
  Node* node = start(formula_expand, {&self});
  Shape strides = shape;
  const int missing = shape.rank() - record.sizes.rank();
  for (int i = 0; i < shape.rank(); ++i) {
    const bool spread = i < missing || record.sizes[i - missing] != shape[i];
    strides[i] = spread ? 0 : record.strides[i - missing];
  }
  return finish(node, alias(self, shape, strides));
}

Tensor SymbolicEngine::do_slice(
    const Tensor& self, int dim, std::int64_t start_at, std::int64_t end_at, std::int64_t step) {
  const SymbolicTensor& record = record_of(self);
  Node* node = start(formula_slice, {&self});
  Shape sizes = record.sizes;
  sizes[dim] = divide_up(end_at - start_at, step);
  Shape strides = record.strides;
  strides[dim] *= step;
  return finish(node, alias(self, sizes, strides));
}

Tensor SymbolicEngine::do_select(const Tensor& self, int dim, std::int64_t index) {
  static_cast<void>(index);
  const SymbolicTensor& record = record_of(self);
  const int at = dim < 0 ? dim + record.sizes.rank() : dim;
  Node* node = start(formula_select, {&self});
  Shape sizes;
  Shape strides;
  for (int i = 0; i < record.sizes.rank(); ++i) {
    if (i == at) continue;
    sizes.push_back(record.sizes[i]);
    strides.push_back(record.strides[i]);
  }
  return finish(node, alias(self, sizes, strides));
}

Tensor SymbolicEngine::do_index_one(const Tensor& self, int dim) {
  const int at = dim < 0 ? dim + self.sizes().rank() : dim;
  const Tensor index = fresh("_to_copy", Shape{1}, DType::Int64);
  Node* node = start(formula_index, {&self});
  if (!save(node, index)) return abandon(node);
  Shape sizes = self.sizes();
  sizes[at] = 1;
  return finish(node, fresh("index.Tensor", sizes, self.dtype()));
}

void SymbolicEngine::split(const Tensor& self,
                           std::span<const std::int64_t> sizes,
                           int dim,
                           std::span<Tensor> out) {
  if (halted_ || !self.defined()) return;
  Node* node = start(formula_split, {&self});
  if (node != nullptr) node->number = static_cast<std::int64_t>(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    out[i] = narrow(*this, self, dim, sizes[i]);
    if (node == nullptr) continue;
    if (i > 0) ++node->references;
    attach(node, out[i], static_cast<std::int32_t>(i));
  }
}

Tensor SymbolicEngine::do_stack_last(const Tensor& first, const Tensor& second) {
  Node* node = start(formula_stack, {&first, &second});
  Shape sizes = first.sizes();
  sizes.push_back(2);
  return finish(node, fresh("stack", sizes, promote(first.dtype(), second.dtype())));
}

Tensor SymbolicEngine::do_cat(const Tensor& first, const Tensor& second, int dim) {
  Node* node = start(formula_cat, {&first, &second});
  const int at = dim < 0 ? dim + second.sizes().rank() : dim;
  // An empty vector joins anything (legacy_cat_wrap_dim).
  const bool empty = first.sizes() == Shape{0};
  const std::int64_t before = empty ? 0 : first.size(at);
  if (node != nullptr) {
    node->number = at;
    node->number2 = before;
  }
  Shape sizes = second.sizes();
  sizes[at] += before;
  return finish(node, fresh("cat", sizes, promote(first.dtype(), second.dtype())));
}

}  // namespace peakline::symbolic
