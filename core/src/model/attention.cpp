#include "model/attention.h"

#include <utility>
#include <vector>

#include "model/heads.h"
#include "model/latent_attention.h"
#include "model/linear.h"
#include "model/local_attention.h"
#include "model/norm.h"

namespace peakline {

namespace {

// [B, S, n * D] -> [B, n, S, D], through the head norm where there is one.
Tensor split_heads(Engine& e,
                   Tensor projected,
                   const std::optional<Norm>& head_norm,
                   const ModelOptions& options,
                   std::int32_t index) {
  const std::int64_t heads = projected.size(-1) / options.head_dim;
  const Shape shape{projected.size(0), projected.size(1), heads, options.head_dim};
  Tensor split = e.view(std::move(projected), shape);
  if (head_norm) {
    Tensor normed = norm(e, split, *head_norm, index);
    split = std::move(normed);
  }
  return e.transpose(std::move(split), 1, 2);
}

struct Heads {
  Tensor query;  // [B, A, S, D]
  Tensor key;    // [B, K, S, D]
  Tensor value;
  Tensor fused;               // what they are slices of, where one projection makes all three
  std::vector<Tensor> parts;  // turned and unturned, where the frame holds them
};

// q or k, through a norm over all heads where there is one.
Tensor project_normed(Engine& e,
                      const Tensor& hidden_states,
                      const Linear& projection,
                      const std::optional<Norm>& module,
                      const ModelOptions& options,
                      std::int32_t index) {
  Tensor projected = linear(e, hidden_states, projection, options, index);
  if (!module) return projected;
  return norm(e, projected, *module, index);
}

// transformers 5.24, OPTAttention.forward: q is scaled and split before the others are made.
Heads project_scaled_query(Engine& e,
                           const Tensor& hidden_states,
                           const DecoderLayer& layer,
                           const ModelOptions& options,
                           std::int32_t index) {
  Heads heads;
  heads.query = linear(e, hidden_states, layer.q_proj, options, index);
  Tensor scaled = e.mul_scalar(std::move(heads.query));
  heads.query = view_heads(e, std::move(scaled), options);
  heads.key = linear(e, hidden_states, layer.k_proj, options, index);
  heads.value = linear(e, hidden_states, layer.v_proj, options, index);
  heads.key = view_heads(e, std::move(heads.key), options);
  heads.value = view_heads(e, std::move(heads.value), options);
  return heads;
}

// transformers 5.24, OlmoAttention.forward with clip_qkv.
void clip(Engine& e, Heads& heads, const ModelOptions& options) {
  if (!options.clipped_projections) return;
  for (Tensor* states : {&heads.query, &heads.key, &heads.value}) {
    Tensor clamped = e.iclamp(std::move(*states));
    *states = std::move(clamped);
  }
}

// transformers 5.24, StableLmLayerNormPerHead.forward, on [B, n, S, D].
void norm_each_head(Engine& e, const std::vector<Norm>& norms, Tensor& states, std::int32_t index) {
  if (norms.empty()) return;
  const std::vector<Tensor> heads = e.split_each(states, 1);
  std::vector<Tensor> normed;
  for (std::size_t i = 0; i < heads.size(); ++i)
    normed.push_back(norm(e, heads[i], norms[i], index));
  states = e.cat_all(normed, 1);
}

// transformers 5.24, Olmo2Attention.forward and StableLmAttention.forward: heads are split once all
// three are made.
Heads project_then_split(Engine& e,
                         const Tensor& hidden_states,
                         const DecoderLayer& layer,
                         const ModelOptions& options,
                         std::int32_t index) {
  Heads heads;
  heads.query = project_normed(e, hidden_states, layer.q_proj, layer.q_norm, options, index);
  heads.key = project_normed(e, hidden_states, layer.k_proj, layer.k_norm, options, index);
  heads.value = linear(e, hidden_states, layer.v_proj, options, index);
  clip(e, heads, options);
  heads.query = split_heads(e, std::move(heads.query), std::nullopt, options, index);
  heads.key = split_heads(e, std::move(heads.key), std::nullopt, options, index);
  heads.value = split_heads(e, std::move(heads.value), std::nullopt, options, index);
  norm_each_head(e, layer.q_norms, heads.query, index);
  norm_each_head(e, layer.k_norms, heads.key, index);
  return heads;
}

// The norms come once all three are made: in transformers 5.24's Gemma3Attention.forward after the
// heads are turned to the front, in CohereAttention.forward before.
Heads project_then_norm(Engine& e,
                        const Tensor& hidden_states,
                        const DecoderLayer& layer,
                        const ModelOptions& options,
                        std::int32_t index) {
  const bool turned = options.qk_norm != HeadNorm::PerHead;
  const auto split = [&](const Linear& projection) {
    Tensor made = linear(e, hidden_states, projection, options, index);
    const std::int64_t heads = made.size(-1) / options.head_dim;
    const Shape shape{made.size(0), made.size(1), heads, options.head_dim};
    Tensor viewed = e.view(std::move(made), shape);
    return turned ? e.transpose(std::move(viewed), 1, 2) : viewed;
  };
  Heads heads;
  heads.query = split(layer.q_proj);
  heads.key = split(layer.k_proj);
  heads.value = split(layer.v_proj);
  apply_norm(e, layer.q_norm, heads.query, index);
  apply_norm(e, layer.k_norm, heads.key, index);
  if (turned) return heads;
  for (Tensor* states : {&heads.query, &heads.key, &heads.value}) {
    Tensor front = e.transpose(std::move(*states), 1, 2);
    *states = std::move(front);
  }
  return heads;
}

Heads project(Engine& e,
              const Tensor& hidden_states,
              const DecoderLayer& layer,
              const ModelOptions& options,
              std::int32_t index) {
  if (options.scaled_query) return project_scaled_query(e, hidden_states, layer, options, index);
  if (options.norms_split_heads) return project_then_norm(e, hidden_states, layer, options, index);
  if (options.splits_heads_last) return project_then_split(e, hidden_states, layer, options, index);
  Heads heads;
  heads.query = linear(e, hidden_states, layer.q_proj, options, index);
  heads.query = split_heads(e, std::move(heads.query), layer.q_norm, options, index);
  heads.key = linear(e, hidden_states, layer.k_proj, options, index);
  heads.key = split_heads(e, std::move(heads.key), layer.k_norm, options, index);
  heads.value = linear(e, hidden_states, layer.v_proj, options, index);
  heads.value = split_heads(e, std::move(heads.value), std::nullopt, options, index);
  return heads;
}

// transformers 5.24, Phi3Attention.forward: slices of one result.
Heads project_fused(Engine& e,
                    const Tensor& hidden_states,
                    const DecoderLayer& layer,
                    const ModelOptions& options,
                    std::int32_t index) {
  Heads heads;
  if (options.qkv_split != QkvSplit::None) {
    Tensor projected = linear(e, hidden_states, layer.qkv_proj, options, index);
    SplitHeads split = split_projection(e, std::move(projected), options);
    heads.query = std::move(split.query);
    heads.key = std::move(split.key);
    heads.value = std::move(split.value);
    return heads;
  }
  heads.fused = linear(e, hidden_states, layer.qkv_proj, options, index);
  const std::int64_t query = options.num_attention_heads * options.head_dim;
  const std::int64_t key = query + options.num_key_value_heads * options.head_dim;
  heads.query = e.slice(heads.fused, -1, 0, query);
  heads.key = e.slice(heads.fused, -1, query, key);
  heads.value = e.slice(heads.fused, -1, key, heads.fused.size(-1));
  heads.query = split_heads(e, std::move(heads.query), std::nullopt, options, index);
  heads.key = split_heads(e, std::move(heads.key), std::nullopt, options, index);
  heads.value = split_heads(e, std::move(heads.value), std::nullopt, options, index);
  return heads;
}

// [B, K, S, D] -> [B, A, S, D]
Tensor repeat_kv(Engine& e, const Tensor& states, std::int64_t repeats) {
  const Shape s = states.sizes();
  Tensor grouped = e.unsqueeze(states, 2);
  Tensor spread = e.expand(std::move(grouped), Shape{s[0], s[1], repeats, s[2], s[3]});
  return e.reshape(std::move(spread), Shape{s[0], s[1] * repeats, s[2], s[3]});
}

// transformers 5.24, Gemma2's eager_attention_forward: cap * tanh(scores / cap).
void cap(Engine& e, Tensor& scores) {
  Tensor small = e.div_scalar(scores);
  scores = std::move(small);
  Tensor bent = e.tanh(scores);
  scores = std::move(bent);
  Tensor scaled = e.mul_scalar(scores);
  scores = std::move(scaled);
}

// transformers 5.24, LlamaModel's eager_attention_forward. Rule R035: scores, masked scores, their
// float32 softmax and its cast are whole [S, S] matrices of every head.
Attended eager_attention_forward(Engine& e,
                                 const Tensor& query,
                                 const Tensor& key,
                                 const Tensor& value,
                                 const Tensor& mask,
                                 const ModelOptions& options) {
  const std::int64_t groups = options.num_attention_heads / options.num_key_value_heads;
  Tensor key_states = groups > 1 ? repeat_kv(e, key, groups) : key;
  Tensor value_states = groups > 1 ? repeat_kv(e, value, groups) : value;
  Attended out;
  {
    Tensor turned = e.transpose(key_states, 2, 3);
    Tensor scores = e.matmul(query, std::move(turned));
    out.weights = e.mul_scalar(std::move(scores));
  }
  if (options.capped_scores) cap(e, out.weights);
  if (mask.defined()) {
    Tensor masked = e.add(out.weights, mask);
    out.weights = std::move(masked);
  }
  {
    Tensor probabilities = options.softmax_as_is ? e.softmax_as_is(out.weights)
                                                 : e.softmax_last(out.weights, DType::Float32);
    if (options.softmax_as_is) out.weights.reset();  // the name is bound anew
    Tensor cast = e.to(std::move(probabilities), query.dtype());
    out.weights = std::move(cast);
  }
  if (options.attention_dropout) {
    Tensor dropped = e.dropout(out.weights);
    out.weights = std::move(dropped);
  }
  Tensor mixed = e.matmul(out.weights, value_states);
  Tensor heads_last = e.transpose(std::move(mixed), 1, 2);
  out.hidden_states = e.contiguous(std::move(heads_last));
  return out;
}

// transformers 5.24, integrations/sdpa_attention.py. Rule R031: grouped heads are passed on as they
// are only without a mask; with one, keys and values are repeated to every head first.
Tensor sdpa_attention_forward(Engine& e,
                              const Tensor& query,
                              Tensor key,
                              Tensor value,
                              const Tensor& mask,
                              const ModelOptions& options) {
  AttentionOptions attention_options;
  const std::int64_t groups = options.num_attention_heads / options.num_key_value_heads;
  if (groups > 1) {
    if (!mask.defined() && !options.efficient_attention) {
      attention_options.enable_gqa = true;
    } else {
      key = repeat_kv(e, key, groups);
      value = repeat_kv(e, value, groups);
    }
  }
  attention_options.is_causal = !mask.defined();
  attention_options.dropout = options.attention_dropout;
  attention_options.allow_flash = !options.efficient_attention;
  Tensor out = e.scaled_dot_product_attention(query, key, value, mask, attention_options);
  Tensor turned = e.transpose(std::move(out), 1, 2);
  return e.contiguous(std::move(turned));
}

void rotate(Engine& e, Heads& heads, const Rotation& rotation, const ModelOptions& options) {
  if (options.use_liger_kernel) {
    e.liger_rope(heads.query, heads.key, rotation.cos, rotation.sin);
  } else if (options.rotary_slices_held) {
    apply_partial_rotary_pos_emb(e, heads.query, heads.key, rotation, heads.parts);
  } else if (options.rotary_slices) {
    apply_partial_rotary_pos_emb(e, heads.query, heads.key, rotation);
  } else {
    apply_rotary_pos_emb(e, heads.query, heads.key, rotation, options.rotary_kind);
  }
}

// transformers 5.24, cache_utils.py, DynamicLayer.update. Rule R036: keys and values are joined to
// an empty cache, and the copies live as long as the model's outputs.
void update_cache(Engine& e, Heads& heads, std::vector<Tensor>& cache) {
  const Tensor no_keys = e.factory("_to_copy", Shape{0}, heads.key.dtype());
  const Tensor no_values = e.factory("_to_copy", Shape{0}, heads.key.dtype());
  Tensor keys = e.cat(no_keys, heads.key, 2);
  Tensor values = e.cat(no_values, heads.value, 2);
  heads.key = std::move(keys);
  heads.value = std::move(values);
  cache.push_back(heads.key);
  cache.push_back(heads.value);
}

// transformers 5.24, Ministral3Attention.forward.
void scale_by_position(Engine& e, Tensor& query, const Tensor& position_ids) {
  Tensor divided = e.pointwise("div.Tensor", position_ids, DType::Float32);
  Tensor floor = e.pointwise("floor", std::move(divided), DType::Float32);
  Tensor shifted = e.add_scalar(std::move(floor));
  Tensor log = e.pointwise("log", std::move(shifted), DType::Float32);
  Tensor scaled = e.mul_scalar(std::move(log));
  Tensor factor = e.add_scalar(std::move(scaled));
  Tensor row = e.unsqueeze(std::move(factor), 1);
  Tensor column = e.unsqueeze(std::move(row), -1);
  Tensor cast = e.to(std::move(column), query.dtype());
  Tensor product = e.mul(query, std::move(cast));
  query = std::move(product);
}

}  // namespace

// transformers 5.24, LlamaAttention.forward and Qwen3Attention.forward.
Attended attention(Engine& e,
                   const Tensor& hidden_states,
                   const DecoderLayer& layer,
                   const Rotation& rotation,
                   const Tensor& mask,
                   const ModelOptions& options,
                   std::int32_t index) {
  ModuleScope scope(e, "self_attn", index);
  const bool latent = options.latent.key_value_rank > 0;
  Heads heads;
  if (latent) {
    SplitHeads made = latent_heads(e, hidden_states, layer, rotation, options, index, heads.parts);
    heads.query = std::move(made.query);
    heads.key = std::move(made.key);
    heads.value = std::move(made.value);
  } else {
    heads = options.fused_qkv ? project_fused(e, hidden_states, layer, options, index)
                              : project(e, hidden_states, layer, options, index);
  }
  if (rotation.cos.defined() && layer.rotates && !latent) rotate(e, heads, rotation, options);
  if (options.query_scaled_by_position) scale_by_position(e, heads.query, rotation.position_ids);
  if (rotation.cache != nullptr) update_cache(e, heads, *rotation.cache);
  Attended out;
  if (options.windowed_scores) {
    out = windowed_attention(e, heads.query, heads.key, heads.value, layer.window, mask, options);
  } else if (options.eager_attention) {
    out = eager_attention_forward(e, heads.query, heads.key, heads.value, mask, options);
  } else {
    out.hidden_states =
        sdpa_attention_forward(e, heads.query, heads.key, heads.value, mask, options);
  }
  const std::int64_t dim = latent ? options.latent.value_dim : options.head_dim;
  const Shape flat{hidden_states.size(0), hidden_states.size(1), options.num_attention_heads * dim};
  {
    Tensor reshaped = e.reshape(std::move(out.hidden_states), flat);
    out.hidden_states = e.contiguous(std::move(reshaped));
  }
  Tensor projected = linear(e, out.hidden_states, layer.o_proj, options, index);
  out.hidden_states = std::move(projected);
  if (options.block_dropout == BlockDropout::Inside) {
    Tensor dropped = e.dropout(out.hidden_states);
    out.hidden_states = std::move(dropped);
  }
  return out;
}

}  // namespace peakline
