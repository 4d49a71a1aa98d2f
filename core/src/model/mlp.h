// The gated feed-forward block.
#pragma once

#include "model/modules.h"

namespace peakline {

// hidden_states [B, S, H] -> [B, S, H]
[[nodiscard]] Tensor mlp(Engine& e,
                         const Tensor& hidden_states,
                         const DecoderLayer& layer,
                         const ModelOptions& options,
                         std::int32_t index);

}  // namespace peakline
