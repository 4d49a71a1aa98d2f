#include "model/rotary.h"

#include <utility>

namespace peakline {

// transformers 5.24, LlamaRotaryEmbedding.forward.
Rotation rotary_embedding(Engine& e,
                          const CausalLm& model,
                          const Tensor& position_ids,
                          DType dtype) {
  ModuleScope scope(e, "model.rotary_emb");
  NoGrad no_grad(e);
  Tensor column = e.unsqueeze(position_ids, -1);
  Tensor positions = e.to(std::move(column), DType::Float32);
  Tensor freqs = e.mul(std::move(positions), model.inv_freq);
  Tensor emb = e.cat(freqs, freqs, -1);
  Tensor cosine = e.pointwise("cos", emb, DType::Float32);
  Tensor cos = e.mul_scalar(std::move(cosine));
  Tensor sine = e.pointwise("sin", emb, DType::Float32);
  Tensor sin = e.mul_scalar(std::move(sine));
  Rotation rotation;
  rotation.cos = e.to(cos, dtype);
  rotation.sin = e.to(sin, dtype);
  return rotation;
}

namespace {

// cat((-x2, x1)) of the two halves of the last dimension.
Tensor rotate_half(Engine& e, const Tensor& x) {
  const std::int64_t dim = x.size(-1);
  Tensor x1 = e.slice(x, -1, 0, dim / 2);
  Tensor x2 = e.slice(x, -1, dim / 2, dim);
  Tensor negative = e.neg(x2);
  return e.cat(std::move(negative), x1, -1);
}

Tensor rotated(Engine& e, const Tensor& x, const Tensor& cos, const Tensor& sin) {
  Tensor straight = e.mul(x, cos);
  Tensor turned = rotate_half(e, x);
  Tensor crossed = e.mul(std::move(turned), sin);
  return e.add(std::move(straight), std::move(crossed));
}

}  // namespace

void apply_rotary_pos_emb(Engine& e, Tensor& query, Tensor& key, const Rotation& rotation) {
  Tensor cos = e.unsqueeze(rotation.cos, 1);
  Tensor sin = e.unsqueeze(rotation.sin, 1);
  Tensor query_embed = rotated(e, query, cos, sin);
  Tensor key_embed = rotated(e, key, cos, sin);
  query = std::move(query_embed);
  key = std::move(key_embed);
}

// transformers 5.24, models/phi3/modeling_phi3.py, apply_rotary_pos_emb. A slice of everything is
// the tensor itself; a slice of nothing still has a gradient of the whole.
void apply_partial_rotary_pos_emb(Engine& e, Tensor& query, Tensor& key, const Rotation& rotation) {
  Tensor cos = e.unsqueeze(rotation.cos, 1);
  Tensor sin = e.unsqueeze(rotation.sin, 1);
  const std::int64_t turned = cos.size(-1);
  const auto first = [&](const Tensor& x) {
    return x.size(-1) == turned ? x : e.slice(x, -1, 0, turned);
  };
  const auto rest = [&](const Tensor& x) { return e.slice(x, -1, turned, x.size(-1)); };
  const Tensor query_first = first(query);
  const Tensor query_rest = rest(query);
  const Tensor key_first = first(key);
  const Tensor key_rest = rest(key);
  Tensor query_turned = rotated(e, query_first, cos, sin);
  Tensor query_embed = e.cat(std::move(query_turned), query_rest, -1);
  Tensor key_turned = rotated(e, key_first, cos, sin);
  Tensor key_embed = e.cat(std::move(key_turned), key_rest, -1);
  query = std::move(query_embed);
  key = std::move(key_embed);
}

}  // namespace peakline
