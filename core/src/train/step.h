// The training step: load, then optimizer steps, as the trainer runs them.
#pragma once

#include <string>

#include "peakline/architecture.h"
#include "peakline/engine.h"
#include "peakline/train_setup.h"

namespace peakline {

// Steady state is the second step: optimizer states exist, gradients start as none.
enum class History : std::uint8_t {
  BothSteps,   // load, step one, step two: a timeline
  SteadyStep,  // step two alone, on what step one left behind: the same peak for half the work
};

// What of this setup has no rules yet, as a sentence; empty where the step is modelled.
[[nodiscard]] std::string not_modelled(const DenseDecoder& shape, const TrainSetup& setup);

// Forward and backward passes in one optimizer step of such a run.
[[nodiscard]] std::int64_t micro_batches_run(const TrainSetup& setup, History history);

void run_training(Engine& e, const DenseDecoder& shape, const TrainSetup& setup, History history);

}  // namespace peakline
