// Normalisation over the last dimension.
#pragma once

#include "model/modules.h"

namespace peakline {

// input [..., n] -> the same shape. A module: the caller's handle on `input` outlives the call.
[[nodiscard]] Tensor norm(Engine& e, const Tensor& input, const Norm& module, std::int32_t layer);

// states = norm(states), where there is one.
void apply_norm(Engine& e, const std::optional<Norm>& module, Tensor& states, std::int32_t layer);

}  // namespace peakline
