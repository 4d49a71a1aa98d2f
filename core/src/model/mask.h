// The causal mask: what is built to decide whether one is needed, and the mask itself.
#pragma once

#include <cstdint>
#include <optional>

#include "peakline/engine.h"

namespace peakline {

struct MaskRequest {
  std::int64_t batch = 0;
  std::int64_t length = 0;
  std::optional<std::int64_t> sliding_window;
  bool always = false;            // built whether it is needed or not
  bool padded = false;            // some token of attention_mask is masked out
  std::optional<DType> additive;  // eager attention adds a mask of this type, and always needs one
};

// attention_mask [B, S] int64 or undefined. Returns bool [B, 1, S, S] (or additive), or an
// undefined handle where the kernel's own causal flag does. Rule R030: a mask is built as soon as S
// reaches the sliding window, padding or not.
[[nodiscard]] Tensor causal_mask(Engine& e,
                                 const Tensor& attention_mask,
                                 const Tensor& position_ids,
                                 const MaskRequest& request);

// An additive mask of alibi's type with alibi in it: [B, A, S, S]. Alibi becomes [B, A, 1, S].
[[nodiscard]] Tensor mask_with_alibi(Engine& e, Tensor mask, Tensor& alibi);

}  // namespace peakline
