// Where a model's config.json comes from: a file, a folder, standard input or the hub.
#pragma once

#include <string>

#include "peakline/result.h"

namespace peakline::cli {

struct ModelSource {
  std::string name;    // for messages: the path, "standard input", "org/name@1a2b3c4"
  std::string config;  // the text
};

// True where `argument` names something on the hub and nothing on this machine.
[[nodiscard]] bool is_on_hub(const std::string& argument);

// `revision` applies to the hub and may be empty.
[[nodiscard]] Result<ModelSource> read_model(const std::string& argument,
                                             const std::string& revision);

}  // namespace peakline::cli
