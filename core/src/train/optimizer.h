// Optimizers as memory: what they keep for every parameter and what one step makes and drops.
#pragma once

#include <string_view>
#include <vector>

#include "peakline/engine.h"
#include "train/load.h"

namespace peakline {

// True for the names of TrainingArguments.optim that this core has rules for.
[[nodiscard]] bool is_modelled_optimizer(std::string_view optim);

class Optimizer {
 public:
  Optimizer(Engine& e, std::string_view optim) : e_(e), optim_(optim) {}
  // States are born at the first step, group by group, unless they are made before it.
  void create_states(const std::vector<Parameter>& parameters);
  // One update of every parameter.
  void step(const std::vector<Parameter>& parameters);

 private:
  void step_group(const std::vector<Parameter>& parameters, bool decays);
  void create_group(const std::vector<Parameter>& parameters, bool decays);
  void create_states_of(const Parameter& parameter);
  void create_8bit_states(const Parameter& parameter);
  Tensor state(const char* op, const Shape& shape, DType dtype);

  Engine& e_;
  std::string_view optim_;
  bool created_ = false;
  std::vector<Tensor> states_;
};

}  // namespace peakline
