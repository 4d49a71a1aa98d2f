// Attention that learns of positions from a bias on its scores, which grows with the distance.
#pragma once

#include "model/attention.h"

namespace peakline {

// [B * A, 1, S]: each head's slope times a token's place, counted by `mask` [B, S] int64 where it
// is defined. `batch` is [B, S].
[[nodiscard]] Tensor alibi_tensor(
    Engine& e, const Shape& batch, const Tensor& mask, const ModelOptions& options, DType dtype);

// One layer whose scores start from that bias and whose blocks add the residual themselves.
[[nodiscard]] Tensor layer_of_biased_scores(Engine& e,
                                            const Tensor& input,
                                            const DecoderLayer& layer,
                                            const Tensor& alibi,
                                            const Tensor& mask,
                                            const ModelOptions& options,
                                            std::int32_t index,
                                            Tensor& weights);

}  // namespace peakline
