#include "model/causal_lm.h"

#include <utility>

#include "model/alibi.h"
#include "model/decoder_layer.h"
#include "model/learned_positions.h"
#include "model/linear.h"
#include "model/mask.h"
#include "model/norm.h"
#include "model/rotary.h"

namespace peakline {

namespace {

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
  request.always = model.options.always_masked;
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

// PEFT 0.21, tuners/lora/layer.py, Embedding.forward: no dropout, no cast of the table.
void add_embedding_adapter(Engine& e,
                           const CausalLm& model,
                           const Tensor& input_ids,
                           Tensor& embedded) {
  const DType result_dtype = embedded.dtype();
  const Tensor table = e.transpose(model.lora_embedding_a, 0, 1);
  const Tensor wide = e.transpose(model.lora_embedding_b, 0, 1);
  const Tensor low = e.embedding(table, input_ids);
  Tensor high = e.matmul(low, wide);
  Tensor delta = e.mul_scalar(std::move(high));
  if (model.options.embedding_holds_scale) {
    Tensor scale = e.to(model.embedding_scale, delta.dtype());
    Tensor scaled = e.mul(delta, std::move(scale));
    delta = std::move(scaled);
  }
  Tensor sum = e.add(embedded, delta);
  embedded = e.to(std::move(sum), result_dtype);
}

// transformers 5.24, Gemma2TextScaledWordEmbedding.forward multiplies inside the module, before the
// hook; others after it.
Tensor embed(Engine& e, const CausalLm& model, const Tensor& input_ids) {
  const ModelOptions& options = model.options;
  Tensor embedded;
  {
    ModuleScope scope(e, "model.embed_tokens");
    embedded = e.embedding(model.embed_tokens, input_ids);
    if (options.embedding_holds_scale) {
      Tensor scale = e.to(model.embedding_scale, model.embed_tokens.dtype());
      Tensor scaled = e.mul(std::move(embedded), std::move(scale));
      embedded = std::move(scaled);
    }
    if (model.lora_embedding_a.defined()) add_embedding_adapter(e, model, input_ids, embedded);
    if (options.input_requires_grad) e.set_requires_grad(embedded, true);
  }
  if (options.scaled_embeddings) {
    Tensor scaled = e.mul_scalar(embedded);
    embedded = std::move(scaled);
  }
  return embedded;
}

// What the model's frame holds until it returns.
struct ModelFrame {
  Tensor inputs_embeds;
  LearnedPositions counted;
  Tensor position_embeds;
  Tensor hidden_states;  // [B, S, H]
  Tensor alibi_mask;
  Masks masks;
  Rotation rotation;
  Rotation sliding_rotation;
  // Where a layer returns a pair, the loop's name for it keeps the weights until the next one's.
  Tensor weights;
};

void drop_embeddings(Engine& e, const CausalLm& model, ModelFrame& frame) {
  if (!model.options.embedding_dropout) return;
  Tensor dropped = e.dropout(frame.hidden_states);
  frame.hidden_states = std::move(dropped);
  if (model.options.embedding_dropout_rebinds) frame.inputs_embeds = frame.hidden_states;
}

// transformers 5.24, GPT2Model.forward and OPTDecoder.forward.
void add_learned_positions(Engine& e,
                           const CausalLm& model,
                           const Batch& batch,
                           ModelFrame& frame) {
  const Positions kind = model.options.positions;
  frame.counted = learned_positions(e, model, batch);
  const Tensor& position_ids = frame.counted.position_ids;
  if (kind == Positions::Learned) {
    frame.position_embeds = embed_positions(e, model, position_ids);
    frame.hidden_states = e.add(frame.inputs_embeds, frame.position_embeds);
  }
  // Positions that the mask counted are not given on.
  Tensor given = kind == Positions::LearnedCounted ? Tensor{} : position_ids;
  frame.masks = causal_masks(e, model, batch, given, frame.inputs_embeds.dtype());
  if (kind == Positions::Learned) return;
  frame.position_embeds = embed_positions(e, model, position_ids);
  if (model.project_in) {
    Tensor wide = linear(e, frame.inputs_embeds, *model.project_in, model.options, -1);
    frame.inputs_embeds = std::move(wide);
  }
  frame.hidden_states = e.add(frame.inputs_embeds, frame.position_embeds);
}

// transformers 5.24, LlamaModel.forward and, with alibi, FalconModel.forward.
void make_rotations(Engine& e, const CausalLm& model, const Batch& batch, ModelFrame& frame) {
  const ModelOptions& options = model.options;
  frame.hidden_states = frame.inputs_embeds;
  const DType dtype = frame.hidden_states.dtype();
  if (options.alibi_in_mask) {
    frame.alibi_mask = batch.attention_mask;
    if (!frame.alibi_mask.defined())
      frame.alibi_mask = e.ones(batch.input_ids.sizes(), DType::Int64);
    frame.rotation.alibi =
        alibi_tensor(e, batch.input_ids.sizes(), frame.alibi_mask, options, dtype);
  }
  frame.counted = learned_positions(e, model, batch);
  const Tensor& position_ids = frame.counted.position_ids;
  frame.masks = causal_masks(e, model, batch, position_ids, dtype);
  if (options.alibi_in_mask) {
    Tensor biased = mask_with_alibi(e, std::move(frame.masks.full), frame.rotation.alibi);
    frame.masks.full = std::move(biased);
  }
  drop_embeddings(e, model, frame);
  const auto tables = [&](const Tensor& inv_freq) {
    return rotary_embedding(e, inv_freq, options.rotary_kind, position_ids, dtype);
  };
  const Rotation whole = tables(model.inv_freq);
  frame.rotation.position_ids = position_ids;
  frame.rotation.cos = whole.cos;
  frame.rotation.sin = whole.sin;
  if (options.two_rotations) frame.sliding_rotation = tables(model.sliding_inv_freq);
}

// transformers 5.24, BloomModel.forward.
void make_alibi(Engine& e, const CausalLm& model, const Batch& batch, ModelFrame& frame) {
  frame.hidden_states = frame.inputs_embeds;
  apply_norm(e, model.embedding_norm, frame.hidden_states, -1);
  frame.rotation.alibi = alibi_tensor(
      e, batch.input_ids.sizes(), batch.attention_mask, model.options, frame.hidden_states.dtype());
  frame.masks = causal_masks(e, model, batch, {}, frame.inputs_embeds.dtype());
}

void run_layers(Engine& e, const CausalLm& model, ModelFrame& frame) {
  const ModelOptions& options = model.options;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const DecoderLayer& layer = model.layers[i];
    const Tensor& mask = layer.sliding ? frame.masks.sliding : frame.masks.full;
    const bool own = options.two_rotations && layer.sliding;
    const Rotation& rotation = own ? frame.sliding_rotation : frame.rotation;
    const auto index = static_cast<std::int32_t>(i);
    Tensor next;
    Tensor weights;
    if (options.gradient_checkpointing) {
      // The layer's keyword arguments live as long as its checkpoint does.
      auto run = [&e, &layer, &options, rotation, mask, ids = frame.counted.position_ids, index](
                     const Tensor& input, Tensor& second) {
        return decoder_layer(e, input, layer, rotation, mask, options, index, second);
      };
      next = e.checkpoint_pair(std::move(run), frame.hidden_states, options.use_reentrant, weights);
    } else {
      next = decoder_layer(e, frame.hidden_states, layer, rotation, mask, options, index, weights);
    }
    frame.hidden_states = std::move(next);
    frame.weights = std::move(weights);
  }
}

// Returns last_hidden_state [B, S, H].
Tensor model_forward(Engine& e,
                     const CausalLm& model,
                     const Batch& batch,
                     std::vector<Tensor>& past_key_values) {
  ModuleScope scope(e, "model");
  const ModelOptions& options = model.options;
  ModelFrame frame;
  frame.inputs_embeds = embed(e, model, batch.input_ids);
  if (options.positions == Positions::Rotary) {
    make_rotations(e, model, batch, frame);
  } else if (options.positions == Positions::Alibi) {
    make_alibi(e, model, batch, frame);
  } else {
    add_learned_positions(e, model, batch, frame);
    drop_embeddings(e, model, frame);
  }
  if (options.use_cache) {
    frame.rotation.cache = &past_key_values;
    frame.sliding_rotation.cache = &past_key_values;
  }
  run_layers(e, model, frame);
  Tensor& hidden_states = frame.hidden_states;
  apply_norm(e, model.norm, hidden_states, -1);
  if (model.project_out) {
    Tensor narrow = linear(e, hidden_states, *model.project_out, options, -1);
    hidden_states = std::move(narrow);
  }
  if (options.viewed_last_states) {
    Tensor viewed = e.view(hidden_states, hidden_states.sizes());
    hidden_states = std::move(viewed);
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
Tensor causal_lm_loss(
    Engine& e, const Tensor& logits, const Tensor& labels, const Tensor& num_items, bool liger) {
  const Phase outer = e.phase();
  e.set_phase(Phase::Loss);
  Tensor loss;
  {
    Tensor wide = e.to(logits, DType::Float32);
    Tensor padded;
    Tensor target = shifted_labels(e, labels, padded);
    const std::int64_t vocabulary = wide.size(-1);
    Tensor flat = e.view(std::move(wide), Shape{labels.size(0) * labels.size(1), vocabulary});
    Tensor total = liger ? e.liger_cross_entropy(flat, target) : e.cross_entropy(flat, target);
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

// What some models do to their logits; the name is bound anew at every step. Rule R043: the cap's
// tanh is kept.
void rescale(Engine& e, Tensor& logits, const ModelOptions& options) {
  const auto scale = [&](bool multiply) {
    Tensor scaled = multiply ? e.mul_scalar(logits) : e.div_scalar(logits);
    logits = std::move(scaled);
  };
  if (options.logit_scale != Scale::None) scale(options.logit_scale == Scale::Multiplied);
  if (!options.capped_logits) return;
  scale(false);
  {
    Tensor bent = e.tanh(logits);
    logits = std::move(bent);
  }
  scale(true);
}

}  // namespace

CausalLmOutput forward(Engine& e,
                       const CausalLm& model,
                       const Batch& batch,
                       const Tensor& num_items_in_batch) {
  CausalLmOutput output;
  Tensor hidden_states = model_forward(e, model, batch, output.past_key_values);
  const bool liger = model.options.use_liger_kernel;
  if (liger && !model.options.liger_keeps_logits) {
    output.loss = liger_loss(e, hidden_states, model, batch.labels, num_items_in_batch);
    return output;
  }
  // The model's output keeps what is divided.
  const Tensor last_hidden_state = hidden_states;
  if (model.options.divided_last_states) {
    Tensor scaled = e.div_scalar(hidden_states);
    hidden_states = std::move(scaled);
  }
  {
    ModuleScope scope(e, "lm_head");
    output.logits = e.linear(hidden_states, model.lm_head, model.lm_head_bias);
  }
  rescale(e, output.logits, model.options);
  output.loss = causal_lm_loss(e, output.logits, batch.labels, num_items_in_batch, liger);
  return output;
}

}  // namespace peakline
