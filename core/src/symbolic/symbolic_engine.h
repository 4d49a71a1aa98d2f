// The engine that counts bytes: operations that allocate, and the autograd machine beneath them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "peakline/symbolic.h"
#include "symbolic/node.h"
#include "symbolic/pool.h"
#include "symbolic/tensor.h"

namespace peakline::symbolic {

class SymbolicEngine final : public Engine {
 public:
  SymbolicEngine(const DeviceModel& device, Events& events);
  ~SymbolicEngine() override;

  void set_phase(Phase phase) override;
  [[nodiscard]] Phase phase() const override { return phase_; }
  Module enter_module(Module module) override { return std::exchange(module_, module); }
  void mark(const Tensor& tensor, Role role) override;
  void begin_leftovers() override {
    events_.leftovers_begin = static_cast<std::int32_t>(events_.events.size());
  }
  void finish_recording() override { recording_ = false; }
  bool set_grad_enabled(bool enabled) override { return std::exchange(grad_enabled_, enabled); }
  std::optional<DType> set_autocast(std::optional<DType> dtype) override {
    return std::exchange(autocast_, dtype);
  }
  [[nodiscard]] std::optional<DType> autocast() const override { return autocast_; }
  void clear_autocast_cache() override;
  Tensor factory(const char* op, const Shape& shape, DType dtype) override;
  void set_requires_grad(const Tensor& tensor, bool requires_grad) override;
  Tensor detach(Tensor self) override;
  void liger_rope(Tensor& query, Tensor& key, const Tensor& cos, const Tensor& sin) override;
  void split(const Tensor& self,
             std::span<const std::int64_t> sizes,
             int dim,
             std::span<Tensor> out) override;
  std::vector<Tensor> split_each(const Tensor& self, int dim) override;
  Tensor cat_all(std::span<const Tensor> parts, int dim) override;
  Tensor checkpoint_pair(PairFunction function,
                         const Tensor& input,
                         bool use_reentrant,
                         Tensor& second) override;
  void backward(Tensor loss) override;
  [[nodiscard]] Tensor grad(const Tensor& leaf) const override;
  void clear_grad(const Tensor& leaf) override;
  std::vector<Tensor> foreach (const char* op, std::span<const Tensor> inputs) override;
  std::vector<Tensor> foreach_norm(std::span<const Tensor> inputs) override;

  // ---- for operations and formulas (core/src/symbolic only)

  // A new storage and a tensor over it: one `alloc` event.
  Tensor fresh(const char* op, const Shape& sizes, const Shape& strides, DType dtype);
  Tensor fresh(const char* op, const Shape& sizes, DType dtype);
  void record_birth(const char* op, const Shape& sizes, DType dtype, Storage& storage);
  // Another handle on the same storage that keeps `self` (or what it views) alive.
  Tensor alias(const Tensor& self, const Shape& sizes, const Shape& strides);
  // The same without a base: _unsafe_view.
  Tensor unsafe_alias(const Tensor& self, const Shape& sizes, const Shape& strides);
  // Storages that one kernel launcher makes and drops before it returns.
  struct Temporary {
    Shape sizes;
    DType dtype;
  };
  void kernel_temporaries(const char* op, std::initializer_list<Temporary> temporaries);

  // Starts a node for an operation on these inputs; null where nothing needs a gradient. Undefined
  // inputs take an edge that goes nowhere.
  Node* start(Formula formula, std::initializer_list<const Tensor*> inputs);
  // Saves an input before the kernel runs, a result after it. False when a recomputation has all it
  // needs: then the operation must return abandon(node).
  [[nodiscard]] bool save(Node* node, const Tensor& input);
  [[nodiscard]] bool save_output(Node* node, const Tensor& output);
  Tensor abandon(Node* node);
  // Ties the result to its node.
  Tensor finish(Node* node, Tensor output);
  void attach(Node* node, const Tensor& output, std::int32_t number);

  // The cast that an autocast scope puts before a lower-precision operation.
  Tensor autocast_input(const Tensor& input);
  // And the one to float32 that it puts before an operation on its float32 list.
  Tensor autocast_wide(const Tensor& input);

  // Pointwise kernels, without autograd.
  Tensor pointwise1(const char* op, const Tensor& a, DType dtype);
  Tensor pointwise2(const char* op, const Tensor& a, const Tensor& b);
  // at::sum_to: reduces a gradient to the shape its input had before broadcasting.
  Tensor sum_to(Tensor gradient, const Shape& shape);
  Tensor mm(const Tensor& a, const Tensor& b);
  // gradient.sum(0), bitsandbytes' gradient of a bias.
  Tensor sum_first(const Tensor& gradient);
  // A view of a fresh contiguous result that does not hold it as a base.
  Tensor unsafe_view(const Tensor& self, const Shape& shape);

  void release(Node* node);
  void destroy_storage(Storage* storage);
  [[nodiscard]] const DeviceModel& device() const { return device_; }
  [[nodiscard]] bool grad_enabled() const { return grad_enabled_; }

  Tensor do_transpose(const Tensor& self, int dim0, int dim1) override;
  Tensor do_reshape(const Tensor& self, const Shape& shape) override;
  Tensor do_contiguous(const Tensor& self) override;
  Tensor do_dequantize_4bit(const Packed4bit& weight) override;
  Tensor do_to(const Tensor& self, DType dtype) override;

 protected:
  void destroy(TensorRecord* record) override;
  Tensor do_add(const Tensor& self, const Tensor& other) override;
  Tensor do_sub(const Tensor& self, const Tensor& other) override;
  Tensor do_mul(const Tensor& self, const Tensor& other) override;
  Tensor do_div(const Tensor& self, const Tensor& other) override;
  Tensor do_add_scalar(const Tensor& self) override;
  Tensor do_sub_scalar(const Tensor& self) override;
  Tensor do_mul_scalar(const Tensor& self) override;
  Tensor do_iadd(const Tensor& self, const Tensor& other) override;
  Tensor do_icopy_part(const Tensor& self, const Tensor& source) override;
  Tensor do_iclamp(const Tensor& self) override;
  Tensor do_imul_scalar(const Tensor& self) override;
  Tensor do_idiv_scalar(const Tensor& self) override;
  Tensor do_div_scalar(const Tensor& self) override;
  Tensor do_neg(const Tensor& self) override;
  Tensor do_square(const Tensor& self) override;
  Tensor do_rsqrt(const Tensor& self) override;
  Tensor do_tanh(const Tensor& self) override;
  Tensor do_silu(const Tensor& self) override;
  Tensor do_gelu(const Tensor& self) override;
  Tensor do_relu(const Tensor& self) override;
  Tensor do_gelu_recomputed(const Tensor& self) override;
  Tensor do_pointwise(const char* op, const Tensor& self, DType result) override;
  Tensor do_dropout(const Tensor& self) override;
  Tensor do_clone(const Tensor& self) override;
  Tensor do_view(const Tensor& self, const Shape& shape) override;
  Tensor do_expand(const Tensor& self, const Shape& shape) override;
  Tensor do_unsqueeze(const Tensor& self, int dim) override;
  Tensor do_slice(const Tensor& self,
                  int dim,
                  std::int64_t start,
                  std::int64_t end,
                  std::int64_t step) override;
  Tensor do_select(const Tensor& self, int dim, std::int64_t index) override;
  Tensor do_index_one(const Tensor& self, int dim) override;
  Tensor do_stack_last(const Tensor& first, const Tensor& second) override;
  Tensor do_cat(const Tensor& first, const Tensor& second, int dim) override;
  Tensor do_mean_last(const Tensor& self) override;
  Tensor do_sum(const Tensor& self) override;
  Tensor do_norm_last(const Tensor& self) override;
  Tensor do_embedding(const Tensor& weight, const Tensor& indices) override;
  Tensor do_linear(const Tensor& input, const Tensor& weight, const Tensor& bias) override;
  Tensor do_layer_norm(const Tensor& input, const Tensor& weight, const Tensor& bias) override;
  Tensor do_addmm(const Tensor& bias, const Tensor& input, const Tensor& weight) override;
  Tensor do_where(const Tensor& condition, const Tensor& self) override;
  Tensor do_softmax_as_is(const Tensor& self) override;
  Tensor do_linear_4bit(const Tensor& input, const Packed4bit& weight, const Tensor& bias) override;
  Tensor do_linear_8bit(const Tensor& input, const Packed8bit& weight, const Tensor& bias) override;
  Tensor do_matmul(const Tensor& self, const Tensor& other) override;
  Tensor do_baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2) override;
  Tensor do_softmax_last(const Tensor& self, DType dtype) override;
  Tensor do_attention(const Tensor& query,
                      const Tensor& key,
                      const Tensor& value,
                      const Tensor& mask,
                      const AttentionOptions& options) override;
  Tensor do_cross_entropy(const Tensor& logits, const Tensor& target) override;
  Tensor do_liger_rms_norm(const Tensor& input, const Tensor& weight, bool in_place) override;
  Tensor do_liger_silu_mul(const Tensor& gate, const Tensor& up) override;
  Tensor do_liger_cross_entropy(const Tensor& logits, const Tensor& target) override;
  Tensor do_liger_fused_linear_cross_entropy(const Tensor& hidden,
                                             const Tensor& weight,
                                             const Tensor& target) override;
  void do_add_in_place(const Tensor& self, const Tensor& other) override;

 private:
  friend class BackwardPass;
  // torch.autograd.backward: a gradient for each of the roots.
  void run_backward(std::span<const Tensor> roots, std::span<Tensor> gradients);
  [[nodiscard]] bool save_tensor(Node* node, Tensor tensor);
  void unpack(Node& node);
  void recompute(Frame& frame);
  Edge edge_of(const Tensor& input);
  void accumulate_grad(Node& node, Tensor gradient);
  Tensor unary(
      const char* op, const Tensor& self, Formula formula, bool save_self, bool save_result);
  Tensor overwritten(Node* node, const Tensor& self);
  Tensor mm_with_grad(const Tensor& self, const Tensor& other);
  Tensor addmm_with_grad(const Tensor& bias, const Tensor& self, const Tensor& other);
  Tensor softmax(const char* op, const Tensor& self, DType dtype);
  Tensor pad_last(const Tensor& self, std::int64_t size);
  Tensor slice_last(const Tensor& self, std::int64_t size);
  Tensor padded_flash_attention(const Tensor& query, const Tensor& key, const Tensor& value);
  Tensor flash_attention(const Tensor& query, const Tensor& key, const Tensor& value);
  Tensor cpu_attention(const Tensor& query,
                       const Tensor& key,
                       const Tensor& value,
                       const Tensor& mask);
  Tensor efficient_attention(const Tensor& query,
                             const Tensor& key,
                             const Tensor& value,
                             const Tensor& bias);
  Tensor math_attention(const Tensor& query,
                        const Tensor& key,
                        const Tensor& value,
                        Tensor bias,
                        const AttentionOptions& options);
  Tensor additive_mask(const Tensor& mask, DType dtype, bool pad);
  Tensor repeat_heads(Tensor self, std::int64_t times);
  Tensor unary_scaled(const Tensor& self);  // self * scaling, as mul.Scalar
  void fused_loss_chunks(const Tensor& hidden,
                         const Tensor& weight,
                         std::int64_t chunk,
                         bool weight_gradient);
  Tensor gemm_4bit(const Tensor& input, const Packed4bit& weight, const Tensor& bias);

  static void formula_reentrant(SymbolicEngine& engine,
                                Node& node,
                                std::array<Tensor, kMaxOutputs>& incoming,
                                Gradients& outgoing);

  DeviceModel device_;
  Events& events_;
  Pool<SymbolicTensor> tensors_;
  Pool<Storage> storages_;
  Pool<Node> nodes_;
  Phase phase_ = Phase::Load;
  Module module_;
  bool grad_enabled_ = true;
  bool in_kernel_ = false;
  bool recording_ = true;
  std::optional<DType> autocast_;
  std::vector<Tensor> autocast_cache_;  // weights with a copy
  std::uint64_t next_sequence_ = 0;
  Frame* frame_ = nullptr;    // the checkpoint whose hooks are active
  std::vector<Node*> dying_;  // nodes to drop, so that long chains do not recurse
  bool dropping_ = false;
  std::size_t largest_graph_ = 256;  // nodes of a backward pass so far
};

}  // namespace peakline::symbolic
