#include "model/named_layer.h"

#include <utility>

#include "model/activation.h"
#include "model/attention.h"
#include "model/linear.h"
#include "model/mlp.h"
#include "model/norm.h"

namespace peakline {

namespace {

void drop(Engine& e, Tensor& hidden_states, const ModelOptions& options) {
  if (options.block_dropout == BlockDropout::None) return;
  Tensor dropped = e.dropout(hidden_states);
  hidden_states = std::move(dropped);
}

}  // namespace

// transformers 5.24, GPT2Block.forward.
Tensor layer_of_named_results(Engine& e,
                              const Tensor& input,
                              const DecoderLayer& layer,
                              const Rotation& rotation,
                              const Tensor& mask,
                              const ModelOptions& options,
                              std::int32_t index,
                              Tensor& weights) {
  Tensor residual = input;
  Tensor hidden_states = input;
  apply_norm(e, layer.attention_norm, hidden_states, index);
  const Attended attended = attention(e, hidden_states, layer, rotation, mask, options, index);
  {
    Tensor sum = e.add(attended.hidden_states, residual);
    hidden_states = std::move(sum);
  }
  residual = hidden_states;
  apply_norm(e, layer.mlp_norm, hidden_states, index);
  if (options.returns_weights) weights = attended.weights;
  const Tensor fed = mlp(e, hidden_states, layer, options, index);
  Tensor sum = e.add(residual, fed);
  hidden_states = std::move(sum);
  return hidden_states;
}

// transformers 5.24, OPTDecoderLayer.forward.
Tensor layer_of_rows(Engine& e,
                     const Tensor& input,
                     const DecoderLayer& layer,
                     const Rotation& rotation,
                     const Tensor& mask,
                     const ModelOptions& options,
                     std::int32_t index) {
  const bool first = !options.norms_after_sums;
  Tensor residual = input;
  Tensor hidden_states = input;
  if (first) apply_norm(e, layer.attention_norm, hidden_states, index);
  Attended attended = attention(e, hidden_states, layer, rotation, mask, options, index);
  hidden_states = std::move(attended.hidden_states);
  drop(e, hidden_states, options);
  {
    Tensor sum = e.add(residual, hidden_states);
    hidden_states = std::move(sum);
  }
  if (!first) apply_norm(e, layer.attention_norm, hidden_states, index);
  const Shape shape = hidden_states.sizes();
  {
    Tensor rows = e.reshape(hidden_states, Shape{shape[0] * shape[1], shape[2]});
    hidden_states = std::move(rows);
  }
  residual = hidden_states;
  if (first) apply_norm(e, layer.mlp_norm, hidden_states, index);
  {
    Tensor up = linear(e, hidden_states, layer.up_proj, options, index);
    hidden_states = std::move(up);
  }
  {
    Tensor activated = activation(e, hidden_states, options.hidden_act);
    hidden_states = std::move(activated);
  }
  {
    Tensor down = linear(e, hidden_states, layer.down_proj, options, index);
    hidden_states = std::move(down);
  }
  drop(e, hidden_states, options);
  {
    Tensor sum = e.add(residual, hidden_states);
    Tensor whole = e.view(std::move(sum), shape);
    hidden_states = std::move(whole);
  }
  if (!first) apply_norm(e, layer.mlp_norm, hidden_states, index);
  return hidden_states;
}

}  // namespace peakline
