// A decoder with its language-model head: the forward pass of one batch.
#pragma once

#include <vector>

#include "model/modules.h"

namespace peakline {

struct Batch {
  Tensor input_ids;       // [B, S] int64
  Tensor labels;          // [B, S] int64
  Tensor attention_mask;  // [B, S] int64, may be undefined
};

// CausalLMOutputWithPast: what the caller holds until it drops the outputs.
struct CausalLmOutput {
  Tensor loss;
  Tensor logits;  // undefined under Liger's fused loss
  std::vector<Tensor> past_key_values;
};

// `num_items_in_batch` undefined: the loss is a mean over the batch instead of a sum over this
// count.
[[nodiscard]] CausalLmOutput forward(Engine& e,
                                     const CausalLm& model,
                                     const Batch& batch,
                                     const Tensor& num_items_in_batch);

}  // namespace peakline
