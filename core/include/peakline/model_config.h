// What a config.json says: nothing derived, absent stays absent. Keys keep transformers' spelling.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "peakline/json.h"
#include "peakline/result.h"

namespace peakline {

struct ModelConfig {
  std::string model_type;                  // "" where the file does not say
  std::vector<std::string> architectures;  // class names, first is the one saved
  json::Value document;                    // the whole file, for fields a variant needs
};

// Reads a config.json. Errors: everything that is wrong with the file as JSON, and a document that
// is not a model's config (no model_type and no recognisable size fields).
[[nodiscard]] Result<ModelConfig> parse_model_config(std::string_view text);

}  // namespace peakline
