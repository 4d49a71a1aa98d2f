// Queries, keys and values of one attention.
#pragma once

#include "model/modules.h"

namespace peakline {

struct SplitHeads {
  Tensor query;  // [B, A, S, D]
  Tensor key;    // [B, K, S, D]
  Tensor value;
};

// [B, S, n * D] -> [B, n, S, D]
[[nodiscard]] Tensor view_heads(Engine& e, Tensor projected, const ModelOptions& options);

// [B, A, S, D] -> [B, S, A * D]
[[nodiscard]] Tensor heads_together(Engine& e, Tensor attended);

// [B * A, S, D] -> [B, S, A * D]
[[nodiscard]] Tensor merge_heads(Engine& e, Tensor context, std::int64_t batch);

// What one projection made, [B, S, (A + 2 * K) * D], split as options.qkv_split says.
[[nodiscard]] SplitHeads split_projection(Engine& e, Tensor projected, const ModelOptions& options);

}  // namespace peakline
