// The activation that transformers writes as a Python autograd function: a node that keeps its
// input and computes everything again. Its arithmetic is the step's own (symbolic/functions.h).
#pragma once

#include <ATen/ATen.h>

#include "torch/torch_engine_impl.h"

namespace peakline::torch_engine {

[[nodiscard]] at::Tensor gelu_recomputed(TorchEngine& engine, const Tensor& input);

}  // namespace peakline::torch_engine
