// A layer that splits one projection by indices and adds attention's result to the mlp's in place.
#pragma once

#include "model/modules.h"
#include "model/rotary.h"

namespace peakline {

// `mask` bool or additive; with rotation.alibi it holds the bias already where attention is fused.
[[nodiscard]] Tensor layer_of_summed_blocks(Engine& e,
                                            const Tensor& input,
                                            const DecoderLayer& layer,
                                            const Rotation& rotation,
                                            const Tensor& mask,
                                            const ModelOptions& options,
                                            std::int32_t index,
                                            Tensor& weights);

}  // namespace peakline
