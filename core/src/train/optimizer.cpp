#include "train/optimizer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace peakline {

namespace {

enum class Kind { AdamWForeach, AdamWFused, AdamW8bit, Sgd, Unknown };

Kind kind_of(std::string_view optim) {
  if (optim == "adamw_torch") return Kind::AdamWForeach;
  if (optim == "adamw_torch_fused") return Kind::AdamWFused;
  if (optim == "adamw_bnb_8bit" || optim == "adamw_8bit") return Kind::AdamW8bit;
  if (optim == "sgd") return Kind::Sgd;
  return Kind::Unknown;
}

// bitsandbytes 0.50, optim/optimizer.py: smaller tensors keep 32-bit states; one absmax per 256 values.
constexpr std::int64_t kMin8bitElements = 4096;
constexpr std::int64_t kStateBlock = 256;

}  // namespace

bool is_modelled_optimizer(std::string_view optim) { return kind_of(optim) != Kind::Unknown; }

void Optimizer::create_states(const std::vector<Parameter>& parameters) {
  create_group(parameters, true);
  create_group(parameters, false);
  created_ = true;
}

void Optimizer::step(const std::vector<Parameter>& parameters) {
  step_group(parameters, true);
  step_group(parameters, false);
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

// Trainer makes two groups, with and without weight decay; each is one call of the optimizer's kernel.
void Optimizer::step_group(const std::vector<Parameter>& parameters, bool decays) {
  if (!created_) create_group(parameters, decays);
  if (kind_of(optim_) != Kind::AdamWForeach) return;
  std::vector<Tensor> second_moments;
  for (const Parameter& parameter : parameters) {
    if (parameter.decays == decays) second_moments.push_back(parameter.tensor);
  }
  // Rule R050: foreach AdamW takes the square roots of all second moments at once, one more copy of the
  // parameters; the fused kernel takes none.
  std::vector<Tensor> denominators = e_.foreach("_foreach_sqrt", second_moments);
  while (!denominators.empty()) denominators.pop_back();
}

void Optimizer::create_states_of(const Parameter& parameter) {
  const Shape& shape = parameter.tensor.sizes();
  const DType dtype = parameter.tensor.dtype();
  switch (kind_of(optim_)) {
    case Kind::AdamWFused:
      state("zeros", Shape{}, DType::Float32);  // the fused kernel's step counter lives on the device
      [[fallthrough]];
    case Kind::AdamWForeach:
      state("zeros_like", shape, dtype);
      state("zeros_like", shape, dtype);
      return;
    case Kind::AdamW8bit:
      create_8bit_states(parameter);
      return;
    case Kind::Sgd:
    case Kind::Unknown:
      return;
  }
}

// Rule R051: 8-bit states, except for embeddings and small tensors.
void Optimizer::create_8bit_states(const Parameter& parameter) {
  const Shape& shape = parameter.tensor.sizes();
  const std::int64_t elements = shape.numel().count();
  if (parameter.embedding || elements < kMin8bitElements) {
    state("zeros_like", shape, DType::Float32);
    state("zeros_like", shape, DType::Float32);
    return;
  }
  const bool first = std::none_of(states_.begin(), states_.end(),
                                  [](const Tensor& t) { return t.dtype() == DType::UInt8; });
  if (first) {
    state("_to_copy", Shape{256}, DType::Float32);
    state("_to_copy", Shape{256}, DType::Float32);
  }
  const std::int64_t blocks = (elements + kStateBlock - 1) / kStateBlock;
  state("zeros_like", shape, DType::UInt8);
  state("zeros_like", shape, DType::UInt8);
  state("zeros", Shape{blocks}, DType::Float32);
  state("zeros", Shape{blocks}, DType::Float32);
}

}  // namespace peakline
