// torch.nn.utils.clip_grad_norm_.
#pragma once

#include <vector>

#include "peakline/engine.h"
#include "train/load.h"

namespace peakline {

// Scales the gradients in place; the total norm stays with the caller. Undefined where there are no
// gradients.
[[nodiscard]] Tensor clip_grad_norm(Engine& e, const std::vector<Parameter>& parameters);

}  // namespace peakline
