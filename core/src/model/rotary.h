// Rotary position embedding.
#pragma once

#include "model/modules.h"

namespace peakline {

struct Rotation {
  Tensor cos;  // [1, S, D]
  Tensor sin;  // [1, S, D]
};

// position_ids [1, S]; the tables come in the hidden states' dtype.
[[nodiscard]] Rotation rotary_embedding(Engine& e,
                                        const CausalLm& model,
                                        const Tensor& position_ids,
                                        DType dtype);

// query [B, A, S, D], key [B, K, S, D]; replaced by their rotated selves.
void apply_rotary_pos_emb(Engine& e, Tensor& query, Tensor& key, const Rotation& rotation);

// The same for the first entries of each head, as many as the tables are wide; the rest is joined
// to them unturned, even where nothing is left.
void apply_partial_rotary_pos_emb(Engine& e, Tensor& query, Tensor& key, const Rotation& rotation);

}  // namespace peakline
