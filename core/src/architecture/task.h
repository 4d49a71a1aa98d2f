// What ends the network: which head the class named in a config has.
#pragma once

#include <cstdint>
#include <optional>

#include "architecture/fields.h"
#include "peakline/model_config.h"

namespace peakline {

enum class Head : std::uint8_t {
  LanguageModel,
  MaskedLanguageModel,
  Classification,
  Question,
  TokenLabels,
  None
};

struct Task {
  Head head = Head::LanguageModel;
  std::int64_t num_labels = 2;  // PreTrainedConfig's default
  bool named = true;            // false: no class of transformers ends as the config's does
  std::optional<bool> tied;     // overrides the config's flag and the family's default
};

// From the last words of the class name: "...ForSequenceClassification".
[[nodiscard]] Task task_of(const ModelConfig& config, Fields& fields);

}  // namespace peakline
