#include "model/activation.h"

#include <utility>

namespace peakline {

namespace {

// transformers 5.24, activations.py, NewGELUActivation. Rule R062: eight activations where the
// kernel has one.
// 0.5 * x * (1.0 + tanh(sqrt(2 / pi) * (x + 0.044715 * x.pow(3))))
Tensor gelu_unfused(Engine& e, const Tensor& input) {
  Tensor half = e.mul_scalar(input);
  Tensor power = e.power(input);
  Tensor scaled = e.mul_scalar(std::move(power));
  Tensor sum = e.add(input, std::move(scaled));
  Tensor argument = e.mul_scalar(std::move(sum));
  Tensor bent = e.tanh(std::move(argument));
  Tensor factor = e.add_scalar(std::move(bent));
  return e.mul(std::move(half), std::move(factor));
}

}  // namespace

Tensor activation(Engine& e, const Tensor& input, HiddenAct act) {
  switch (act) {
    case HiddenAct::Silu:
      return e.silu(input);
    case HiddenAct::Gelu:
    case HiddenAct::GeluTanh:
      return e.gelu(input);
    case HiddenAct::GeluUnfused:
      return gelu_unfused(e, input);
    case HiddenAct::GeluRecomputed:
      return e.gelu_recomputed(input);
    case HiddenAct::Relu:
      return e.relu(input);
  }
  return {};
}

}  // namespace peakline
