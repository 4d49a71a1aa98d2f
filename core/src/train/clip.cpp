#include "train/clip.h"

#include <utility>

namespace peakline {

// Norms, their norm, and a scale in place.
Tensor clip_grad_norm(Engine& e, const std::vector<Parameter>& parameters) {
  std::vector<Tensor> gradients;
  for (const Parameter& parameter : parameters) {
    Tensor gradient = e.grad(parameter.tensor);
    if (gradient.defined()) gradients.push_back(std::move(gradient));
  }
  if (gradients.empty()) return {};
  std::vector<Tensor> norms = e.foreach_norm(gradients);
  Tensor stacked =
      e.factory("stack", Shape{static_cast<std::int64_t>(norms.size())}, norms[0].dtype());
  Tensor total = e.factory("linalg_vector_norm", Shape{}, norms[0].dtype());
  stacked.reset();
  // From the back, as a Python list dies; clear() goes one way in libstdc++ and the other in
  // libc++.
  while (!norms.empty()) norms.pop_back();
  Tensor shifted = e.add_scalar(total);
  Tensor scale = e.pointwise("reciprocal", std::move(shifted), total.dtype());
  Tensor coefficient = e.mul_scalar(std::move(scale));
  Tensor clamped = e.pointwise("clamp", std::move(coefficient), total.dtype());
  return total;
}

}  // namespace peakline
