// Puts a model's tensors into an engine: what is alive before the first step, in birth order.
#pragma once

#include <vector>

#include "model/modules.h"
#include "peakline/architecture.h"
#include "peakline/train_setup.h"

namespace peakline {

// model.parameters() with what the optimizer asks about each. In module order.
struct Parameter {
  Tensor tensor;
  bool decays = true;      // Trainer.get_decay_parameter_names: no norms, no biases
  bool embedding = false;  // bitsandbytes keeps these in 32 bit
};

struct LoadedModel {
  CausalLm model;
  std::vector<Parameter> trainable;
  std::vector<Tensor> originals;  // of modules whose copies are trained
  Tensor dynamic_code;  // bitsandbytes' table of 8-bit values; defined under double quantisation
};

[[nodiscard]] LoadedModel load_model(Engine& e, const DenseDecoder& shape, const TrainSetup& setup);

}  // namespace peakline
