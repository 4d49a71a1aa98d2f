// nn.Linear, bitsandbytes' Linear4bit and PEFT's LoRA on either.
#pragma once

#include "model/modules.h"

namespace peakline {

// input [..., in] -> [..., out]. A module: the caller's handle on `input` outlives the call.
[[nodiscard]] Tensor linear(Engine& e,
                            const Tensor& input,
                            const Linear& module,
                            const ModelOptions& options,
                            std::int32_t layer);

}  // namespace peakline
