// transformers.optimization.Adafactor: factored second moments, and a float32 update as large as
// the parameter.
#pragma once

#include <functional>
#include <vector>

#include "peakline/engine.h"
#include "train/load.h"

namespace peakline {

// Makes one state tensor; the caller keeps it.
using MakeState = std::function<Tensor(const char* op, const Shape& shape, DType dtype)>;

void create_adafactor_states(const Parameter& parameter, const MakeState& make);

// One step: the group that decays, then the other. Where `make` is given, the states are born on
// the way, as at a first step.
void adafactor_step(Engine& e, const std::vector<Parameter>& parameters, const MakeState& make);

}  // namespace peakline
