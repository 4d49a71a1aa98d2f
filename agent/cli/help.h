// The text of --help, laid out for the width of the terminal.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/terminal.h"

namespace peakline::cli {

// `peakline --help`: what it is, its commands, how to go on.
[[nodiscard]] std::string overview(const Terminal& terminal);

// `peakline COMMAND --help`: usage, description, options by group, then the footer, which holds
// examples. Of an option's names those of its option text are shown, or the first one. Groups whose
// name starts with kRareGroup are left out unless `all`.
[[nodiscard]] std::string command_help(const CLI::App& app, const Terminal& terminal, bool all);

inline constexpr std::string_view kRareGroup = "More: ";

// The meaning of the exit codes, for footers.
[[nodiscard]] std::string exit_code_help();

}  // namespace peakline::cli
