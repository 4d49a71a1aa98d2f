#include "model/causal_lm.h"

#include <utility>

#include "model/attention.h"
#include "model/mask.h"
#include "model/mlp.h"
#include "model/norm.h"
#include "model/rotary.h"

namespace peakline {

namespace {

// hidden_states = residual + hidden_states, in some models times a number first.
void add_residual(Engine& e,
                  const Tensor& residual,
                  Tensor& hidden_states,
                  const ModelOptions& options) {
  Tensor sum;
  if (options.residual_dropout) {
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

// transformers 5.24, LlamaDecoderLayer.forward; where the config scales the residuals the product
// comes before each add.
Tensor decoder_layer(Engine& e,
                     const Tensor& input,
                     const DecoderLayer& layer,
                     const Rotation& rotation,
                     const Tensor& mask,
                     const ModelOptions& options,
                     std::int32_t index) {
  ModuleScope scope(e, "", index);
  Tensor residual = input;
  Tensor hidden_states = norm(e, input, layer.input_layernorm, options, index);
  // The layer's frame holds the attention weights, where there are any, until it returns.
  Attended attended = attention(e, hidden_states, layer, rotation, mask, options, index);
  hidden_states = std::move(attended.hidden_states);
  add_residual(e, residual, hidden_states, options);
  residual = hidden_states;
  {
    Tensor normed = norm(e, hidden_states, layer.post_attention_layernorm, options, index);
    hidden_states = std::move(normed);
  }
  {
    Tensor fed = mlp(e, hidden_states, layer, options, index);
    hidden_states = std::move(fed);
  }
  add_residual(e, residual, hidden_states, options);
  return hidden_states;
}

struct Masks {
  Tensor full;
  Tensor sliding;
};

Masks causal_masks(
    Engine& e, const CausalLm& model, const Batch& batch, const Tensor& position_ids, DType dtype) {
  MaskRequest request;
  request.batch = batch.input_ids.size(0);
  request.length = batch.input_ids.size(1);
  request.padded = model.options.padded_batches;
  if (model.options.eager_attention) request.additive = dtype;
  Masks masks;
  if (model.options.has_full_layers)
    masks.full = causal_mask(e, batch.attention_mask, position_ids, request);
  if (model.options.sliding_window) {
    request.sliding_window = model.options.sliding_window;
    masks.sliding = causal_mask(e, batch.attention_mask, position_ids, request);
  }
  return masks;
}

// transformers 5.24, LlamaModel.forward; returns last_hidden_state [B, S, H].
Tensor model_forward(Engine& e, const CausalLm& model, const Batch& batch) {
  ModuleScope scope(e, "model");
  const ModelOptions& options = model.options;
  Tensor inputs_embeds;
  {
    ModuleScope embed_scope(e, "model.embed_tokens");
    inputs_embeds = e.embedding(model.embed_tokens, batch.input_ids);
    if (options.input_requires_grad) e.set_requires_grad(inputs_embeds, true);
  }
  if (options.scaled_embeddings) {
    Tensor scaled = e.mul_scalar(inputs_embeds);
    inputs_embeds = std::move(scaled);
  }
  Tensor position_ids;
  {
    Tensor range = e.factory("arange", Shape{batch.input_ids.size(1)}, DType::Int64);
    Tensor shifted = e.add_scalar(std::move(range));
    position_ids = e.unsqueeze(std::move(shifted), 0);
  }
  const Masks masks = causal_masks(e, model, batch, position_ids, inputs_embeds.dtype());
  Tensor hidden_states = inputs_embeds;
  const Rotation rotation = rotary_embedding(e, model, position_ids, hidden_states.dtype());
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const DecoderLayer& layer = model.layers[i];
    const Tensor& mask = layer.sliding ? masks.sliding : masks.full;
    const auto index = static_cast<std::int32_t>(i);
    Tensor next;
    if (options.gradient_checkpointing) {
      // The layer's keyword arguments live as long as its checkpoint does.
      auto run = [&e, &layer, &options, rotation, mask, position_ids, index](const Tensor& input) {
        return decoder_layer(e, input, layer, rotation, mask, options, index);
      };
      next = e.checkpoint(std::move(run), hidden_states, options.use_reentrant);
    } else {
      next = decoder_layer(e, hidden_states, layer, rotation, mask, options, index);
    }
    hidden_states = std::move(next);
  }
  {
    Tensor normed = norm(e, hidden_states, model.norm, options, -1);
    hidden_states = std::move(normed);
  }
  return hidden_states;
}

// Labels moved one to the left: [B, S] -> [B * S].
Tensor shifted_labels(Engine& e, const Tensor& labels, Tensor& padded) {
  const std::int64_t length = labels.size(1);
  padded = e.factory("constant_pad_nd", Shape{labels.size(0), length + 1}, DType::Int64);
  Tensor later = e.slice(padded, 1, 1, length + 1);
  Tensor dense = e.contiguous(std::move(later));
  return e.view(std::move(dense), Shape{labels.size(0) * length});
}

// transformers 5.24, loss/loss_utils.py, ForCausalLMLoss. Rule R040: the logits are cast to float32
// whole.
Tensor causal_lm_loss(Engine& e,
                      const Tensor& logits,
                      const Tensor& labels,
                      const Tensor& num_items) {
  const Phase outer = e.phase();
  e.set_phase(Phase::Loss);
  Tensor loss;
  {
    Tensor wide = e.to(logits, DType::Float32);
    Tensor padded;
    Tensor target = shifted_labels(e, labels, padded);
    const std::int64_t vocabulary = wide.size(-1);
    Tensor flat = e.view(std::move(wide), Shape{labels.size(0) * labels.size(1), vocabulary});
    Tensor total = e.cross_entropy(flat, target);
    loss = num_items.defined() ? e.div(std::move(total), num_items) : std::move(total);
  }
  e.set_phase(outer);
  return loss;
}

// liger_kernel 0.8.5, transformers/model/llama.py, lce_forward. Rule R041: no logits outside of one
// chunk.
Tensor liger_loss(Engine& e,
                  const Tensor& hidden_states,
                  const CausalLm& model,
                  const Tensor& labels,
                  const Tensor& num_items) {
  Tensor padded;
  Tensor target = shifted_labels(e, labels, padded);
  const std::int64_t width = hidden_states.size(-1);
  Tensor flat = e.view(hidden_states, Shape{labels.size(0) * labels.size(1), width});
  Tensor total = e.liger_fused_linear_cross_entropy(flat, model.lm_head, target);
  return num_items.defined() ? e.div(std::move(total), num_items) : total;
}

}  // namespace

CausalLmOutput forward(Engine& e,
                       const CausalLm& model,
                       const Batch& batch,
                       const Tensor& num_items_in_batch) {
  CausalLmOutput output;
  Tensor hidden_states = model_forward(e, model, batch);
  if (model.options.use_liger_kernel) {
    output.loss = liger_loss(e, hidden_states, model, batch.labels, num_items_in_batch);
    return output;
  }
  {
    ModuleScope scope(e, "lm_head");
    output.logits = e.linear(hidden_states, model.lm_head, {});
  }
  if (model.options.scaled_logits) {
    Tensor scaled = e.div_scalar(output.logits);
    output.logits = std::move(scaled);
  }
  output.loss = causal_lm_loss(e, output.logits, batch.labels, num_items_in_batch);
  return output;
}

}  // namespace peakline
