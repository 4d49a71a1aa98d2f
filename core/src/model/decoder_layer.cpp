#include "model/decoder_layer.h"

#include <utility>

#include "model/alibi.h"
#include "model/attention.h"
#include "model/mlp.h"
#include "model/named_layer.h"
#include "model/norm.h"
#include "model/summed_blocks.h"

namespace peakline {

namespace {

// hidden_states = residual + hidden_states, in some models times a number or dropped first.
void add_residual(Engine& e,
                  const Tensor& residual,
                  Tensor& hidden_states,
                  const ModelOptions& options) {
  Tensor sum;
  if (options.block_dropout == BlockDropout::AtResidual) {
    Tensor dropped = e.dropout(hidden_states);
    sum = e.add(residual, std::move(dropped));
  } else if (options.scaled_residuals) {
    Tensor scaled = e.mul_scalar(hidden_states);
    sum = e.add(residual, std::move(scaled));
  } else {
    sum = e.add(residual, hidden_states);
  }
  hidden_states = std::move(sum);
}

// transformers 5.24, LlamaDecoderLayer, Olmo2DecoderLayer and Gemma2DecoderLayer.forward differ in
// where norms stand: before a block, after it, or both.
Tensor blocks_in_turn(Engine& e,
                      const Tensor& input,
                      const DecoderLayer& layer,
                      const Rotation& rotation,
                      const Tensor& mask,
                      const ModelOptions& options,
                      std::int32_t index) {
  Tensor residual = input;
  Tensor hidden_states = input;
  apply_norm(e, layer.attention_norm, hidden_states, index);
  // The layer's frame holds the attention weights, where there are any, until it returns.
  Attended attended = attention(e, hidden_states, layer, rotation, mask, options, index);
  Tensor held_input;
  Tensor held_output;
  if (options.frame_holds_names) {
    held_input = std::move(hidden_states);
    held_output = attended.hidden_states;
  }
  hidden_states = std::move(attended.hidden_states);
  apply_norm(e, layer.attention_out_norm, hidden_states, index);
  add_residual(e, residual, hidden_states, options);
  residual = hidden_states;
  apply_norm(e, layer.mlp_norm, hidden_states, index);
  {
    Tensor fed = mlp(e, hidden_states, layer, options, index);
    hidden_states = std::move(fed);
  }
  if (options.block_dropout == BlockDropout::AfterMlp) {
    Tensor dropped = e.dropout(hidden_states);
    hidden_states = std::move(dropped);
  }
  apply_norm(e, layer.mlp_out_norm, hidden_states, index);
  add_residual(e, residual, hidden_states, options);
  return hidden_states;
}

// transformers 5.24, CohereDecoderLayer and PhiDecoderLayer.forward: every result has a name.
Tensor blocks_in_parallel(Engine& e,
                          const Tensor& input,
                          const DecoderLayer& layer,
                          const Rotation& rotation,
                          const Tensor& mask,
                          const ModelOptions& options,
                          std::int32_t index) {
  Tensor hidden_states = input;
  apply_norm(e, layer.attention_norm, hidden_states, index);
  Attended attended = attention(e, hidden_states, layer, rotation, mask, options, index);
  const bool drops = options.block_dropout == BlockDropout::Outside;
  if (drops) {
    Tensor dropped = e.dropout(attended.hidden_states);
    attended.hidden_states = std::move(dropped);
  }
  Tensor fed = mlp(e, hidden_states, layer, options, index);
  if (drops || options.block_dropout == BlockDropout::AfterMlp) {
    Tensor dropped = e.dropout(std::move(fed));
    fed = std::move(dropped);
  }
  const bool last = options.residual_added_last;
  Tensor both = e.add(last ? attended.hidden_states : input, last ? fed : attended.hidden_states);
  Tensor sum = e.add(std::move(both), last ? input : fed);
  hidden_states = std::move(sum);
  return hidden_states;
}

}  // namespace

Tensor decoder_layer(Engine& e,
                     const Tensor& input,
                     const DecoderLayer& layer,
                     const Rotation& rotation,
                     const Tensor& mask,
                     const ModelOptions& options,
                     std::int32_t index,
                     Tensor& weights) {
  ModuleScope scope(e, "", index);
  if (options.layer_form == LayerForm::NamedResults)
    return layer_of_named_results(e, input, layer, rotation, mask, options, index, weights);
  if (options.layer_form == LayerForm::BiasedScores)
    return layer_of_biased_scores(e, input, layer, rotation.alibi, mask, options, index, weights);
  if (options.layer_form == LayerForm::SummedBlocks)
    return layer_of_summed_blocks(e, input, layer, rotation, mask, options, index, weights);
  if (options.layer_form == LayerForm::Rows)
    return layer_of_rows(e, input, layer, rotation, mask, options, index);
  if (options.parallel_blocks)
    return blocks_in_parallel(e, input, layer, rotation, mask, options, index);
  return blocks_in_turn(e, input, layer, rotation, mask, options, index);
}

}  // namespace peakline
