// Reading a file a person named, with a limit.
#pragma once

#include <string>

#include "peakline/result.h"

namespace peakline::cli {

// At most json::kMaxDocumentBytes; "-" is standard input. Errors name the path.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

}  // namespace peakline::cli
