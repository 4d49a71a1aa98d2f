// One layer of a decoder: attention and mlp, their norms and residuals.
#pragma once

#include "model/modules.h"
#include "model/rotary.h"

namespace peakline {

// input [B, S, H] -> [B, S, H]; `mask` as for attention;
// `weights` become those of eager attention where the layer returns them.
[[nodiscard]] Tensor decoder_layer(Engine& e,
                                   const Tensor& input,
                                   const DecoderLayer& layer,
                                   const Rotation& rotation,
                                   const Tensor& mask,
                                   const ModelOptions& options,
                                   std::int32_t index,
                                   Tensor& weights);

}  // namespace peakline
