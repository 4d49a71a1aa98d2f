#include "model/heads.h"

#include <array>
#include <utility>

namespace peakline {

namespace {

using Parts = std::array<Tensor, 3>;

// transformers 5.24, GPT2Attention.forward.
SplitHeads split_in_thirds(Engine& e, Tensor projected, const ModelOptions& options) {
  const std::int64_t third = projected.size(-1) / 3;
  const std::array<std::int64_t, 3> sizes{third, third, third};
  Parts parts;
  e.split(projected, sizes, -1, parts);
  projected.reset();
  SplitHeads heads;
  heads.key = view_heads(e, std::move(parts[1]), options);
  heads.value = view_heads(e, std::move(parts[2]), options);
  heads.query = view_heads(e, std::move(parts[0]), options);
  return heads;
}

// transformers 5.24, GPTBigCodeAttention.forward with multi_query: key and value stay [B, 1, S, D].
SplitHeads split_shared_head(Engine& e, Tensor projected, const ModelOptions& options) {
  const std::int64_t queries = options.num_attention_heads * options.head_dim;
  const std::array<std::int64_t, 3> sizes{queries, options.head_dim, options.head_dim};
  const Shape flat{projected.size(0), projected.size(1), queries};
  Parts parts;
  {
    Tensor wide = e.unsqueeze(std::move(projected), 1);
    e.split(wide, sizes, 3, parts);
  }
  SplitHeads heads;
  heads.key = std::move(parts[1]);
  heads.value = std::move(parts[2]);
  Tensor query = e.view(std::move(parts[0]),
                        Shape{flat[0], flat[1], options.num_attention_heads, options.head_dim});
  heads.query = e.transpose(std::move(query), 1, 2);
  return heads;
}

// The same without multi_query.
SplitHeads split_each_head(Engine& e, Tensor projected, const ModelOptions& options) {
  const std::int64_t dim = options.head_dim;
  const std::array<std::int64_t, 3> sizes{dim, dim, dim};
  const Shape shape{projected.size(0), projected.size(1), options.num_attention_heads, 3 * dim};
  Parts parts;
  {
    Tensor split = e.view(std::move(projected), shape);
    Tensor turned = e.transpose(std::move(split), 1, 2);
    e.split(turned, sizes, 3, parts);
  }
  SplitHeads heads;
  heads.query = std::move(parts[0]);
  heads.key = std::move(parts[1]);
  heads.value = std::move(parts[2]);
  return heads;
}

// transformers 5.24, BloomAttention._reshape and FalconAttention._split_heads: one view for each.
SplitHeads select_of_each_head(Engine& e, Tensor projected, const ModelOptions& options) {
  const Shape shape{
      projected.size(0), projected.size(1), options.num_attention_heads, 3, options.head_dim};
  const Tensor split = e.view(std::move(projected), shape);
  SplitHeads heads;
  std::int64_t place = 0;
  for (Tensor* part : {&heads.query, &heads.key, &heads.value}) {
    Tensor one = e.select(split, -2, place++);
    *part = e.transpose(std::move(one), 1, 2);
  }
  return heads;
}

// transformers 5.24, FalconAttention._split_heads: a list as an index copies.
SplitHeads index_heads(Engine& e, Tensor projected, const ModelOptions& options) {
  const std::int64_t groups = options.num_key_value_heads;
  const std::int64_t queries = options.num_attention_heads / groups;
  const bool grouped = options.qkv_split == QkvSplit::IndexedGroups;
  const Shape rows{projected.size(0), projected.size(1), queries + 2, options.head_dim};
  const Shape group{rows[0], rows[1], groups, queries + 2, options.head_dim};
  const Tensor split = e.view(std::move(projected), grouped ? group : rows);
  std::array<Tensor, 3> parts;
  parts[0] = e.slice(split, -2, 0, queries);
  parts[1] = e.index_one(split, -2);
  parts[2] = e.index_one(split, -2);
  if (grouped) {
    const Shape spread = parts[0].sizes();
    const Shape flat{rows[0], rows[1], groups * queries, options.head_dim};
    for (std::size_t i = 1; i < parts.size() && spread.rank() > 0; ++i) {
      Tensor wide = e.expand(std::move(parts[i]), spread);
      parts[i] = std::move(wide);
    }
    std::array<Tensor, 3> flattened;
    for (std::size_t i = 0; i < parts.size(); ++i) flattened[i] = e.reshape(parts[i], flat);
    parts = std::move(flattened);
  }
  SplitHeads heads;
  heads.query = e.transpose(std::move(parts[0]), 1, 2);
  heads.key = e.transpose(std::move(parts[1]), 1, 2);
  heads.value = e.transpose(std::move(parts[2]), 1, 2);
  return heads;
}

}  // namespace

Tensor heads_together(Engine& e, Tensor attended) {
  const Shape s = attended.sizes();
  if (s.rank() == 0) return {};
  Tensor turned = e.transpose(std::move(attended), 1, 2);
  return e.reshape(std::move(turned), Shape{s[0], s[2], s[1] * s[3]});
}

// transformers 5.24, BloomAttention._merge_heads.
Tensor merge_heads(Engine& e, Tensor context, std::int64_t batch) {
  const Shape split{batch, context.size(0) / batch, context.size(1), context.size(2)};
  Tensor x = e.view(std::move(context), split);
  return heads_together(e, std::move(x));
}

Tensor view_heads(Engine& e, Tensor projected, const ModelOptions& options) {
  const std::int64_t heads = projected.size(-1) / options.head_dim;
  const Shape shape{projected.size(0), projected.size(1), heads, options.head_dim};
  Tensor split = e.view(std::move(projected), shape);
  return e.transpose(std::move(split), 1, 2);
}

SplitHeads split_projection(Engine& e, Tensor projected, const ModelOptions& options) {
  switch (options.qkv_split) {
    case QkvSplit::None:
      break;
    case QkvSplit::Thirds:
      return split_in_thirds(e, std::move(projected), options);
    case QkvSplit::SharedHead:
      return split_shared_head(e, std::move(projected), options);
    case QkvSplit::ThirdsOfHead:
      return split_each_head(e, std::move(projected), options);
    case QkvSplit::SelectedOfHead:
      return select_of_each_head(e, std::move(projected), options);
    case QkvSplit::IndexedHeads:
    case QkvSplit::IndexedGroups:
      return index_heads(e, std::move(projected), options);
  }
  return {};
}

}  // namespace peakline
