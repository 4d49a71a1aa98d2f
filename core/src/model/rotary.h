// Rotary position embedding.
#pragma once

#include <vector>

#include "model/modules.h"

namespace peakline {

// What layers know positions by, and the cache they leave keys and values in.
struct Rotation {
  Tensor cos;           // [1, S, D]
  Tensor sin;           // [1, S, D]
  Tensor position_ids;  // [1, S]
  Tensor alibi;         // [B * A, 1, S], in their place
  std::vector<Tensor>* cache = nullptr;
};

// position_ids [1, S]; the tables come in the hidden states' dtype, or in float32.
[[nodiscard]] Rotation rotary_embedding(
    Engine& e, const Tensor& inv_freq, RotaryKind kind, const Tensor& position_ids, DType dtype);

// query [B, A, S, D], key [B, K, S, D]; replaced by their rotated selves.
void apply_rotary_pos_emb(Engine& e,
                          Tensor& query,
                          Tensor& key,
                          const Rotation& rotation,
                          RotaryKind kind = RotaryKind::Halves);

// The same for the first entries of each head, as many as the tables are wide; the rest is joined
// to them unturned, even where nothing is left.
void apply_partial_rotary_pos_emb(Engine& e, Tensor& query, Tensor& key, const Rotation& rotation);

// The same where attention's frame gives the parts names: `held` keeps them until it returns.
void apply_partial_rotary_pos_emb(
    Engine& e, Tensor& query, Tensor& key, const Rotation& rotation, std::vector<Tensor>& held);

}  // namespace peakline
