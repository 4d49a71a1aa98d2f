#include "train/optimizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "train/adafactor.h"

namespace peakline {

namespace {

using enum OptimizerKind;

constexpr std::array kOptimizers = {
    OptimizerRow{"adamw_torch", AdamWForeach},
    OptimizerRow{"adamw_torch_fused", AdamWFused},
    OptimizerRow{"sgd", Sgd},
    OptimizerRow{"rmsprop", RmspropForeach},
    OptimizerRow{"adagrad", AdagradForeach},
    OptimizerRow{"adafactor", Adafactor},
    OptimizerRow{"adamw_bnb_8bit", Bitsandbytes, 2, 8},
    OptimizerRow{"adamw_8bit", Bitsandbytes, 2, 8},
    OptimizerRow{"paged_adamw_8bit", Bitsandbytes, 2, 8, true},
    OptimizerRow{"paged_adamw_32bit", Bitsandbytes, 2, 32, true},
    OptimizerRow{"lion_32bit", Bitsandbytes, 1, 32},
    OptimizerRow{"lion_8bit", Bitsandbytes, 1, 8},
    OptimizerRow{"paged_lion_32bit", Bitsandbytes, 1, 32, true},
    OptimizerRow{"paged_lion_8bit", Bitsandbytes, 1, 8, true},
    OptimizerRow{"rmsprop_bnb", Bitsandbytes, 1, 32},
    OptimizerRow{"rmsprop_bnb_32bit", Bitsandbytes, 1, 32},
    OptimizerRow{"rmsprop_bnb_8bit", Bitsandbytes, 1, 8},
    OptimizerRow{"ademamix", Ademamix, 2, 32},
    OptimizerRow{"ademamix_8bit", Ademamix, 2, 8},
    OptimizerRow{"paged_ademamix_32bit", Ademamix, 2, 32, true},
    OptimizerRow{"paged_ademamix_8bit", Ademamix, 2, 8, true},
};

// bitsandbytes 0.50, optim/optimizer.py: smaller tensors keep 32-bit states, smaller still stay
// unpaged; one absmax per 256 values.
constexpr std::int64_t kMin8bitElements = 4096;
constexpr std::int64_t kMinPagedElements = 100000;
constexpr std::int64_t kStateBlock = 256;
constexpr std::int64_t kCodeTable = 256;

bool is_paged(const OptimizerRow& row, std::int64_t elements) {
  return row.paged && elements >= kMinPagedElements;
}

// Rule R051: 8-bit states, except for embeddings and small tensors.
bool is_8bit(const OptimizerRow& row, std::int64_t elements, bool embedding) {
  return row.bits == 8 && !embedding && elements >= kMin8bitElements;
}

}  // namespace

const OptimizerRow* find_optimizer(std::string_view optim) {
  const auto found = std::find_if(kOptimizers.begin(),
                                  kOptimizers.end(),
                                  [&](const OptimizerRow& row) { return row.name == optim; });
  return found == kOptimizers.end() ? nullptr : &*found;
}

Bytes paged_state_bytes(const OptimizerRow& row, std::int64_t elements, bool embedding) {
  if (!is_paged(row, elements)) return Bytes(0);
  const bool in_8bit = is_8bit(row, elements, embedding);
  const int moments = row.kind == Ademamix ? 3 : row.states;
  return size_of(Elements(elements), in_8bit ? DType::UInt8 : DType::Float32) * moments;
}

void Optimizer::build(const std::vector<Parameter>& parameters, bool accelerate) {
  if (row_ == nullptr || row_->kind != AdagradForeach) return;
  create_states(parameters);
  // accelerate 1.15, optimizer.py: AcceleratedOptimizer moves the state dict.
  for (std::size_t i = 0; accelerate && i < parameters.size(); ++i)
    state("_to_copy", Shape{}, DType::Float32);
}

void Optimizer::create_states(const std::vector<Parameter>& parameters) {
  if (created_) return;
  create_group(parameters, true);
  create_group(parameters, false);
  created_ = true;
}

void Optimizer::step(const std::vector<Parameter>& parameters) {
  if (row_->kind == Adafactor) {
    step_adafactor(parameters);
  } else {
    step_group(parameters, true);
    step_group(parameters, false);
  }
  created_ = true;
}

void Optimizer::create_group(const std::vector<Parameter>& parameters, bool decays) {
  for (const Parameter& parameter : parameters) {
    if (parameter.decays == decays) create_states_of(parameter);
  }
}

Tensor Optimizer::state(const char* op, const Shape& shape, DType dtype) {
  ModuleScope scope(e_, "optimizer state");
  Tensor tensor = e_.factory(op, shape, dtype);
  e_.mark(tensor, Role::Optimizer);
  states_.push_back(tensor);
  return tensor;
}

// Trainer makes two groups, with and without weight decay; each is one call of the optimizer's
// kernel.
void Optimizer::step_group(const std::vector<Parameter>& parameters, bool decays) {
  if (!created_) create_group(parameters, decays);
  const bool foreach =
      row_->kind == AdamWForeach || row_->kind == RmspropForeach || row_->kind == AdagradForeach;
  if (!foreach) return;
  std::vector<Tensor> moments;
  for (const Parameter& parameter : parameters) {
    if (parameter.decays == decays) moments.push_back(parameter.tensor);
  }
  // Rule R050: a foreach kernel takes the square roots of all second moments at once, one more copy
  // of the parameters; the fused kernel takes none. Adagrad scales the gradients into another.
  std::vector<Tensor> denominators = e_.foreach ("_foreach_sqrt", moments);
  std::vector<Tensor> updates;
  if (row_->kind == AdagradForeach) updates = e_.foreach ("_foreach_mul.ScalarList", moments);
  while (!denominators.empty()) denominators.pop_back();
  while (!updates.empty()) updates.pop_back();
}

void Optimizer::step_adafactor(const std::vector<Parameter>& parameters) {
  MakeState make;
  if (!created_) {
    make = [this](const char* op, const Shape& shape, DType dtype) {
      return state(op, shape, dtype);
    };
  }
  adafactor_step(e_, parameters, make);
}

void Optimizer::create_states_of(const Parameter& parameter) {
  const Shape& shape = parameter.tensor.sizes();
  const DType dtype = parameter.tensor.dtype();
  switch (row_->kind) {
    case AdamWFused:
      state(
          "zeros", Shape{}, DType::Float32);  // the fused kernel's step counter lives on the device
      [[fallthrough]];
    case AdamWForeach:
      state("zeros_like", shape, dtype);
      state("zeros_like", shape, dtype);
      return;
    case RmspropForeach:
      state("zeros_like", shape, dtype);
      return;
    case AdagradForeach:
      state("full_like", shape, dtype);
      return;
    case Ademamix:
      create_ademamix_states(parameter);
      return;
    case Bitsandbytes:
      create_bitsandbytes_states(parameter);
      return;
    case Adafactor:
      create_adafactor_states(
          parameter, [this](const char* op, const Shape& s, DType d) { return state(op, s, d); });
      return;
    case Sgd:
      return;
  }
}

void Optimizer::create_code_tables() {
  for (int i = 0; i < row_->states && !has_code_tables_; ++i)
    state("_to_copy", Shape{kCodeTable}, DType::Float32);
  has_code_tables_ = true;
}

// Rule R052: paged states of large tensors take no device memory that a counter sees.
void Optimizer::create_bitsandbytes_states(const Parameter& parameter) {
  const Shape& shape = parameter.tensor.sizes();
  const std::int64_t elements = shape.numel().count();
  const bool in_8bit = is_8bit(*row_, elements, parameter.embedding);
  if (in_8bit) create_code_tables();
  const bool on_device = !is_paged(*row_, elements);
  for (int i = 0; i < row_->states && on_device; ++i) {
    state("zeros_like", shape, in_8bit ? DType::UInt8 : DType::Float32);
  }
  const std::int64_t blocks = divide_up(elements, kStateBlock);
  for (int i = 0; i < row_->states && in_8bit; ++i) state("zeros", Shape{blocks}, DType::Float32);
}

// bitsandbytes 0.50, optim/ademamix.py, init_state: the fast and the slow moment are one tensor.
void Optimizer::create_ademamix_states(const Parameter& parameter) {
  const Shape& shape = parameter.tensor.sizes();
  const std::int64_t elements = shape.numel().count();
  const bool in_8bit = is_8bit(*row_, elements, parameter.embedding);
  if (in_8bit) {
    create_code_tables();
    const std::int64_t blocks = divide_up(elements, kStateBlock);
    state("zeros", Shape{2, blocks}, DType::Float32);
    state("zeros", Shape{blocks}, DType::Float32);
  }
  if (is_paged(*row_, elements)) return;
  Shape both{2};
  for (int i = 0; i < shape.rank(); ++i) both.push_back(shape[i]);
  const DType dtype = in_8bit ? DType::UInt8 : DType::Float32;
  state("zeros", both, dtype);
  state("zeros_like", shape, dtype);
}

}  // namespace peakline
