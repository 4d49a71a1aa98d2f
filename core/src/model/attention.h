// Grouped-query self-attention with rotary positions.
#pragma once

#include "model/modules.h"
#include "model/rotary.h"

namespace peakline {

// hidden_states [B, S, H] -> [B, S, H]; `mask` bool [B, 1, S, S] or undefined.
[[nodiscard]] Tensor attention(Engine& e, const Tensor& hidden_states, const DecoderLayer& layer,
                               const Rotation& rotation, const Tensor& mask, const ModelOptions& options,
                               std::int32_t index);

}  // namespace peakline
