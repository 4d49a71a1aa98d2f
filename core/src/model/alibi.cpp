#include "model/alibi.h"

#include <utility>

#include "model/activation.h"
#include "model/dropout_add.h"
#include "model/heads.h"
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

bool drops(const ModelOptions& options) {
  return options.block_dropout == BlockDropout::AtResidual;
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
  auto [query, key, value] = split_projection(e, fused, options);
  for (Tensor* part : {&query, &key, &value}) {
    Tensor flat = e.reshape(std::move(*part), Shape{batch * heads, length, options.head_dim});
    *part = std::move(flat);
  }
  const Tensor turned = e.transpose(key, -1, -2);
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
  out.hidden_states = dropout_add(e, projected, residual, drops(options));
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
  return dropout_add(e, down, residual, drops(options));
}

}  // namespace

// transformers 5.24, BloomModel.forward and both build_alibi_tensor: Falcon's computes in bfloat16.
Tensor alibi_tensor(
    Engine& e, const Shape& batch, const Tensor& mask, const ModelOptions& options, DType dtype) {
  const NoGrad no_grad(e);
  const std::int64_t heads = options.num_attention_heads;
  const Shape flat{batch[0] * heads, 1, batch[1]};
  Tensor slope = slopes(e, heads);
  if (!mask.defined()) {
    Tensor range = e.factory("arange", Shape{batch[1]}, DType::Int64);
    Tensor one = e.factory("mul.Tensor", Shape{heads, 1, batch[1]}, DType::Float32);
    range.reset();
    Tensor all = e.factory("repeat", flat, DType::Float32);
    one.reset();
    return e.to(std::move(all), dtype);
  }
  Tensor counted = e.pointwise("cumsum", mask, DType::Int64);
  Tensor shifted = e.pointwise("sub.Tensor", std::move(counted), DType::Int64);
  Tensor places = e.mul(std::move(shifted), mask);
  const DType computed = options.alibi_in_mask ? DType::BFloat16 : DType::Float32;
  const Tensor alibi = e.factory("mul.Tensor", Shape{batch[0], heads, batch[1]}, computed);
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
