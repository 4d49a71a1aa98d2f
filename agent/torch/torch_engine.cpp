#include "torch/torch_engine.h"

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <cstring>

#include "torch/torch_engine_impl.h"

namespace peakline::torch_engine {

TorchEngine::TorchEngine(at::DeviceType device) : device_(device) {
  install_checkpoint_hooks();
  at::GradMode::set_enabled(true);
}

TorchEngine::~TorchEngine() {
  set_autocast(std::nullopt);
  clear_autocast_cache();
}

// ---------------------------------------------------------------- handles

Tensor TorchEngine::wrap(at::Tensor value) const {
  if (!value.defined()) return {};
  auto* record = new TorchTensor;
  record->engine = const_cast<TorchEngine*>(this);
  record->references = 1;
  record->dtype = dtype_of(value.scalar_type());
  record->requires_grad = value.requires_grad();
  for (const std::int64_t size : value.sizes()) record->sizes.push_back(size);
  record->value = std::move(value);
  return Tensor::adopt(record);
}

void TorchEngine::destroy(TensorRecord* record) {
  delete static_cast<TorchTensor*>(record);
}

void TorchEngine::fail(const char* op, std::string_view what) {
  halted_ = true;
  if (error_) return;
  // LibTorch appends where in its own sources it threw.
  error_ = std::string(op) + ": " + std::string(what.substr(0, what.find("\nException raised")));
}

at::TensorOptions TorchEngine::options(DType dtype) const {
  return at::TensorOptions().device(device_).dtype(scalar_type_of(dtype));
}

// ---------------------------------------------------------------- modes

bool TorchEngine::set_grad_enabled(bool enabled) {
  const bool outer = at::GradMode::is_enabled();
  at::GradMode::set_enabled(enabled);
  return outer;
}

std::optional<DType> TorchEngine::set_autocast(std::optional<DType> dtype) {
  at::autocast::set_autocast_enabled(device_, dtype.has_value());
  if (dtype) at::autocast::set_autocast_dtype(device_, scalar_type_of(*dtype));
  return std::exchange(autocast_, dtype);
}

void TorchEngine::clear_autocast_cache() {
  at::autocast::clear_cache();
}

// ---------------------------------------------------------------- making tensors

// "ones" and its kin hold ones; what other factories stand for is not computed, and zero.
Tensor TorchEngine::factory(const char* op, const Shape& shape, DType dtype) {
  if (halted_) return {};
  const bool ones = std::strcmp(op, "ones") == 0 || std::strcmp(op, "new_ones") == 0;
  return computed(op, [&] {
    at::Tensor made = at::empty(sizes_of(shape), options(dtype));
    return ones ? made.fill_(1) : made.zero_();
  });
}

void TorchEngine::set_requires_grad(const Tensor& tensor, bool requires_grad) {
  if (halted_ || !tensor.defined()) return;
  TorchTensor& record = record_of(tensor);
  if (record.value.is_leaf()) record.value.requires_grad_(requires_grad);
  record.requires_grad = record.value.requires_grad();
}

Tensor TorchEngine::detach(Tensor self) {
  if (halted_ || !self.defined()) return {};
  Tensor out = computed("detach", [&] { return value_of(self).detach(); });
  self.reset();
  return out;
}

// ---------------------------------------------------------------- autograd

Tensor TorchEngine::checkpoint_pair(PairFunction function,
                                    const Tensor& input,
                                    bool use_reentrant,
                                    Tensor& second) {
  if (halted_ || !input.defined()) return {};
  const auto frame = std::make_shared<Frame>();
  frame->engine = this;
  frame->function = std::move(function);
  frame->autocast = autocast_;
  if (!use_reentrant) {
    frame->input = input;
    const FrameScope scope(frame);
    return frame->function(input, second);
  }
  c10::intrusive_ptr<ReentrantCheckpoint> node;
  if (at::GradMode::is_enabled() && input.requires_grad())
    node = c10::make_intrusive<ReentrantCheckpoint>(frame, value_of(input));
  Tensor out;
  {
    const NoGrad no_grad(*this);
    out = frame->function(input, second);
  }
  if (!node || !out.defined()) return out;
  for (const Tensor* result : {&out, &second}) {
    if (!result->defined()) continue;
    torch::autograd::set_history(value_of(*result), node);
    record_of(*result).requires_grad = true;
  }
  return out;
}

void TorchEngine::recompute(Frame& frame) {
  frame.recomputed = true;
  frame.recomputing = true;
  {
    const FrameScope scope(frame.shared_from_this());
    const at::AutoGradMode with_gradients(true);
    const Tensor input = frame.input;
    const AutocastScope autocast(*this, frame.autocast);
    Tensor second;
    const Tensor unused = frame.function(input, second);
  }
  frame.recomputing = false;
  halted_ = error_.has_value();
}

void TorchEngine::backward(Tensor loss) {
  if (halted_ || !loss.requires_grad()) return;
  attempt("backward", [&] { torch::autograd::backward({value_of(loss)}); });
}

Tensor TorchEngine::grad(const Tensor& leaf) const {
  return leaf.defined() ? wrap(value_of(leaf).grad()) : Tensor{};
}

void TorchEngine::clear_grad(const Tensor& leaf) {
  if (leaf.defined()) record_of(leaf).value.mutable_grad().reset();
}

std::unique_ptr<ComputingEngine> make_torch_engine(Device device) {
  return std::make_unique<TorchEngine>(device == Device::Cpu ? at::kCPU : at::kCUDA);
}

}  // namespace peakline::torch_engine
