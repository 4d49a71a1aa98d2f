#include "symbolic/symbolic_engine.h"

#include <utility>

namespace peakline {

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::Load:
      return "load";
    case Phase::Data:
      return "data";
    case Phase::Forward:
      return "forward";
    case Phase::Loss:
      return "loss";
    case Phase::Backward:
      return "backward";
    case Phase::AfterBackward:
      return "after_backward";
    case Phase::Clip:
      return "clip";
    case Phase::Optimizer:
      return "optimizer";
    case Phase::AfterStep:
      return "after_step";
  }
  return "?";
}

std::unique_ptr<Engine> make_symbolic_engine(const DeviceModel& device, Events& events) {
  return std::make_unique<symbolic::SymbolicEngine>(device, events);
}

}  // namespace peakline

namespace peakline::symbolic {

SymbolicEngine::SymbolicEngine(const DeviceModel& device, Events& events)
    : device_(device), events_(events) {}

SymbolicEngine::~SymbolicEngine() {
  clear_autocast_cache();
}

void SymbolicEngine::clear_autocast_cache() {
  for (const Tensor& weight : autocast_cache_) record_of(weight).autocast_copy.reset();
  autocast_cache_.clear();
}

void SymbolicEngine::set_phase(Phase phase) {
  phase_ = phase;
  events_.phases.push_back({static_cast<std::int32_t>(events_.events.size()), phase});
}

void SymbolicEngine::mark(const Tensor& tensor, Role role) {
  if (!tensor.defined()) return;
  EventTensor& made =
      events_.tensors[static_cast<std::size_t>(record_of(tensor).storage->event_tensor)];
  if (made.role == Role::Unknown) made.role = role;
}

Tensor SymbolicEngine::fresh(const char* op,
                             const Shape& sizes,
                             const Shape& strides,
                             DType dtype) {
  Storage* storage = storages_.make();
  SymbolicTensor* tensor = tensors_.make();
  tensor->engine = this;
  tensor->references = 1;
  tensor->dtype = dtype;
  tensor->sizes = sizes;
  tensor->strides = strides;
  tensor->storage = storage;
  storage->event_tensor = static_cast<std::int32_t>(events_.tensors.size());
  record_birth(op, sizes, dtype, *storage);
  return Tensor::adopt(tensor);
}

void SymbolicEngine::record_birth(const char* op,
                                  const Shape& sizes,
                                  DType dtype,
                                  Storage& storage) {
  // Past the budget the run goes on unrecorded: its result is dropped, its structure stays sound.
  if (events_.events.size() >= kMaxEvents) {
    events_.too_large = true;
    recording_ = false;
    storage.event_tensor = 0;
    return;
  }
  EventTensor& made = events_.tensors.emplace_back();
  made.bytes = rounded_to_block(size_of(sizes.numel(), dtype));
  made.op = op;
  made.module = module_;
  made.rank = static_cast<std::int8_t>(sizes.rank());
  made.dims = sizes.dims();
  made.dtype = dtype;
  made.phase = phase_;
  made.grad_mode = grad_enabled_;
  made.kernel_temporary = in_kernel_;
  made.born = static_cast<std::int32_t>(events_.events.size());
  events_.events.push_back(storage.event_tensor);
}

Tensor SymbolicEngine::fresh(const char* op, const Shape& sizes, DType dtype) {
  return fresh(op, sizes, contiguous_strides(sizes), dtype);
}

Tensor SymbolicEngine::unsafe_alias(const Tensor& self, const Shape& sizes, const Shape& strides) {
  const SymbolicTensor& source = record_of(self);
  SymbolicTensor* tensor = tensors_.make();
  tensor->engine = this;
  tensor->references = 1;
  tensor->dtype = source.dtype;
  tensor->sizes = sizes;
  tensor->strides = strides;
  tensor->storage = source.storage;
  ++source.storage->references;
  return Tensor::adopt(tensor);
}

Tensor SymbolicEngine::alias(const Tensor& self, const Shape& sizes, const Shape& strides) {
  Tensor view = unsafe_alias(self, sizes, strides);
  const SymbolicTensor& source = record_of(self);
  record_of(view).base = source.base.defined() ? source.base : self;
  return view;
}

void SymbolicEngine::kernel_temporaries(const char* op,
                                        std::initializer_list<Temporary> temporaries) {
  std::array<Tensor, 8> alive;
  std::size_t count = 0;
  in_kernel_ = true;
  for (const Temporary& temporary : temporaries) {
    if (temporary.sizes.rank() > 0) alive[count++] = fresh(op, temporary.sizes, temporary.dtype);
  }
  in_kernel_ = false;
}

void SymbolicEngine::destroy_storage(Storage* storage) {
  if (--storage->references > 0) return;
  if (!recording_) {
    storages_.drop(storage);
    return;
  }
  EventTensor& made = events_.tensors[static_cast<std::size_t>(storage->event_tensor)];
  made.died = static_cast<std::int32_t>(events_.events.size());
  events_.events.push_back(-storage->event_tensor - 1);
  storages_.drop(storage);
}

void SymbolicEngine::destroy(TensorRecord* record) {
  auto* tensor = static_cast<SymbolicTensor*>(record);
  Node* grad_fn = std::exchange(tensor->grad_fn, nullptr);
  Storage* storage = tensor->storage;
  Tensor base = std::move(tensor->base);
  Tensor grad = std::move(tensor->grad);
  tensors_.drop(tensor);
  destroy_storage(storage);
  base.reset();
  grad.reset();
  if (grad_fn != nullptr) release(grad_fn);
}

Tensor SymbolicEngine::factory(const char* op, const Shape& shape, DType dtype) {
  if (halted_) return {};
  return fresh(op, shape, dtype);
}

void SymbolicEngine::set_requires_grad(const Tensor& tensor, bool requires_grad) {
  if (tensor.defined()) tensor.record()->requires_grad = requires_grad;
}

Tensor SymbolicEngine::detach(Tensor self) {
  if (halted_ || !self.defined()) return {};
  // No view in autograd's sense: it holds the storage, not the base and what the base holds.
  Tensor out = unsafe_alias(self, record_of(self).sizes, record_of(self).strides);
  self.reset();
  return out;
}

Tensor SymbolicEngine::grad(const Tensor& leaf) const {
  return leaf.defined() ? record_of(leaf).grad : Tensor{};
}

void SymbolicEngine::clear_grad(const Tensor& leaf) {
  if (leaf.defined()) record_of(leaf).grad.reset();
}

std::vector<Tensor> SymbolicEngine::foreach (const char* op, std::span<const Tensor> inputs) {
  std::vector<Tensor> out;
  out.reserve(inputs.size());
  for (const Tensor& input : inputs) {
    const SymbolicTensor& record = record_of(input);
    out.push_back(fresh(op, record.sizes, packed_like(record.sizes, record.strides), record.dtype));
  }
  return out;
}

std::vector<Tensor> SymbolicEngine::foreach_norm(std::span<const Tensor> inputs) {
  std::vector<Tensor> out;
  out.reserve(inputs.size());
  for (const Tensor& input : inputs)
    out.push_back(fresh("_foreach_norm.Scalar", Shape{}, input.dtype()));
  return out;
}

}  // namespace peakline::symbolic
