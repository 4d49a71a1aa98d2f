// Layers whose Python names keep results that other layers let go.
#pragma once

#include "model/modules.h"
#include "model/rotary.h"

namespace peakline {

// Every block's result has a name of its own until the layer returns.
[[nodiscard]] Tensor layer_of_named_results(Engine& e,
                                            const Tensor& input,
                                            const DecoderLayer& layer,
                                            const Rotation& rotation,
                                            const Tensor& mask,
                                            const ModelOptions& options,
                                            std::int32_t index,
                                            Tensor& weights);

// The mlp sees rows, [B * S, H], and its parts stand in the layer itself.
[[nodiscard]] Tensor layer_of_rows(Engine& e,
                                   const Tensor& input,
                                   const DecoderLayer& layer,
                                   const Rotation& rotation,
                                   const Tensor& mask,
                                   const ModelOptions& options,
                                   std::int32_t index);

}  // namespace peakline
