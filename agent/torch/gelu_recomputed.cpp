#include "torch/gelu_recomputed.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include "symbolic/functions.h"

namespace peakline::torch_engine {
namespace {

using torch::autograd::variable_list;

class GeluRecomputed final : public torch::autograd::Node {
 public:
  GeluRecomputed(TorchEngine& engine, const at::Tensor& input)
      : Node(torch::autograd::collect_next_edges(input)), engine_(engine) {}

  void save(const at::Tensor& input) { input_ = {input, /*is_output=*/false}; }

  variable_list apply(variable_list&& gradients) override {
    const Tensor input = engine_.wrap(input_.unpack());
    const Tensor gradient = engine_.wrap(gradients[0]);
    const Tensor out = symbolic::written_out_gelu_backward(engine_, input, gradient);
    return {value_of(out)};
  }
  void release_variables() override { input_.reset_data(); }

 private:
  TorchEngine& engine_;
  torch::autograd::SavedVariable input_;
};

}  // namespace

at::Tensor gelu_recomputed(TorchEngine& engine, const Tensor& input) {
  c10::intrusive_ptr<GeluRecomputed> node;
  if (torch::autograd::compute_requires_grad(value_of(input)))
    node = c10::make_intrusive<GeluRecomputed>(engine, value_of(input));
  at::Tensor out;
  {
    const NoGrad no_grad(engine);
    out = value_of(symbolic::written_out_gelu(engine, input));
  }
  if (!node || !out.defined()) return out;
  node->save(value_of(input));
  torch::autograd::set_history(out, node);
  return out;
}

}  // namespace peakline::torch_engine
