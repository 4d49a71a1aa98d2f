// Autograd functions that transformers' models write in Python, as calls of any engine.
#pragma once

#include "peakline/engine.h"

namespace peakline::symbolic {

// gelu's tanh approximation and its gradient, which computes everything again.
[[nodiscard]] Tensor written_out_gelu(Engine& e, const Tensor& x);
[[nodiscard]] Tensor written_out_gelu_backward(Engine& e, const Tensor& x, const Tensor& gradient);

}  // namespace peakline::symbolic
