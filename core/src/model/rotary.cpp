#include "model/rotary.h"

#include <utility>

namespace peakline {

namespace {

// torch.repeat_interleave(freqs, 2, dim=-1)
Tensor each_twice(Engine& e, const Tensor& freqs) {
  const Shape s = freqs.sizes();
  Tensor pairs = e.unsqueeze(freqs, -1);
  Tensor spread = e.expand(std::move(pairs), Shape{s[0], s[1], s[2], 2});
  Tensor copy = e.clone(std::move(spread));
  return e.view(std::move(copy), Shape{s[0], s[1], 2 * s[2]});
}

}  // namespace

// transformers 5.24, LlamaRotaryEmbedding.forward.
Rotation rotary_embedding(
    Engine& e, const Tensor& inv_freq, RotaryKind kind, const Tensor& position_ids, DType dtype) {
  ModuleScope scope(e, "model.rotary_emb");
  NoGrad no_grad(e);
  Tensor column = e.unsqueeze(position_ids, -1);
  Tensor positions = e.to(std::move(column), DType::Float32);
  Tensor freqs = e.mul(std::move(positions), inv_freq);
  Tensor emb = kind == RotaryKind::InterleavedWide ? each_twice(e, freqs) : e.cat(freqs, freqs, -1);
  Tensor cosine = e.pointwise("cos", emb, DType::Float32);
  Tensor cos = e.mul_scalar(std::move(cosine));
  Tensor sine = e.pointwise("sin", emb, DType::Float32);
  Tensor sin = e.mul_scalar(std::move(sine));
  Rotation rotation;
  const DType table_dtype = kind == RotaryKind::HalvesWide ? DType::Float32 : dtype;
  rotation.cos = e.to(cos, table_dtype);
  rotation.sin = e.to(sin, table_dtype);
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

// stack([-x2, x1], dim=-1).flatten(-2) of the entries at even and at odd places.
Tensor rotate_neighbours(Engine& e, const Tensor& x) {
  const std::int64_t dim = x.size(-1);
  Tensor x1 = e.slice(x, -1, 0, dim, 2);
  Tensor x2 = e.slice(x, -1, 1, dim, 2);
  Tensor negative = e.neg(x2);
  Tensor pairs = e.stack_last(std::move(negative), x1);
  return e.view(std::move(pairs), x.sizes());
}

Tensor rotated(Engine& e,
               const Tensor& x,
               const Tensor& cos,
               const Tensor& sin,
               RotaryKind kind = RotaryKind::Halves) {
  Tensor straight = e.mul(x, cos);
  Tensor turned = kind == RotaryKind::InterleavedWide ? rotate_neighbours(e, x) : rotate_half(e, x);
  Tensor crossed = e.mul(std::move(turned), sin);
  return e.add(std::move(straight), std::move(crossed));
}

}  // namespace

// transformers 5.24, apply_rotary_pos_emb of models/llama, models/olmo2 (float32 tables, results
// cast back) and models/cohere (float32 heads).
void apply_rotary_pos_emb(
    Engine& e, Tensor& query, Tensor& key, const Rotation& rotation, RotaryKind kind) {
  const DType dtype = query.dtype();
  const bool wide = kind == RotaryKind::InterleavedWide;
  const Tensor q = wide ? e.to(query, DType::Float32) : query;
  const Tensor k = wide ? e.to(key, DType::Float32) : key;
  Tensor cos = e.unsqueeze(rotation.cos, 1);
  Tensor sin = e.unsqueeze(rotation.sin, 1);
  const Tensor query_embed = rotated(e, q, cos, sin, kind);
  const Tensor key_embed = rotated(e, k, cos, sin, kind);
  Tensor query_cast = e.to(query_embed, kind == RotaryKind::Halves ? query_embed.dtype() : dtype);
  Tensor key_cast = e.to(key_embed, kind == RotaryKind::Halves ? key_embed.dtype() : dtype);
  query = std::move(query_cast);
  key = std::move(key_cast);
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

// transformers 5.24, PhiAttention.forward and StableLmAttention.forward.
void apply_partial_rotary_pos_emb(
    Engine& e, Tensor& query, Tensor& key, const Rotation& rotation, std::vector<Tensor>& held) {
  const std::int64_t turned = rotation.cos.size(-1);
  const auto part = [&](const Tensor& x, bool first) {
    return first ? e.slice(x, -1, 0, turned) : e.slice(x, -1, turned, x.size(-1));
  };
  Tensor query_first = part(query, true);
  Tensor query_rest = part(query, false);
  Tensor key_first = part(key, true);
  Tensor key_rest = part(key, false);
  apply_rotary_pos_emb(e, query_first, key_first, rotation);
  Tensor query_embed = e.cat(query_first, query_rest, -1);
  query = std::move(query_embed);
  Tensor key_embed = e.cat(key_first, key_rest, -1);
  key = std::move(key_embed);
  for (Tensor* name : {&query_first, &query_rest, &key_first, &key_rest})
    held.push_back(std::move(*name));
}

}  // namespace peakline
