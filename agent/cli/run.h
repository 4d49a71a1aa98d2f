// From the words of the command line to an exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/exit_code.h"

namespace peakline::cli {

// `words` without the program's name.
[[nodiscard]] ExitCode run(const std::vector<std::string>& words);

}  // namespace peakline::cli
