// Queries, keys and values through narrow rows.
#pragma once

#include <vector>

#include "model/heads.h"
#include "model/rotary.h"

namespace peakline {

// q and k [B, A, S, N + R], turned where positions turn them, and v [B, A, S, V]. `held` becomes
// what the attention's frame keeps until it returns.
[[nodiscard]] SplitHeads latent_heads(Engine& e,
                                      const Tensor& hidden_states,
                                      const DecoderLayer& layer,
                                      const Rotation& rotation,
                                      const ModelOptions& options,
                                      std::int32_t index,
                                      std::vector<Tensor>& held);

}  // namespace peakline
