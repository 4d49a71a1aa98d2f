// Positions from a table, added to the embeddings.
#pragma once

#include "model/causal_lm.h"

namespace peakline {

struct LearnedPositions {
  Tensor counted;       // the mask the positions are counted by, where they are
  Tensor position_ids;  // [1, S], or [B, S] where they are counted
};

[[nodiscard]] LearnedPositions learned_positions(Engine& e,
                                                 const CausalLm& model,
                                                 const Batch& batch);

// The table's rows for the positions: [1 or B, S, H].
[[nodiscard]] Tensor embed_positions(Engine& e, const CausalLm& model, const Tensor& position_ids);

}  // namespace peakline
