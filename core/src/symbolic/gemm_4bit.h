// When bitsandbytes multiplies packed 4-bit weights in one kernel, and when it dequantises first.
#pragma once

#include <cstdint>

#include "peakline/dtype.h"

namespace peakline::symbolic {

struct GemmCard {
  int compute_capability = 80;  // major * 10 + minor
  std::int64_t sm_count = 108;
  DType dtype = DType::BFloat16;  // of the input
};

// Rule: the fused kernel runs for up to a number of rows that depends on the card and the weight's
// shape; with more rows the weight is dequantised to a full matrix for the time of the product.
// Source: _gemm_4bit_use_custom_cuda in bitsandbytes/backends/cuda/ops.py (0.50.2), blocksize 64.
[[nodiscard]] bool uses_fused_gemm_4bit(const GemmCard& card,
                                        std::int64_t rows,
                                        std::int64_t out_features,
                                        std::int64_t in_features);

}  // namespace peakline::symbolic
