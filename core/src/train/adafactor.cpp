#include "train/adafactor.h"

#include <utility>

namespace peakline {

namespace {

bool is_factored(const Shape& shape) {
  return shape.rank() >= 2;
}

void make_moments(const Shape& shape, const MakeState& make) {
  if (!is_factored(shape)) {
    make("zeros_like", shape, DType::Float32);
    return;
  }
  make("_to_copy", Shape{shape[0]}, DType::Float32);
  make("_to_copy", Shape{shape[1]}, DType::Float32);
}

// tensor.norm(2) / numel ** 0.5
Tensor root_mean_square(Engine& e) {
  Tensor norm = e.factory("linalg_vector_norm", Shape{}, DType::Float32);
  return e.pointwise("div.Tensor", std::move(norm), DType::Float32);
}

// _approx_sq_grad: a whole matrix from a row and a column.
Tensor factored_update(Engine& e, const Shape& shape) {
  { Tensor row_mean = e.factory("mean.dim", Shape{shape[0]}, DType::Float32); }
  { Tensor column_mean = e.factory("mean.dim", Shape{shape[1]}, DType::Float32); }
  Tensor mean = e.factory("mean.dim", Shape{1}, DType::Float32);
  Tensor row = e.factory("div.Tensor", Shape{shape[0]}, DType::Float32);
  mean.reset();
  Tensor column = e.factory("rsqrt", Shape{1, shape[1]}, DType::Float32);
  return e.factory("mul.Tensor", shape, DType::Float32);
}

// The names that Adafactor.step assigns in its loops outlive an iteration: the last parameter's
// gradient, copy and update are dropped when the next one's replace them.
class AdafactorStep {
 public:
  AdafactorStep(Engine& e, const MakeState& make) : e_(e), make_(make) {}

  // transformers 5.24, optimization.py, Adafactor.step, one parameter.
  void update(const Tensor& parameter) {
    const Shape shape = parameter.sizes();
    grad_ = e_.grad(parameter);
    if (!grad_.defined()) return;
    grad_ = e_.to(std::move(grad_), DType::Float32);
    if (make_) make_moments(shape, make_);
    p_data_fp32_ = parameter;
    p_data_fp32_ = e_.to(std::move(p_data_fp32_), DType::Float32);
    if (make_) {
      Tensor norm = e_.factory("linalg_vector_norm", Shape{}, DType::Float32);
      make_("div.Tensor", Shape{}, DType::Float32);
    } else {
      Tensor rms = root_mean_square(e_);
    }
    {
      Tensor squares = e_.factory("pow.Tensor_Scalar", shape, DType::Float32);
      Tensor shifted = e_.pointwise("add.Tensor", std::move(squares), DType::Float32);
      update_ = std::move(shifted);
    }
    {
      Tensor next = is_factored(shape) ? factored_update(e_, shape)
                                       : e_.factory("rsqrt", shape, DType::Float32);
      update_ = std::move(next);
    }
    {
      Tensor rms = root_mean_square(e_);
      Tensor clipped = e_.pointwise("div.Tensor", std::move(rms), DType::Float32);
    }
    Tensor negative = e_.factory("neg", shape, DType::Float32);
  }

 private:
  Engine& e_;
  const MakeState& make_;
  Tensor grad_;
  Tensor p_data_fp32_;
  Tensor update_;
};

}  // namespace

void create_adafactor_states(const Parameter& parameter, const MakeState& make) {
  make_moments(parameter.tensor.sizes(), make);
  make("div.Tensor", Shape{}, DType::Float32);
}

void adafactor_step(Engine& e, const std::vector<Parameter>& parameters, const MakeState& make) {
  AdafactorStep step(e, make);
  for (const bool decays : {true, false}) {
    for (const Parameter& parameter : parameters) {
      if (parameter.decays == decays) step.update(parameter.tensor);
    }
  }
}

}  // namespace peakline
