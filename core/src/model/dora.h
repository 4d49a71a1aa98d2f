// PEFT's weight-decomposed adapter (DoRA) on a linear layer.
#pragma once

#include "model/modules.h"

namespace peakline {

// `x` is the input as the adapter takes it. Adds to `result` what the decomposition changes of it.
void add_dora(Engine& e, const Tensor& x, const Linear& module, Tensor& result);

}  // namespace peakline
