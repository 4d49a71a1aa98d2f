// The abstract machine that the training step is written against. SymbolicEngine counts bytes,
// TorchEngine computes; the step is the same code. Names, argument order and semantics are
// PyTorch's.
//
// Lifetimes are the result. A Tensor is a counted handle; an operation takes its inputs by value
// and releases them after its output exists and before it returns, as a Python expression releases
// its temporaries. Pass a name with std::move where Python would drop it, copy it where Python
// keeps it. Evaluation order: at most one engine call per argument list, since compilers order
// arguments differently. An operation on an undefined handle does nothing and returns an undefined
// handle (after an early stop of a recomputation, or a sticky error of a computing engine).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "peakline/dtype.h"
#include "peakline/quantity.h"

namespace peakline {

// Sizes or strides of a tensor of at most five dimensions. Negative indices count from the end.
class Shape {
 public:
  static constexpr int kMaxRank = 5;
  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> dims) {
    for (const std::int64_t dim : dims) push_back(dim);
  }
  [[nodiscard]] constexpr int rank() const { return rank_; }
  [[nodiscard]] constexpr std::int64_t operator[](int i) const { return dims_[index(i)]; }
  [[nodiscard]] constexpr std::int64_t& operator[](int i) { return dims_[index(i)]; }
  constexpr void push_back(std::int64_t dim) { dims_[static_cast<std::size_t>(rank_++)] = dim; }
  [[nodiscard]] constexpr Elements numel() const {
    Elements n(1);
    for (int i = 0; i < rank_; ++i) n = n * dims_[static_cast<std::size_t>(i)];
    return n;
  }
  // All places; those beyond the rank are zero.
  [[nodiscard]] constexpr const std::array<std::int64_t, kMaxRank>& dims() const { return dims_; }
  friend constexpr bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] constexpr std::size_t index(int i) const {
    return static_cast<std::size_t>(i < 0 ? i + rank_ : i);
  }
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

enum class Phase : std::uint8_t {
  Load,
  Data,
  Forward,
  Loss,
  Backward,
  AfterBackward,
  Clip,
  Optimizer,
  AfterStep,
};
inline constexpr int kNumPhases = 9;
[[nodiscard]] std::string_view name_of(Phase phase);  // "after_backward", ...

// What a tensor is for, where the step knows it; everything else is derived from when it lives.
enum class Role : std::uint8_t {
  Unknown,
  WeightFrozen,
  WeightTrainable,
  Quant,
  Buffer,
  Gradient,
  Optimizer,
  Batch,
};

// The module a tensor is made in: "model.layers.{layer}.{name}", or just the name where layer is
// -1.
struct Module {
  const char* name = "";
  std::int32_t layer = -1;
};

class Engine;

// The part of a tensor's record that every engine shares.
struct TensorRecord {
  Engine* engine = nullptr;
  std::int32_t references = 0;
  DType dtype = DType::Float32;
  bool requires_grad = false;
  Shape sizes;
};

class Tensor {
 public:
  Tensor() = default;
  // Adopts one reference that the caller already counted.
  static Tensor adopt(TensorRecord* record) {
    Tensor tensor;
    tensor.record_ = record;
    return tensor;
  }
  static Tensor share(TensorRecord* record) {
    if (record != nullptr) ++record->references;
    return adopt(record);
  }
  Tensor(const Tensor& other) : record_(other.record_) {
    if (record_ != nullptr) ++record_->references;
  }
  Tensor(Tensor&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }
  ~Tensor() { reset(); }
  void reset();
  // Gives up the reference without counting it down.
  [[nodiscard]] TensorRecord* release() && { return std::exchange(record_, nullptr); }

  [[nodiscard]] bool defined() const { return record_ != nullptr; }
  [[nodiscard]] TensorRecord* record() const { return record_; }
  [[nodiscard]] std::int32_t use_count() const {
    return record_ == nullptr ? 0 : record_->references;
  }
  // Undefined handles answer like empty float tensors, so straight-line model code needs no checks.
  [[nodiscard]] const Shape& sizes() const;
  [[nodiscard]] std::int64_t size(int dim) const { return defined() ? sizes()[dim] : 0; }
  [[nodiscard]] DType dtype() const { return defined() ? record_->dtype : DType::Float32; }
  [[nodiscard]] bool requires_grad() const { return defined() && record_->requires_grad; }

 private:
  TensorRecord* record_ = nullptr;
};

// A weight packed by bitsandbytes: nf4 codes and the statistics to read them back.
struct Packed4bit {
  Shape shape;                    // of the logical weight, [out, in]
  DType dtype = DType::BFloat16;  // it was quantised from, and is read back to
  Tensor packed;                  // [out * in / 2, 1] uint8
  Tensor absmax;                  // per block of 64: float32, or uint8 under double quantisation
  Tensor code;                    // [16] float32
  Tensor nested_absmax;           // double quantisation only
  Tensor nested_code;             // [256] float32
  Tensor offset;                  // []
};

// A weight that bitsandbytes holds as int8, with a scale for each row.
struct Packed8bit {
  Tensor values;  // [out, in] int8
  Tensor scales;  // [out] float32
};

struct AttentionOptions {
  bool is_causal = false;
  bool enable_gqa = false;
  bool allow_flash = true;
  bool dropout = false;  // on the weights
};

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  // ---- where we are (names for events; no effect on numbers)
  virtual void set_phase(Phase phase) = 0;
  [[nodiscard]] virtual Phase phase() const = 0;
  virtual Module enter_module(Module module) = 0;  // returns the module left, to be entered again
  virtual void mark(const Tensor& tensor, Role role) = 0;
  // From here to the next phase: what an implied first step would have left alive.
  virtual void begin_leftovers() = 0;
  // The run is over: what is torn down after this is not part of it.
  virtual void finish_recording() = 0;

  // ---- modes; each returns the old value
  virtual bool set_grad_enabled(bool enabled) = 0;
  virtual std::optional<DType> set_autocast(std::optional<DType> dtype) = 0;
  [[nodiscard]] virtual std::optional<DType> autocast() const = 0;
  // The cast cache lives until the outermost autocast scope closes.
  virtual void clear_autocast_cache() = 0;

  // ---- making tensors. `op` is the dispatcher's name of the factory.
  virtual Tensor factory(const char* op, const Shape& shape, DType dtype) = 0;
  Tensor ones(const Shape& shape, DType dtype) { return factory("ones", shape, dtype); }
  virtual void set_requires_grad(const Tensor& tensor, bool requires_grad) = 0;
  virtual Tensor detach(Tensor self) = 0;

  // ---- pointwise; inputs broadcast, dtypes promote
  Tensor add(Tensor self, Tensor other) { return consume(&Engine::do_add, self, other); }
  Tensor sub(Tensor self, Tensor other) { return consume(&Engine::do_sub, self, other); }
  Tensor mul(Tensor self, Tensor other) { return consume(&Engine::do_mul, self, other); }
  Tensor div(Tensor self, Tensor other) { return consume(&Engine::do_div, self, other); }
  Tensor add_scalar(Tensor self) { return consume(&Engine::do_add_scalar, self); }
  Tensor sub_scalar(Tensor self) { return consume(&Engine::do_sub_scalar, self); }
  Tensor mul_scalar(Tensor self) { return consume(&Engine::do_mul_scalar, self); }
  Tensor div_scalar(Tensor self) { return consume(&Engine::do_div_scalar, self); }
  Tensor neg(Tensor self) { return consume(&Engine::do_neg, self); }
  Tensor square(Tensor self) { return consume(&Engine::do_square, self); }  // self.pow(2)
  Tensor rsqrt(Tensor self) { return consume(&Engine::do_rsqrt, self); }
  Tensor power(Tensor self) { return consume(&Engine::do_square, self); }  // self.pow(n)
  Tensor tanh(Tensor self) { return consume(&Engine::do_tanh, self); }
  Tensor silu(Tensor self) { return consume(&Engine::do_silu, self); }
  Tensor gelu(Tensor self) { return consume(&Engine::do_gelu, self); }
  Tensor relu(Tensor self) { return consume(&Engine::do_relu, self); }
  // gelu's tanh approximation as a Python autograd function: it keeps its input alone and computes
  // all of it again in backward.
  Tensor gelu_recomputed(Tensor self) { return consume(&Engine::do_gelu_recomputed, self); }
  // A pointwise function without gradient, by its dispatcher name: cos, sin, isnan, ne.Scalar ...
  Tensor pointwise(const char* op, Tensor self, DType result) {
    if (!ready(self)) return {};
    Tensor out = do_pointwise(op, self, result);
    self.reset();
    return out;
  }
  // Python's self += other, self *= and self /= a number: no new tensor, and the result replaces
  // self; gradients are recorded.
  Tensor iadd(Tensor self, const Tensor& other) {
    if (!ready(self, other)) return {};
    Tensor out = do_iadd(self, other);
    self.reset();
    return out;
  }
  // self[..., start:end].copy_(source): the result replaces self.
  Tensor icopy_part(Tensor self, const Tensor& source) {
    if (!ready(self, source)) return {};
    Tensor out = do_icopy_part(self, source);
    self.reset();
    return out;
  }
  Tensor iclamp(Tensor self) { return consume(&Engine::do_iclamp, self); }
  Tensor imul_scalar(Tensor self) { return consume(&Engine::do_imul_scalar, self); }
  Tensor idiv_scalar(Tensor self) { return consume(&Engine::do_idiv_scalar, self); }
  // self += other without a new tensor; no gradient is recorded.
  void add_in_place(const Tensor& self, const Tensor& other);

  // Inverted dropout with probability in (0, 1); at 0 the step does not call it (nn.Identity).
  Tensor dropout(Tensor self) { return consume(&Engine::do_dropout, self); }

  // ---- dtype and layout
  Tensor to(Tensor self, DType dtype) {
    if (halted_) return {};
    if (!self.defined() || self.dtype() == dtype) return self;
    Tensor out = do_to(self, dtype);
    self.reset();
    return out;
  }
  Tensor clone(Tensor self) { return consume(&Engine::do_clone, self); }
  Tensor contiguous(Tensor self) { return consume(&Engine::do_contiguous, self); }
  Tensor view(Tensor self, const Shape& shape) {
    return consume_with(&Engine::do_view, self, shape);
  }
  Tensor reshape(Tensor self, const Shape& shape) {
    return consume_with(&Engine::do_reshape, self, shape);
  }
  Tensor expand(Tensor self, const Shape& shape) {
    return consume_with(&Engine::do_expand, self, shape);
  }
  Tensor transpose(Tensor self, int dim0, int dim1) {
    if (!ready(self)) return {};
    Tensor out = do_transpose(self, dim0, dim1);
    self.reset();
    return out;
  }
  Tensor unsqueeze(Tensor self, int dim) {
    if (!ready(self)) return {};
    Tensor out = do_unsqueeze(self, dim);
    self.reset();
    return out;
  }
  // self[..., start:end:step] along `dim`.
  Tensor slice(Tensor self, int dim, std::int64_t start, std::int64_t end, std::int64_t step = 1) {
    if (!ready(self)) return {};
    Tensor out = do_slice(self, dim, start, end, step);
    self.reset();
    return out;
  }
  // self[..., index, :]: the dimension goes away.
  Tensor select(Tensor self, int dim, std::int64_t index) {
    if (!ready(self)) return {};
    Tensor out = do_select(self, dim, index);
    self.reset();
    return out;
  }
  // self[..., [index], :]: a copy, [..., 1, n].
  Tensor index_one(Tensor self, int dim) {
    if (!ready(self)) return {};
    Tensor out = do_index_one(self, dim);
    self.reset();
    return out;
  }
  // self.split(sizes, dim): views that share one node, whose gradient is one cat.
  virtual void split(const Tensor& self,
                     std::span<const std::int64_t> sizes,
                     int dim,
                     std::span<Tensor> out) = 0;
  // self.split(1, dim): one slice for every index.
  virtual std::vector<Tensor> split_each(const Tensor& self, int dim) = 0;
  // torch.cat of any number of parts.
  virtual Tensor cat_all(std::span<const Tensor> parts, int dim) = 0;
  Tensor cat(Tensor first, Tensor second, int dim) {
    if (!ready(first, second)) return {};
    Tensor out = do_cat(first, second, dim);
    first.reset();
    second.reset();
    return out;
  }
  // torch.stack([first, second], dim=-1)
  Tensor stack_last(Tensor first, Tensor second) {
    return consume(&Engine::do_stack_last, first, second);
  }

  // ---- reductions
  Tensor mean_last(Tensor self) {
    return consume(&Engine::do_mean_last, self);
  }                                                                   // mean(-1, keepdim=True)
  Tensor sum(Tensor self) { return consume(&Engine::do_sum, self); }  // to one number
  // torch.linalg.norm(dim=-1)
  Tensor norm_last(Tensor self) { return consume(&Engine::do_norm_last, self); }

  // ---- layers
  Tensor embedding(const Tensor& weight, Tensor indices) {
    if (!ready(weight, indices)) return {};
    Tensor out = do_embedding(weight, indices);
    indices.reset();
    return out;
  }
  // F.linear: [..., in] x [out, in] (+ [out]).
  Tensor linear(Tensor input, const Tensor& weight, const Tensor& bias) {
    if (!ready(input, weight)) return {};
    Tensor out = do_linear(input, weight, bias);
    input.reset();
    return out;
  }
  // torch.addmm: [N, in] x [in, out] + [out].
  Tensor addmm(const Tensor& bias, Tensor input, const Tensor& weight) {
    if (!ready(input, weight)) return {};
    Tensor out = do_addmm(bias, input, weight);
    input.reset();
    return out;
  }
  // torch.where(condition, self, a number)
  Tensor where(const Tensor& condition, Tensor self) {
    if (!ready(condition, self)) return {};
    Tensor out = do_where(condition, self);
    self.reset();
    return out;
  }
  // F.softmax without a type: autocast makes it float32.
  Tensor softmax_as_is(Tensor self) { return consume(&Engine::do_softmax_as_is, self); }
  // F.layer_norm over the last dimension; weight [n] and bias [n] may be undefined.
  Tensor layer_norm(Tensor input, const Tensor& weight, const Tensor& bias) {
    if (!ready(input)) return {};
    Tensor out = do_layer_norm(input, weight, bias);
    input.reset();
    return out;
  }
  // bitsandbytes.matmul_4bit.
  Tensor linear_4bit(Tensor input, const Packed4bit& weight, const Tensor& bias) {
    if (!ready(input)) return {};
    Tensor out = do_linear_4bit(input, weight, bias);
    input.reset();
    return out;
  }
  // bitsandbytes.matmul, with has_fp16_weights=False.
  Tensor linear_8bit(Tensor input, const Packed8bit& weight, const Tensor& bias) {
    if (!ready(input)) return {};
    Tensor out = do_linear_8bit(input, weight, bias);
    input.reset();
    return out;
  }
  // bitsandbytes.functional.dequantize_4bit: the whole weight.
  Tensor dequantize_4bit(const Packed4bit& weight) {
    return halted_ ? Tensor{} : do_dequantize_4bit(weight);
  }
  Tensor matmul(Tensor self, Tensor other) { return consume(&Engine::do_matmul, self, other); }
  // self.baddbmm(batch1, batch2, beta, alpha): [N, M, K] x [N, K, P] times a number, plus `self`,
  // which takes no gradient.
  Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2) {
    if (!ready(self, batch1) || !ready(batch2)) return {};
    return do_baddbmm(self, batch1, batch2);
  }
  Tensor softmax_last(Tensor self, DType dtype) {
    if (!ready(self)) return {};
    Tensor out = do_softmax_last(self, dtype);
    self.reset();
    return out;
  }
  // q [B, A, S, D], k and v [B, K, S, D]; `mask` bool or float, may be undefined.
  Tensor scaled_dot_product_attention(
      Tensor query, Tensor key, Tensor value, const Tensor& mask, const AttentionOptions& options) {
    if (!ready(query, key) || !ready(value)) return {};
    Tensor out = do_attention(query, key, value, mask, options);
    query.reset();
    key.reset();
    value.reset();
    return out;
  }
  // F.cross_entropy(reduction="sum"): [N, V] float32 against [N] int64.
  Tensor cross_entropy(const Tensor& logits, const Tensor& target) {
    if (!ready(logits, target)) return {};
    return do_cross_entropy(logits, target);
  }

  // ---- Liger's fused kernels (forward and backward are one autograd node each)
  // `in_place`: the input's gradient overwrites the incoming one.
  Tensor liger_rms_norm(Tensor input, const Tensor& weight, bool in_place = true) {
    if (!ready(input)) return {};
    Tensor out = do_liger_rms_norm(input, weight, in_place);
    input.reset();
    return out;
  }
  // Any activation that Liger knows, times up.
  Tensor liger_silu_mul(Tensor gate, Tensor up) {
    return consume(&Engine::do_liger_silu_mul, gate, up);
  }
  // Rotates q and k; the results replace the arguments.
  virtual void liger_rope(Tensor& query, Tensor& key, const Tensor& cos, const Tensor& sin) = 0;
  // F.cross_entropy(reduction="sum") that overwrites the logits with their gradient.
  Tensor liger_cross_entropy(const Tensor& logits, const Tensor& target) {
    if (!ready(logits, target)) return {};
    return do_liger_cross_entropy(logits, target);
  }
  // Loss straight from hidden states [N, H] and the head's weight; logits exist in chunks only.
  Tensor liger_fused_linear_cross_entropy(Tensor hidden,
                                          const Tensor& weight,
                                          const Tensor& target) {
    if (!ready(hidden)) return {};
    Tensor out = do_liger_fused_linear_cross_entropy(hidden, weight, target);
    hidden.reset();
    return out;
  }

  // ---- autograd
  using Function = std::function<Tensor(const Tensor&)>;
  // The same for a function that returns a pair.
  using PairFunction = std::function<Tensor(const Tensor& input, Tensor& second)>;
  // torch.utils.checkpoint.checkpoint. `function` may be run again in backward; what it captures
  // lives as long as the graph does.
  virtual Tensor checkpoint_pair(PairFunction function,
                                 const Tensor& input,
                                 bool use_reentrant,
                                 Tensor& second) = 0;
  Tensor checkpoint(Function function, const Tensor& input, bool use_reentrant) {
    Tensor none;
    auto single = [run = std::move(function)](const Tensor& x, Tensor&) { return run(x); };
    return checkpoint_pair(std::move(single), input, use_reentrant, none);
  }
  virtual void backward(Tensor loss) = 0;
  [[nodiscard]] virtual Tensor grad(const Tensor& leaf) const = 0;
  virtual void clear_grad(const Tensor& leaf) = 0;

  // ---- optimizers
  // One new tensor per input, shaped like it: _foreach_sqrt and its kin.
  virtual std::vector<Tensor> foreach (const char* op, std::span<const Tensor> inputs) = 0;
  // One new number per input: _foreach_norm.
  virtual std::vector<Tensor> foreach_norm(std::span<const Tensor> inputs) = 0;

 protected:
  friend class Tensor;
  // While set, operations do nothing: a recomputation stopped early, or a computing engine failed.
  bool halted_ = false;
  virtual void destroy(TensorRecord* record) = 0;

  virtual Tensor do_add(const Tensor& self, const Tensor& other) = 0;
  virtual Tensor do_sub(const Tensor& self, const Tensor& other) = 0;
  virtual Tensor do_mul(const Tensor& self, const Tensor& other) = 0;
  virtual Tensor do_div(const Tensor& self, const Tensor& other) = 0;
  virtual Tensor do_add_scalar(const Tensor& self) = 0;
  virtual Tensor do_sub_scalar(const Tensor& self) = 0;
  virtual Tensor do_mul_scalar(const Tensor& self) = 0;
  virtual Tensor do_iadd(const Tensor& self, const Tensor& other) = 0;
  virtual Tensor do_icopy_part(const Tensor& self, const Tensor& source) = 0;
  virtual Tensor do_iclamp(const Tensor& self) = 0;
  virtual Tensor do_imul_scalar(const Tensor& self) = 0;
  virtual Tensor do_idiv_scalar(const Tensor& self) = 0;
  virtual Tensor do_div_scalar(const Tensor& self) = 0;
  virtual Tensor do_neg(const Tensor& self) = 0;
  virtual Tensor do_square(const Tensor& self) = 0;
  virtual Tensor do_rsqrt(const Tensor& self) = 0;
  virtual Tensor do_tanh(const Tensor& self) = 0;
  virtual Tensor do_silu(const Tensor& self) = 0;
  virtual Tensor do_gelu(const Tensor& self) = 0;
  virtual Tensor do_relu(const Tensor& self) = 0;
  virtual Tensor do_gelu_recomputed(const Tensor& self) = 0;
  virtual Tensor do_pointwise(const char* op, const Tensor& self, DType result) = 0;
  virtual Tensor do_dropout(const Tensor& self) = 0;
  virtual Tensor do_to(const Tensor& self, DType dtype) = 0;
  virtual Tensor do_clone(const Tensor& self) = 0;
  virtual Tensor do_contiguous(const Tensor& self) = 0;
  virtual Tensor do_view(const Tensor& self, const Shape& shape) = 0;
  virtual Tensor do_reshape(const Tensor& self, const Shape& shape) = 0;
  virtual Tensor do_expand(const Tensor& self, const Shape& shape) = 0;
  virtual Tensor do_transpose(const Tensor& self, int dim0, int dim1) = 0;
  virtual Tensor do_unsqueeze(const Tensor& self, int dim) = 0;
  virtual Tensor do_slice(
      const Tensor& self, int dim, std::int64_t start, std::int64_t end, std::int64_t step) = 0;
  virtual Tensor do_select(const Tensor& self, int dim, std::int64_t index) = 0;
  virtual Tensor do_index_one(const Tensor& self, int dim) = 0;
  virtual Tensor do_cat(const Tensor& first, const Tensor& second, int dim) = 0;
  virtual Tensor do_stack_last(const Tensor& first, const Tensor& second) = 0;
  virtual Tensor do_mean_last(const Tensor& self) = 0;
  virtual Tensor do_sum(const Tensor& self) = 0;
  virtual Tensor do_norm_last(const Tensor& self) = 0;
  virtual Tensor do_embedding(const Tensor& weight, const Tensor& indices) = 0;
  virtual Tensor do_linear(const Tensor& input, const Tensor& weight, const Tensor& bias) = 0;
  virtual Tensor do_addmm(const Tensor& bias, const Tensor& input, const Tensor& weight) = 0;
  virtual Tensor do_where(const Tensor& condition, const Tensor& self) = 0;
  virtual Tensor do_softmax_as_is(const Tensor& self) = 0;
  virtual Tensor do_layer_norm(const Tensor& input, const Tensor& weight, const Tensor& bias) = 0;
  virtual Tensor do_linear_4bit(const Tensor& input,
                                const Packed4bit& weight,
                                const Tensor& bias) = 0;
  virtual Tensor do_linear_8bit(const Tensor& input,
                                const Packed8bit& weight,
                                const Tensor& bias) = 0;
  virtual Tensor do_dequantize_4bit(const Packed4bit& weight) = 0;
  virtual Tensor do_matmul(const Tensor& self, const Tensor& other) = 0;
  virtual Tensor do_baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2) = 0;
  virtual Tensor do_softmax_last(const Tensor& self, DType dtype) = 0;
  virtual Tensor do_attention(const Tensor& query,
                              const Tensor& key,
                              const Tensor& value,
                              const Tensor& mask,
                              const AttentionOptions& options) = 0;
  virtual Tensor do_cross_entropy(const Tensor& logits, const Tensor& target) = 0;
  virtual Tensor do_liger_rms_norm(const Tensor& input, const Tensor& weight, bool in_place) = 0;
  virtual Tensor do_liger_silu_mul(const Tensor& gate, const Tensor& up) = 0;
  virtual Tensor do_liger_cross_entropy(const Tensor& logits, const Tensor& target) = 0;
  virtual Tensor do_liger_fused_linear_cross_entropy(const Tensor& hidden,
                                                     const Tensor& weight,
                                                     const Tensor& target) = 0;
  virtual void do_add_in_place(const Tensor& self, const Tensor& other) = 0;

 private:
  [[nodiscard]] bool ready(const Tensor& a) const { return !halted_ && a.defined(); }
  [[nodiscard]] bool ready(const Tensor& a, const Tensor& b) const {
    return ready(a) && b.defined();
  }
  Tensor consume(Tensor (Engine::*op)(const Tensor&), Tensor& self) {
    if (!ready(self)) return {};
    Tensor out = (this->*op)(self);
    self.reset();
    return out;
  }
  Tensor consume(Tensor (Engine::*op)(const Tensor&, const Tensor&), Tensor& self, Tensor& other) {
    if (!ready(self, other)) return {};
    Tensor out = (this->*op)(self, other);
    self.reset();
    other.reset();
    return out;
  }
  Tensor consume_with(Tensor (Engine::*op)(const Tensor&, const Shape&),
                      Tensor& self,
                      const Shape& shape) {
    if (!ready(self)) return {};
    Tensor out = (this->*op)(self, shape);
    self.reset();
    return out;
  }
};

inline void Tensor::reset() {
  TensorRecord* record = std::exchange(record_, nullptr);
  if (record != nullptr && --record->references == 0) record->engine->destroy(record);
}

inline const Shape& Tensor::sizes() const {
  static constexpr Shape kEmpty;
  return defined() ? record_->sizes : kEmpty;
}

inline void Engine::add_in_place(const Tensor& self, const Tensor& other) {
  if (ready(self, other)) do_add_in_place(self, other);
}

// Scopes. Each restores what it found.
class ModuleScope {
 public:
  ModuleScope(Engine& engine, const char* name, std::int32_t layer = -1)
      : engine_(engine), outer_(engine.enter_module({name, layer})) {}
  ~ModuleScope() { engine_.enter_module(outer_); }
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  Engine& engine_;
  Module outer_;
};

class NoGrad {
 public:
  explicit NoGrad(Engine& engine) : engine_(engine), outer_(engine.set_grad_enabled(false)) {}
  ~NoGrad() { engine_.set_grad_enabled(outer_); }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  Engine& engine_;
  bool outer_;
};

// torch.autocast: the cast cache is dropped when the outermost scope closes.
class AutocastScope {
 public:
  AutocastScope(Engine& engine, std::optional<DType> dtype)
      : engine_(engine), outer_(engine.set_autocast(dtype)) {}
  ~AutocastScope() {
    engine_.set_autocast(outer_);
    if (!outer_) engine_.clear_autocast_cache();
  }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  Engine& engine_;
  std::optional<DType> outer_;
};

}  // namespace peakline
