// bitsandbytes' 4-bit linear, written with ATen calls: the weight is read back whole, multiplied
// with, and dropped. The reference that a kernel is compared with.
// Source: bitsandbytes 0.50, autograd/_functions.py (MatMul4Bit), functional.py (dequantize_4bit).
#pragma once

#include <ATen/ATen.h>

#include "peakline/engine.h"

namespace peakline::torch_engine {

// `weight` outlives the backward pass. input [..., in]; bias [out] or undefined.
[[nodiscard]] at::Tensor linear_4bit(const at::Tensor& input,
                                     const Packed4bit& weight,
                                     const at::Tensor& bias);

// bitsandbytes.functional.dequantize_4bit: the whole weight, in the type it was quantised from.
[[nodiscard]] at::Tensor dequantize_4bit(const Packed4bit& weight);

}  // namespace peakline::torch_engine
