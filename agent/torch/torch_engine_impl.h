// The computing engine's operations. Most are one line: the ATen call of the same name.
#pragma once

#include <ATen/ATen.h>

#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "torch/checkpoint.h"
#include "torch/torch_engine.h"
#include "torch/values.h"

namespace peakline::torch_engine {

class TorchEngine final : public ComputingEngine {
 public:
  explicit TorchEngine(at::DeviceType device);
  ~TorchEngine() override;

  [[nodiscard]] std::optional<std::string_view> error() const override { return error_; }

  void set_phase(Phase phase) override { phase_ = phase; }
  [[nodiscard]] Phase phase() const override { return phase_; }
  Module enter_module(Module module) override { return std::exchange(module_, module); }
  void mark(const Tensor&, Role) override {}
  void begin_leftovers() override {}
  void finish_recording() override {
    if (when_finished) std::exchange(when_finished, nullptr)();
  }
  bool set_grad_enabled(bool enabled) override;
  std::optional<DType> set_autocast(std::optional<DType> dtype) override;
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

  // ---- for checkpoints
  [[nodiscard]] Tensor wrap(at::Tensor value) const;
  void recompute(Frame& frame);

 protected:
  void destroy(TensorRecord* record) override;
  Tensor do_add(const Tensor& self, const Tensor& other) override;
  Tensor do_sub(const Tensor& self, const Tensor& other) override;
  Tensor do_mul(const Tensor& self, const Tensor& other) override;
  Tensor do_div(const Tensor& self, const Tensor& other) override;
  Tensor do_add_scalar(const Tensor& self) override;
  Tensor do_sub_scalar(const Tensor& self) override;
  Tensor do_mul_scalar(const Tensor& self) override;
  Tensor do_div_scalar(const Tensor& self) override;
  Tensor do_neg(const Tensor& self) override;
  Tensor do_square(const Tensor& self) override;
  Tensor do_rsqrt(const Tensor& self) override;
  Tensor do_tanh(const Tensor& self) override;
  Tensor do_silu(const Tensor& self) override;
  Tensor do_gelu(const Tensor& self) override;
  Tensor do_relu(const Tensor& self) override;
  Tensor do_iadd(const Tensor& self, const Tensor& other) override;
  Tensor do_icopy_part(const Tensor& self, const Tensor& source) override;
  Tensor do_iclamp(const Tensor& self) override;
  Tensor do_imul_scalar(const Tensor& self) override;
  Tensor do_idiv_scalar(const Tensor& self) override;
  Tensor do_index_one(const Tensor& self, int dim) override;
  Tensor do_liger_cross_entropy(const Tensor& logits, const Tensor& target) override;
  Tensor do_gelu_recomputed(const Tensor& self) override;
  Tensor do_pointwise(const char* op, const Tensor& self, DType result) override;
  Tensor do_dropout(const Tensor& self) override;
  Tensor do_to(const Tensor& self, DType dtype) override;
  Tensor do_clone(const Tensor& self) override;
  Tensor do_contiguous(const Tensor& self) override;
  Tensor do_view(const Tensor& self, const Shape& shape) override;
  Tensor do_reshape(const Tensor& self, const Shape& shape) override;
  Tensor do_expand(const Tensor& self, const Shape& shape) override;
  Tensor do_transpose(const Tensor& self, int dim0, int dim1) override;
  Tensor do_unsqueeze(const Tensor& self, int dim) override;
  Tensor do_slice(const Tensor& self,
                  int dim,
                  std::int64_t start,
                  std::int64_t end,
                  std::int64_t step) override;
  Tensor do_select(const Tensor& self, int dim, std::int64_t index) override;
  Tensor do_cat(const Tensor& first, const Tensor& second, int dim) override;
  Tensor do_stack_last(const Tensor& first, const Tensor& second) override;
  Tensor do_mean_last(const Tensor& self) override;
  Tensor do_sum(const Tensor& self) override;
  Tensor do_norm_last(const Tensor& self) override;
  Tensor do_embedding(const Tensor& weight, const Tensor& indices) override;
  Tensor do_linear(const Tensor& input, const Tensor& weight, const Tensor& bias) override;
  Tensor do_addmm(const Tensor& bias, const Tensor& input, const Tensor& weight) override;
  Tensor do_where(const Tensor& condition, const Tensor& self) override;
  Tensor do_softmax_as_is(const Tensor& self) override;
  Tensor do_layer_norm(const Tensor& input, const Tensor& weight, const Tensor& bias) override;
  Tensor do_linear_4bit(const Tensor& input, const Packed4bit& weight, const Tensor& bias) override;
  Tensor do_linear_8bit(const Tensor& input, const Packed8bit& weight, const Tensor& bias) override;
  Tensor do_dequantize_4bit(const Packed4bit& weight) override;
  Tensor do_baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2) override;
  Tensor do_matmul(const Tensor& self, const Tensor& other) override;
  Tensor do_softmax_last(const Tensor& self, DType dtype) override;
  Tensor do_attention(const Tensor& query,
                      const Tensor& key,
                      const Tensor& value,
                      const Tensor& mask,
                      const AttentionOptions& options) override;
  Tensor do_cross_entropy(const Tensor& logits, const Tensor& target) override;
  Tensor do_liger_rms_norm(const Tensor& input, const Tensor& weight, bool in_place) override;
  Tensor do_liger_silu_mul(const Tensor& gate, const Tensor& up) override;
  Tensor do_liger_fused_linear_cross_entropy(const Tensor& hidden,
                                             const Tensor& weight,
                                             const Tensor& target) override;
  void do_add_in_place(const Tensor& self, const Tensor& other) override;

 private:
  // Runs ATen calls; what they throw becomes the sticky error.
  template <class Call>
  void attempt(const char* op, Call&& call) {
    try {
      call();
    } catch (const StopRecomputation&) {
      halted_ = true;
    } catch (const std::exception& error) {
      fail(op, error.what());
    }
  }
  // One call with one result.
  template <class Call>
  Tensor computed(const char* op, Call&& call) {
    Tensor out;
    attempt(op, [&] { out = wrap(call()); });
    return out;
  }
  // Liger's kernels are Triton programs; this engine has none.
  Tensor no_liger(const char* op) {
    fail(op, "got a Liger kernel, which only Triton runs; set use_liger_kernel=false");
    return {};
  }
  void fail(const char* op, std::string_view what);
  [[nodiscard]] at::TensorOptions options(DType dtype) const;

  at::DeviceType device_;
  Phase phase_ = Phase::Load;
  Module module_;
  std::optional<DType> autocast_;
  std::optional<std::string> error_;
};

}  // namespace peakline::torch_engine
