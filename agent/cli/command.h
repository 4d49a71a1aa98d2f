// A subcommand: one file that defines a Command, and one line in commands.cpp.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.h"

namespace peakline::cli {

struct Command {
  std::string_view name;
  std::string_view summary;  // one line of `peakline --help`
  // Adds the options to `app` and returns what runs once they are parsed. Subcommands of its own
  // are added with app.add_subcommand; the action asks them parsed().
  std::function<ExitCode()> (*attach)(CLI::App& app) = nullptr;
};

extern const Command kFitCommand;       // fit_command.cpp
extern const Command kServeCommand;     // serve_command.cpp
extern const Command kTimelineCommand;  // timeline_command.cpp

// In the order of --help.
[[nodiscard]] const std::vector<const Command*>& commands();

// An option that may stand alone ("--json"), take a word ("--json true") or be denied
// ("--no-json"): after arguments.cpp it always has the value "true" or "false". `names` as in
// CLI11, separated by commas.
CLI::Option* add_switch(CLI::App& app,
                        const std::string& names,
                        bool& value,
                        const std::string& meaning);
[[nodiscard]] bool is_switch(const CLI::Option& option);

// Makes an existing option a switch.
void make_switch(CLI::Option& option);

// An option that may stand alone, which is read as "all", or take a word ("--why optim"). A word
// that looks like a model is never its value.
CLI::Option* add_optional_word(CLI::App& app,
                               const std::string& names,
                               std::string& value,
                               const std::string& meaning);
[[nodiscard]] bool takes_optional_word(const CLI::Option& option);

}  // namespace peakline::cli
