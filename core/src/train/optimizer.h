// Optimizers as memory: what they keep for every parameter and what one step makes and drops.
#pragma once

#include <string_view>
#include <vector>

#include "peakline/engine.h"
#include "train/load.h"

namespace peakline {

// The code behind an `optim` of TrainingArguments.
enum class OptimizerKind : std::uint8_t {
  AdamWForeach,  // torch.optim.AdamW, one kernel over lists
  AdamWFused,
  Sgd,             // torch.optim.SGD without momentum
  RmspropForeach,  // torch.optim.RMSprop
  AdagradForeach,  // torch.optim.Adagrad
  Adafactor,       // transformers.optimization.Adafactor
  Bitsandbytes,    // bitsandbytes' blockwise or 32-bit optimizers
  Ademamix,        // bitsandbytes' too, with two moments in one tensor
};

struct OptimizerRow {
  std::string_view name;
  OptimizerKind kind;
  int states = 0;      // moments per parameter, where the kind leaves it open
  int bits = 32;       // of one value of a moment
  bool paged = false;  // moments of large tensors in managed memory, which no CUDA counter sees
};

// nullptr for names of TrainingArguments.optim that this core has no rules for.
[[nodiscard]] const OptimizerRow* find_optimizer(std::string_view optim);

// What a paged optimizer keeps of one parameter in managed memory.
[[nodiscard]] Bytes paged_state_bytes(const OptimizerRow& row,
                                      std::int64_t elements,
                                      bool embedding);

class Optimizer {
 public:
  // `row` may be null where no step is taken.
  Optimizer(Engine& e, const OptimizerRow* row) : e_(e), row_(row) {}
  // States are born at the first step, group by group, unless they are made before it; Adagrad's
  // are when the optimizer is built. accelerate then moves its step counters to the device.
  void build(const std::vector<Parameter>& parameters, bool accelerate);
  void create_states(const std::vector<Parameter>& parameters);
  // One update of every parameter.
  void step(const std::vector<Parameter>& parameters);

 private:
  void step_group(const std::vector<Parameter>& parameters, bool decays);
  void create_group(const std::vector<Parameter>& parameters, bool decays);
  void create_states_of(const Parameter& parameter);
  void create_bitsandbytes_states(const Parameter& parameter);
  void create_ademamix_states(const Parameter& parameter);
  void create_code_tables();
  void step_adafactor(const std::vector<Parameter>& parameters);
  Tensor state(const char* op, const Shape& shape, DType dtype);

  Engine& e_;
  const OptimizerRow* row_;
  bool created_ = false;
  bool has_code_tables_ = false;
  std::vector<Tensor> states_;
};

}  // namespace peakline
