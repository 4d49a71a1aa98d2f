// A hand-written PyTorch loop: no scaler, no loss filter, and the outputs stay referenced through
// backward and the optimizer.
#pragma once

#include "model/causal_lm.h"
#include "peakline/train_setup.h"
#include "train/load.h"
#include "train/optimizer.h"

namespace peakline {

class PlainLoop {
 public:
  PlainLoop(Engine& e, const DenseDecoder& shape, const TrainSetup& setup);
  // zero_grad(); out = model(input_ids, labels=labels); out.loss.backward(); optimizer.step()
  // At most `micro_batches` forward and backward passes run, since later ones repeat.
  void step(std::int64_t micro_batches);

 private:
  [[nodiscard]] CausalLmOutput call_model() const;

  Engine& e_;
  const TrainSetup& setup_;
  Optimizer optimizer_;
  LoadedModel loaded_;
  Batch batch_;
  Tensor grad_norm_;
};

}  // namespace peakline
