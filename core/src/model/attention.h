// Grouped-query self-attention with rotary positions.
#pragma once

#include "model/modules.h"
#include "model/rotary.h"

namespace peakline {

struct Attended {
  Tensor hidden_states;  // [B, S, H]
  Tensor weights;        // [B, A, S, S] of eager attention
};

// hidden_states [B, S, H]; `mask` bool [B, 1, S, S], additive for eager attention, or undefined.
[[nodiscard]] Attended attention(Engine& e,
                                 const Tensor& hidden_states,
                                 const DecoderLayer& layer,
                                 const Rotation& rotation,
                                 const Tensor& mask,
                                 const ModelOptions& options,
                                 std::int32_t index);

}  // namespace peakline
