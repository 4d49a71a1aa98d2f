// Attention that reads its window from a table of booleans and computes scores in float32.
#pragma once

#include "model/attention.h"

namespace peakline {

// `window` bool [P, P]: a buffer of the module's own; `mask` additive.
[[nodiscard]] Attended windowed_attention(Engine& e,
                                          const Tensor& query,
                                          const Tensor& key,
                                          const Tensor& value,
                                          const Tensor& window,
                                          const Tensor& mask,
                                          const ModelOptions& options);

}  // namespace peakline
