#include "train/step_size.h"

#include <algorithm>

namespace peakline {

namespace {

// Forward, recomputation and backward of a 4-bit layer with seven adapters make about 600.
constexpr double kEventsPerLayer = 1000.0;
constexpr double kEventsPerNorm = 50.0;
constexpr double kEventsPerDoraLayer = 2000.0;  // and twice that where they are decomposed
constexpr double kEventsAroundLayers = 1000.0;
constexpr double kEventsPerLogitChunk = 16.0;
constexpr double kEventsPerBatch = 16.0;

}  // namespace

double most_events(const DenseDecoder& shape, const TrainSetup& setup, std::int64_t micro_batches) {
  const auto layers = static_cast<double>(shape.num_hidden_layers);
  const std::int64_t tokens = setup.per_device_train_batch_size * setup.max_length;
  const std::int64_t parts = shape.vocab_size / std::max<std::int64_t>(shape.hidden_size, 1) + 2;
  const double chunks = setup.use_liger_kernel ? static_cast<double>(std::min(parts, tokens)) : 0.0;
  const std::int64_t norms =
      shape.separate_head_norms ? shape.num_attention_heads + shape.num_key_value_heads : 0;
  const double per_layer = (setup.lora.use_dora ? kEventsPerDoraLayer : kEventsPerLayer) +
                           kEventsPerNorm * static_cast<double>(norms);
  const double per_micro_batch =
      layers * per_layer + kEventsAroundLayers + chunks * kEventsPerLogitChunk;
  // Loading and the optimizer count as one more.
  return (static_cast<double>(micro_batches) + 1.0) * per_micro_batch +
         static_cast<double>(setup.gradient_accumulation_steps) * kEventsPerBatch;
}

double most_elements(const DenseDecoder& shape, const TrainSetup& setup) {
  const auto hidden = static_cast<double>(shape.hidden_size);
  const auto heads =
      static_cast<double>(std::max(shape.num_attention_heads, shape.num_key_value_heads));
  const double width = std::max({hidden,
                                 static_cast<double>(shape.intermediate_size),
                                 static_cast<double>(shape.vocab_size),
                                 heads * static_cast<double>(shape.head_dim)});
  const auto length = static_cast<double>(setup.max_length);
  const double tokens = static_cast<double>(setup.per_device_train_batch_size) * length;
  const double scores = tokens * length * heads;  // where attention makes them whole
  const double adapters = width * static_cast<double>(setup.lora.r);
  return std::max({width * width, tokens * width, scores, adapters});
}

}  // namespace peakline
