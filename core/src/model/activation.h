// The function inside an mlp.
#pragma once

#include "model/modules.h"

namespace peakline {

// A module: the caller's handle on `input` outlives the call.
[[nodiscard]] Tensor activation(Engine& e, const Tensor& input, HiddenAct act);

}  // namespace peakline
