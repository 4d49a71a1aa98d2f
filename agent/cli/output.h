// Everything the program says leaves through here: answers to stdout, mistakes to stderr.
#pragma once

#include <string_view>

#include "cli/exit_code.h"
#include "peakline/result.h"

namespace peakline::cli {

// False where stdout could not take all of it (a full disk); a reader that went away is no mistake.
bool print(std::string_view text);

// The same for JSON text, with a line break after it.
bool print_json(std::string_view json);

// Says all errors on stderr, then `excerpt`, and returns the exit code they mean.
ExitCode fail(const Errors& errors, std::string_view excerpt = {});

// The same, with the errors as JSON on stdout for a program that reads it.
ExitCode fail_with_json(const Errors& errors);

}  // namespace peakline::cli
