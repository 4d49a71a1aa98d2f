// The causal mask: what is built to decide whether one is needed, and the mask itself.
#pragma once

#include <cstdint>
#include <optional>

#include "peakline/engine.h"

namespace peakline {

// attention_mask [B, S] int64 or undefined, without padding; returns bool [B, 1, S, S], or an undefined
// handle where the kernel's own causal flag does. Rule R030: a mask is built as soon as S reaches the
// sliding window, padding or not.
[[nodiscard]] Tensor causal_mask(Engine& e, const Tensor& attention_mask, const Tensor& position_ids,
                                 std::int64_t batch, std::int64_t length,
                                 std::optional<std::int64_t> sliding_window);

}  // namespace peakline
