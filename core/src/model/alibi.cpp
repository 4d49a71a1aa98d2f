#include "model/alibi.h"

#include <array>
#include <utility>

#include "model/activation.h"
#include "model/linear.h"
#include "model/norm.h"

namespace peakline {

namespace {

// transformers 5.24, models/bloom/modeling_bloom.py, _get_alibi_slopes.
Tensor slopes(Engine& e, std::int64_t heads) {
  Tensor base = e.factory("full", Shape{}, DType::Float32);
  Tensor powers = e.factory("arange.start", Shape{heads}, DType::Int32);
  return e.factory("pow.Tensor_Tensor", Shape{heads}, DType::Float32);
}

// dropout_add: the sum is made while what was dropped still has a name.
Tensor dropout_add(Engine& e,
                   const Tensor& x,
                   const Tensor& residual,
                   const ModelOptions& options) {
  const bool drops = options.block_dropout == BlockDropout::AtResidual;
  const Tensor out = drops ? e.dropout(x) : x;
  return e.add(residual, out);
}

// BloomAttention._reshape: q, k and v of each head lie side by side.
std::array<Tensor, 3> selected_heads(Engine& e, const Tensor& fused, const ModelOptions& options) {
  const Shape shape{fused.size(0), fused.size(1), options.num_attention_heads, 3, options.head_dim};
  const Tensor split = e.view(fused, shape);
  std::array<Tensor, 3> heads;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    Tensor one = e.select(split, -2, static_cast<std::int64_t>(i));
    heads[i] = e.transpose(std::move(one), 1, 2);
  }
  return heads;
}

// BloomAttention._merge_heads.
Tensor merge_heads(Engine& e, Tensor context, std::int64_t batch) {
  const std::int64_t heads = context.size(0) / batch;
  const Shape split{batch, heads, context.size(1), context.size(2)};
  Tensor x = e.view(std::move(context), split);
  Tensor turned = e.transpose(std::move(x), 1, 2);
  return e.reshape(std::move(turned), Shape{batch, split[2], heads * split[3]});
}

// BloomAttention.forward.
Attended biased_attention(Engine& e,
                          const Tensor& hidden_states,
                          const Tensor& residual,
                          const DecoderLayer& layer,
                          const Tensor& alibi,
                          const Tensor& mask,
                          const ModelOptions& options,
                          std::int32_t index) {
  ModuleScope scope(e, "self_attn", index);
  const std::int64_t batch = hidden_states.size(0);
  const std::int64_t length = hidden_states.size(1);
  const std::int64_t heads = options.num_attention_heads;
  const Tensor fused = linear(e, hidden_states, layer.qkv_proj, options, index);
  std::array<Tensor, 3> parts = selected_heads(e, fused, options);
  for (Tensor& part : parts) {
    Tensor flat = e.reshape(std::move(part), Shape{batch * heads, length, options.head_dim});
    part = std::move(flat);
  }
  const auto& [query, key, value] = parts;
  Tensor turned = e.transpose(key, -1, -2);
  const Tensor scores = e.baddbmm(alibi, query, turned);
  Tensor masked = e.view(scores, Shape{batch, heads, length, length});
  if (mask.defined()) {
    Tensor sum = e.add(masked, mask);
    masked = std::move(sum);
  }
  Attended out;
  {
    Tensor probabilities = e.softmax_last(masked, DType::Float32);
    out.weights = e.to(std::move(probabilities), query.dtype());
  }
  if (options.attention_dropout) {
    Tensor dropped = e.dropout(out.weights);
    out.weights = std::move(dropped);
  }
  const Tensor flat = e.view(out.weights, Shape{batch * heads, length, length});
  Tensor context = e.matmul(flat, value);
  {
    Tensor merged = merge_heads(e, context, batch);
    context = std::move(merged);
  }
  Tensor projected = linear(e, context, layer.o_proj, options, index);
  out.hidden_states = dropout_add(e, projected, residual, options);
  return out;
}

// BloomMLP.forward.
Tensor summing_mlp(Engine& e,
                   const Tensor& input,
                   const Tensor& residual,
                   const DecoderLayer& layer,
                   const ModelOptions& options,
                   std::int32_t index) {
  ModuleScope scope(e, "mlp", index);
  Tensor hidden_states;
  {
    ModuleScope act_scope(e, "mlp.act", index);
    const Tensor up = linear(e, input, layer.up_proj, options, index);
    hidden_states = activation(e, up, options.hidden_act);
  }
  const Tensor down = linear(e, hidden_states, layer.down_proj, options, index);
  return dropout_add(e, down, residual, options);
}

}  // namespace

// transformers 5.24, BloomModel.forward and build_alibi_tensor.
Tensor alibi_tensor(Engine& e, const Batch& batch, const ModelOptions& options, DType dtype) {
  const NoGrad no_grad(e);
  const std::int64_t heads = options.num_attention_heads;
  const Shape batched{batch.input_ids.size(0), heads, batch.input_ids.size(1)};
  const Shape flat{batched[0] * heads, 1, batched[2]};
  Tensor slope = slopes(e, heads);
  if (!batch.attention_mask.defined()) {
    Tensor range = e.factory("arange", Shape{batched[2]}, DType::Int64);
    Tensor one = e.factory("mul.Tensor", Shape{heads, 1, batched[2]}, DType::Float32);
    range.reset();
    Tensor all = e.factory("repeat", flat, DType::Float32);
    one.reset();
    return e.to(std::move(all), dtype);
  }
  Tensor counted = e.pointwise("cumsum", batch.attention_mask, DType::Int64);
  Tensor shifted = e.pointwise("sub.Tensor", std::move(counted), DType::Int64);
  Tensor places = e.mul(std::move(shifted), batch.attention_mask);
  const Tensor alibi = e.factory("mul.Tensor", batched, DType::Float32);
  slope.reset();
  places.reset();
  Tensor rows = e.view(alibi, flat);
  return e.to(std::move(rows), dtype);
}

// transformers 5.24, BloomBlock.forward.
Tensor layer_of_biased_scores(Engine& e,
                              const Tensor& input,
                              const DecoderLayer& layer,
                              const Tensor& alibi,
                              const Tensor& mask,
                              const ModelOptions& options,
                              std::int32_t index,
                              Tensor& weights) {
  Tensor normed = input;
  apply_norm(e, layer.attention_norm, normed, index);
  Tensor residual = options.residual_after_norm ? normed : input;
  const Attended attended =
      biased_attention(e, normed, residual, layer, alibi, mask, options, index);
  {
    Tensor second = attended.hidden_states;
    apply_norm(e, layer.mlp_norm, second, index);
    normed = std::move(second);
  }
  residual = options.residual_after_norm ? normed : attended.hidden_states;
  weights = attended.weights;
  return summing_mlp(e, normed, residual, layer, options, index);
}

}  // namespace peakline
