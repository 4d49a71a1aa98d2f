#include "model/latent_attention.h"

#include <array>
#include <utility>

#include "model/linear.h"
#include "model/norm.h"

namespace peakline {

namespace {

// self.q_b_proj(self.q_a_layernorm(self.q_a_proj(hidden_states)))
Tensor project_query(Engine& e,
                     const Tensor& hidden_states,
                     const DecoderLayer& layer,
                     const ModelOptions& options,
                     std::int32_t index) {
  if (options.latent.query_rank == 0) return linear(e, hidden_states, layer.q_proj, options, index);
  Tensor low = linear(e, hidden_states, layer.q_down_proj, options, index);
  apply_norm(e, layer.q_down_norm, low, index);
  return linear(e, low, layer.q_proj, options, index);
}

std::array<Tensor, 2> split_last(Engine& e,
                                 const Tensor& whole,
                                 std::int64_t first,
                                 std::int64_t second) {
  const std::array<std::int64_t, 2> sizes{first, second};
  std::array<Tensor, 2> parts;
  e.split(whole, sizes, whole.sizes().rank() - 1, parts);
  return parts;
}

// transformers 5.24, MiniCPM3Attention.expand_kv.
void expand(Engine& e,
            const Tensor& narrow,
            const Tensor& turned,
            const DecoderLayer& layer,
            const ModelOptions& options,
            std::int32_t index,
            SplitHeads& heads) {
  const LatentSizes& sizes = options.latent;
  const Shape rows{narrow.size(0),
                   narrow.size(2),
                   options.num_attention_heads,
                   sizes.unrotated + sizes.value_dim};
  Tensor wide = linear(e, narrow, layer.latent_up_proj, options, index);
  Tensor split = e.view(std::move(wide), rows);
  const Tensor both = e.transpose(std::move(split), 1, 2);
  auto [unturned, value] = split_last(e, both, sizes.unrotated, sizes.value_dim);
  const Shape spread{rows[0], rows[2], rows[1], sizes.rotated};
  const Tensor shared = e.expand(turned, spread);
  const Shape whole{rows[0], rows[2], rows[1], sizes.unrotated + sizes.rotated};
  Tensor key = e.factory("new_empty", whole, both.dtype());
  Tensor begun = e.icopy_part(std::move(key), unturned);
  heads.key = e.icopy_part(std::move(begun), shared);
  heads.value = std::move(value);
}

}  // namespace

// transformers 5.24, MiniCPM3Attention.forward.
SplitHeads latent_heads(Engine& e,
                        const Tensor& hidden_states,
                        const DecoderLayer& layer,
                        const Rotation& rotation,
                        const ModelOptions& options,
                        std::int32_t index,
                        std::vector<Tensor>& held) {
  const LatentSizes& sizes = options.latent;
  const std::int64_t batch = hidden_states.size(0);
  const std::int64_t length = hidden_states.size(1);
  Tensor projected = project_query(e, hidden_states, layer, options, index);
  const Tensor query = view_heads(e, std::move(projected), options);
  auto [query_pass, query_turned] = split_last(e, query, sizes.unrotated, sizes.rotated);
  const Tensor compressed = linear(e, hidden_states, layer.latent_down_proj, options, index);
  auto [narrow, key_turned] = split_last(e, compressed, sizes.key_value_rank, sizes.rotated);
  Tensor normed = narrow;
  apply_norm(e, layer.latent_norm, normed, index);
  const Tensor rows = e.view(std::move(normed), Shape{batch, 1, length, sizes.key_value_rank});
  Tensor row = e.view(std::move(key_turned), Shape{batch, 1, length, sizes.rotated});
  key_turned = std::move(row);
  apply_rotary_pos_emb(e, query_turned, key_turned, rotation, options.rotary_kind);
  SplitHeads heads;
  heads.query = e.cat(query_pass, query_turned, -1);
  expand(e, rows, key_turned, layer, options, index, heads);
  held = {query, query_turned, compressed, rows, key_turned};
  return heads;
}

}  // namespace peakline
