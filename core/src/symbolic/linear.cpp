// Matrix products and embeddings. Sources: aten/src/ATen/native/Linear.cpp, LinearAlgebra.cpp,
// FunctionsManual.cpp of torch 2.13; bitsandbytes 0.50 autograd/_functions.py and
// backends/cuda/ops.py.
#include <utility>

#include "symbolic/gemm_4bit.h"
#include "symbolic/symbolic_engine.h"

namespace peakline::symbolic {

using Incoming = std::array<Tensor, kMaxOutputs>;

Tensor SymbolicEngine::mm(const Tensor& a, const Tensor& b) {
  return fresh("mm", Shape{a.size(0), b.size(1)}, a.dtype());
}

Tensor SymbolicEngine::sum_first(const Tensor& gradient) {
  Shape rest;
  for (int i = 1; i < gradient.sizes().rank(); ++i) rest.push_back(gradient.sizes()[i]);
  return fresh("sum.dim_IntList", rest, gradient.dtype());
}

namespace {

// mm_mat2_backward: for a column-major weight (w.t()) the product is taken transposed, so that the
// gradient has the weight's own layout.
Tensor weight_gradient(SymbolicEngine& engine,
                       const Tensor& gradient,
                       const Tensor& input,
                       bool column_major) {
  if (!column_major)
    return engine.fresh("mm", Shape{input.size(1), gradient.size(1)}, input.dtype());
  Tensor product = engine.fresh("mm", Shape{gradient.size(1), input.size(1)}, input.dtype());
  return engine.do_transpose(product, 0, 1);
}

// Saves mat2 for self, self for mat2; computes mat2's gradient first.
void formula_mm(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  std::size_t slot = 0;
  Tensor mat2 = node.needs(0) ? node.unpacked[slot++] : Tensor{};
  Tensor self = node.needs(1) ? node.unpacked[slot++] : Tensor{};
  if (node.needs(1)) outgoing[1] = weight_gradient(engine, incoming[0], self, node.number != 0);
  if (node.needs(0)) {
    outgoing[0] = engine.fresh("mm", Shape{incoming[0].size(0), mat2.size(0)}, incoming[0].dtype());
  }
}

// Inputs bias, mat1, mat2; computes mat1's gradient, mat2's, then the bias's (the incoming one
// itself).
void formula_addmm(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  std::size_t slot = 0;
  Tensor mat2 = node.needs(1) ? node.unpacked[slot++] : Tensor{};
  Tensor mat1 = node.needs(2) ? node.unpacked[slot++] : Tensor{};
  if (node.needs(1)) {
    outgoing[1] = engine.fresh("mm", Shape{incoming[0].size(0), mat2.size(0)}, incoming[0].dtype());
  }
  if (node.needs(2)) outgoing[2] = weight_gradient(engine, incoming[0], mat1, node.number != 0);
  if (node.needs(0)) outgoing[0] = incoming[0];
}

bool is_column_major(const Tensor& matrix) {
  const SymbolicTensor& record = record_of(matrix);
  return record.strides[0] == 1 && record.strides[1] == record.sizes[0];
}

void formula_bmm(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  std::size_t slot = 0;
  Tensor mat2 = node.needs(0) ? node.unpacked[slot++] : Tensor{};
  Tensor self = node.needs(1) ? node.unpacked[slot++] : Tensor{};
  const Tensor& gradient = incoming[0];
  if (node.needs(1)) {
    outgoing[1] =
        engine.fresh("bmm", Shape{self.size(0), self.size(2), gradient.size(2)}, gradient.dtype());
  }
  if (node.needs(0)) {
    outgoing[0] = engine.fresh(
        "bmm", Shape{gradient.size(0), gradient.size(1), mat2.size(1)}, gradient.dtype());
  }
}

// Each gradient is a product and, times the number, another tensor.
void formula_baddbmm(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  std::size_t slot = 0;
  const Tensor& gradient = incoming[0];
  const auto scaled = [&](const Shape& sizes) {
    Tensor product = engine.fresh("bmm", sizes, gradient.dtype());
    return engine.fresh("mul.Scalar", sizes, gradient.dtype());
  };
  Tensor batch2 = node.needs(0) ? node.unpacked[slot++] : Tensor{};
  Tensor batch1 = node.needs(1) ? node.unpacked[slot++] : Tensor{};
  if (node.needs(0))
    outgoing[0] = scaled(Shape{gradient.size(0), gradient.size(1), batch2.size(1)});
  if (node.needs(1))
    outgoing[1] = scaled(Shape{gradient.size(0), batch1.size(2), gradient.size(2)});
}

// embedding_dense_backward: a gradient of the whole table.
void formula_embedding(SymbolicEngine& engine,
                       Node& node,
                       Incoming& incoming,
                       Gradients& outgoing) {
  outgoing[0] = engine.fresh("embedding_dense_backward", node.input_sizes(0), incoming[0].dtype());
}

// grad_output x dequantised weight; before it the bias's gradient, summed over the first dimension
// only, the rest of the sum being autograd's.
void formula_4bit(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  if (node.needs(1)) outgoing[1] = engine.sum_first(incoming[0]);
  if (!node.needs(0)) return;
  Tensor dequantised = engine.do_dequantize_4bit(*node.packed);
  Tensor factor = engine.to(std::move(dequantised), incoming[0].dtype());
  outgoing[0] = engine.matmul(incoming[0], std::move(factor));
}

// at::native::should_fold: leading dimensions that no view joins are not joined by a copy either,
// where nothing needs a gradient.
bool folds(const Tensor& self) {
  if (self.requires_grad()) return true;
  const SymbolicTensor& record = record_of(self);
  for (int i = 0; i + 2 < record.sizes.rank(); ++i) {
    if (record.strides[i] != record.strides[i + 1] * record.sizes[i + 1]) return false;
  }
  return true;
}

Shape with_last(Shape shape, std::int64_t last) {
  shape[-1] = last;
  return shape;
}

}  // namespace

Tensor SymbolicEngine::mm_with_grad(const Tensor& self, const Tensor& other) {
  Node* node = start(formula_mm, {&self, &other});
  if (node != nullptr) node->number = is_column_major(other) ? 1 : 0;
  if (node != nullptr && node->needs(0) && !save(node, other)) return abandon(node);
  if (node != nullptr && node->needs(1) && !save(node, self)) return abandon(node);
  return finish(node, mm(self, other));
}

Tensor SymbolicEngine::addmm_with_grad(const Tensor& bias,
                                       const Tensor& self,
                                       const Tensor& other) {
  Node* node = start(formula_addmm, {&bias, &self, &other});
  if (node != nullptr) node->number = is_column_major(other) ? 1 : 0;
  if (node != nullptr && node->needs(1) && !save(node, other)) return abandon(node);
  if (node != nullptr && node->needs(2) && !save(node, self)) return abandon(node);
  return finish(node, fresh("addmm", Shape{self.size(0), other.size(1)}, self.dtype()));
}

Tensor SymbolicEngine::do_linear(const Tensor& input_, const Tensor& weight_, const Tensor& bias_) {
  // Autocast casts a call's arguments from right to left.
  Tensor bias = autocast_input(bias_);
  Tensor weight = autocast_input(weight_);
  Tensor input = autocast_input(input_);
  const Shape sizes = input.sizes();
  const Shape result = with_last(sizes, weight.size(0));
  Shape rows{sizes.numel().count() / sizes[-1], sizes[-1]};
  const SymbolicTensor& record = record_of(input);
  if (bias.defined() && (sizes.rank() == 2 || is_contiguous(record.sizes, record.strides))) {
    Tensor flat = sizes.rank() == 2 ? input : do_reshape(input, rows);
    Tensor turned = do_transpose(weight, 0, 1);
    Tensor out = addmm_with_grad(bias, flat, turned);
    if (halted_) return {};
    flat.reset();
    turned.reset();
    return sizes.rank() == 2 ? out : do_reshape(out, result);
  }
  Tensor turned = do_transpose(weight, 0, 1);
  if (sizes.rank() == 2) return mm_with_grad(input, turned);
  Tensor flat = do_reshape(input, rows);
  Tensor out = mm_with_grad(flat, turned);
  if (halted_) return {};
  flat.reset();
  turned.reset();
  Tensor product = unsafe_view(out, result);
  // Rows that do not lie one after another: the product first, the bias added to it in place.
  return bias.defined() ? do_iadd(product, bias) : product;
}

Tensor SymbolicEngine::do_addmm(const Tensor& bias_, const Tensor& input_, const Tensor& weight_) {
  const Tensor weight = autocast_input(weight_);
  const Tensor input = autocast_input(input_);
  const Tensor bias = autocast_input(bias_);
  return addmm_with_grad(bias, input, weight);
}

// A batched product folds every leading dimension: [..., M, K] x [..., K, N]; where the second has
// fewer batches, it is spread over those of the first.
Tensor SymbolicEngine::do_matmul(const Tensor& self_, const Tensor& other_) {
  Tensor other = autocast_input(other_);
  Tensor self = autocast_input(self_);
  const Shape a = self.sizes();
  const Shape b = other.sizes();
  if (b.rank() == 2) {
    if (a.rank() == 2) return mm_with_grad(self, other);
    if (!other.requires_grad() && !folds(self))
      return fresh("bmm", with_last(a, b[1]), self.dtype());
    Tensor flat = do_reshape(self, Shape{a.numel().count() / a[-1], a[-1]});
    Tensor out = mm_with_grad(flat, other);
    if (halted_) return {};
    flat.reset();
    return unsafe_view(out, with_last(a, b[1]));
  }
  const std::int64_t batches = a.numel().count() / (a[-1] * a[-2]);
  Tensor left = do_reshape(self, Shape{batches, a[-2], a[-1]});
  if (b.numel().count() < batches * b[-2] * b[-1]) {
    Shape spread = a;
    spread[-2] = b[-2];
    spread[-1] = b[-1];
    Tensor expanded = do_expand(other, spread);
    other = std::move(expanded);
  }
  Tensor right = do_reshape(other, Shape{batches, b[-2], b[-1]});
  Node* node = start(formula_bmm, {&left, &right});
  if (node != nullptr && node->needs(0) && !save(node, right)) return abandon(node);
  if (node != nullptr && node->needs(1) && !save(node, left)) return abandon(node);
  Tensor out = finish(node, fresh("bmm", Shape{batches, a[-2], b[-1]}, self.dtype()));
  if (halted_) return {};
  left.reset();
  right.reset();
  return unsafe_view(out, with_last(a, b[-1]));
}

Tensor SymbolicEngine::do_baddbmm(const Tensor& self_,
                                  const Tensor& batch1_,
                                  const Tensor& batch2_) {
  const Tensor batch2 = autocast_input(batch2_);
  const Tensor batch1 = autocast_input(batch1_);
  const Tensor self = autocast_input(self_);
  Node* node = start(formula_baddbmm, {&batch1, &batch2});
  if (node != nullptr && node->needs(0) && !save(node, batch2)) return abandon(node);
  if (node != nullptr && node->needs(1) && !save(node, batch1)) return abandon(node);
  const Shape sizes{batch1.size(0), batch1.size(1), batch2.size(2)};
  return finish(node, fresh("baddbmm", sizes, batch1.dtype()));
}

Tensor SymbolicEngine::do_embedding(const Tensor& weight, const Tensor& indices) {
  Node* node = start(formula_embedding, {&weight});
  if (!save(node, indices)) return abandon(node);
  Shape sizes = indices.sizes();
  sizes.push_back(weight.size(1));
  return finish(node, fresh("embedding", sizes, weight.dtype()));
}

// torch.ops.bitsandbytes.gemm_4bit: a fused kernel for few rows, else dequantise and multiply. Rule
// R022: the whole matrix lives for the time of the product.
Tensor SymbolicEngine::gemm_4bit(const Tensor& input,
                                 const Packed4bit& weight,
                                 const Tensor& bias) {
  const std::int64_t in_features = input.size(-1);
  const std::int64_t rows = input.sizes().numel().count() / in_features;
  const std::int64_t out_features = weight.shape[0];
  const Shape result = with_last(input.sizes(), out_features);
  if (!device_.is_cpu &&
      uses_fused_gemm_4bit({device_.compute_capability, device_.sm_count, input.dtype()},
                           rows,
                           out_features,
                           in_features)) {
    return fresh("empty.memory_format", result, input.dtype());
  }
  Tensor plain;
  Tensor shifted;
  if (weight.nested_absmax.defined()) {
    plain = fresh("empty_like", weight.absmax.sizes(), DType::Float32);
    shifted = fresh("add.Tensor", weight.absmax.sizes(), DType::Float32);
  }
  Tensor dequantised = fresh("empty.memory_format", weight.shape, input.dtype());
  static_cast<void>(bias);  // added inside the product
  return fresh("linear", result, input.dtype());
}

// Statistics under double quantisation are read back first.
Tensor SymbolicEngine::do_dequantize_4bit(const Packed4bit& weight) {
  Tensor absmax;
  if (weight.nested_absmax.defined())
    absmax = fresh("bitsandbytes.dequantize_blockwise", weight.absmax.sizes(), DType::Float32);
  return fresh("bitsandbytes.dequantize_4bit", weight.shape, weight.dtype);
}

Tensor SymbolicEngine::do_linear_4bit(const Tensor& input,
                                      const Packed4bit& weight,
                                      const Tensor& bias) {
  Node* node = start(formula_4bit, {&input, &bias});
  if (node != nullptr) node->packed = &weight;
  Tensor out;
  {
    NoGrad no_grad(*this);
    out = gemm_4bit(input, weight, bias);
  }
  return finish(node, std::move(out));
}

}  // namespace peakline::symbolic
