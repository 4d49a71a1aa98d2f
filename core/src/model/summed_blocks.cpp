#include "model/summed_blocks.h"

#include <utility>
#include <vector>

#include "model/attention.h"
#include "model/dropout_add.h"
#include "model/heads.h"
#include "model/linear.h"
#include "model/mlp.h"
#include "model/norm.h"

namespace peakline {

namespace {

// Eager attention by rotated heads: scores and the masked sum of them.
Attended rotated_scores(Engine& e, const SplitHeads& heads, const Tensor& mask, DType dtype) {
  Attended out;
  Tensor turned = e.transpose(heads.key, -1, -2);
  Tensor product = e.matmul(heads.query, std::move(turned));
  out.weights = e.idiv_scalar(std::move(product));
  Tensor masked = e.add(out.weights, mask);
  Tensor probabilities = e.softmax_last(std::move(masked), dtype);
  out.weights = std::move(probabilities);
  out.hidden_states = e.matmul(out.weights, heads.value);
  return out;
}

// The same with alibi: scores become float32 before the bias. The frame holds every step.
Attended biased_scores(Engine& e,
                       const SplitHeads& heads,
                       const Tensor& alibi,
                       const Tensor& mask,
                       const ModelOptions& options,
                       DType dtype,
                       std::vector<Tensor>& held) {
  const Shape& q = heads.query.sizes();
  Tensor turned = e.transpose(heads.key, -1, -2);
  const Tensor product = e.matmul(heads.query, std::move(turned));
  const Tensor scores = e.to(product, is_half(product.dtype()) ? DType::Float32 : product.dtype());
  const Tensor bias =
      e.view(alibi, Shape{heads.query.size(0), heads.query.size(1), 1, alibi.size(-1)});
  Tensor logits = e.add(scores, bias);
  Tensor scaled = e.imul_scalar(std::move(logits));
  Tensor masked = e.add(scaled, mask);
  Attended out;
  out.weights = e.softmax_last(std::move(masked), dtype);
  if (options.attention_dropout) {
    Tensor dropped = e.dropout(out.weights);
    out.weights = std::move(dropped);
  }
  Tensor mixed = e.matmul(out.weights, heads.value);
  if (q.rank() > 0) out.hidden_states = e.view(std::move(mixed), Shape{q[0] * q[1], q[2], q[3]});
  held = {product, scores, scaled};
  return out;
}

// transformers 5.24, FalconAttention.forward. sdpa is called without grouped heads: where key and
// value have fewer than the queries, no fused kernel takes them.
Attended summed_attention(Engine& e,
                          const Tensor& hidden_states,
                          const DecoderLayer& layer,
                          const Rotation& rotation,
                          const Tensor& mask,
                          const ModelOptions& options,
                          std::int32_t index) {
  ModuleScope scope(e, "self_attn", index);
  const Tensor fused = linear(e, hidden_states, layer.qkv_proj, options, index);
  SplitHeads heads = split_projection(e, fused, options);
  const bool rotates = !rotation.alibi.defined();
  if (rotates) apply_rotary_pos_emb(e, heads.query, heads.key, rotation);
  const DType dtype = hidden_states.dtype();
  std::vector<Tensor> held;
  Attended out;
  if (!options.eager_attention) {
    AttentionOptions attention_options;
    attention_options.dropout = options.attention_dropout && !rotates;
    out.hidden_states = e.scaled_dot_product_attention(
        heads.query, heads.key, heads.value, mask, attention_options);
  } else if (rotates) {
    out = rotated_scores(e, heads, mask, dtype);
  } else {
    out = biased_scores(e, heads, rotation.alibi, mask, options, dtype, held);
  }
  {
    const bool flat = out.hidden_states.sizes().rank() == 3;
    Tensor merged = flat ? merge_heads(e, out.hidden_states, hidden_states.size(0))
                         : heads_together(e, out.hidden_states);
    out.hidden_states = std::move(merged);
  }
  Tensor projected = linear(e, out.hidden_states, layer.o_proj, options, index);
  out.hidden_states = std::move(projected);
  return out;
}

}  // namespace

// transformers 5.24, FalconDecoderLayer.forward.
Tensor layer_of_summed_blocks(Engine& e,
                              const Tensor& input,
                              const DecoderLayer& layer,
                              const Rotation& rotation,
                              const Tensor& mask,
                              const ModelOptions& options,
                              std::int32_t index,
                              Tensor& weights) {
  Tensor residual = input;
  Tensor attention_input = input;
  Tensor mlp_input = input;
  apply_norm(e, layer.attention_norm, attention_input, index);
  if (options.norm_for_each_block) apply_norm(e, layer.mlp_norm, mlp_input, index);
  Attended attended = summed_attention(e, attention_input, layer, rotation, mask, options, index);
  if (!options.parallel_blocks) {
    Tensor sum = dropout_add(e, attended.hidden_states, residual, options.attention_dropout);
    residual = std::move(sum);
    mlp_input = residual;
    apply_norm(e, layer.mlp_norm, mlp_input, index);
  } else if (!options.norm_for_each_block) {
    mlp_input = attention_input;
  }
  Tensor fed = mlp(e, mlp_input, layer, options, index);
  if (options.parallel_blocks) {
    Tensor both = e.iadd(std::move(fed), attended.hidden_states);
    fed = std::move(both);
  }
  weights = attended.weights;
  return dropout_add(e, fed, residual, options.block_dropout == BlockDropout::AtResidual);
}

}  // namespace peakline
