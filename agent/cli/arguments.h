// The words of the command line in the one spelling that CLI11 is told about: "--max_length 8" and
// "--Max-Length=8" become "--max-length=8", a switch gets its value, unknown options get a hint.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "peakline/result.h"

namespace peakline::cli {

// Lower case, dashes for underscores and dots: "--lora.r" -> "--lora-r".
[[nodiscard]] std::string canonical_option(std::string_view typed);

// "true", "on", "yes", "1" and their opposites, in any case; empty for other words.
[[nodiscard]] std::string_view truth_word(std::string_view text);

// A path that exists, a config's name, a hub id with its owner or an address of the hub.
[[nodiscard]] bool looks_like_model(const std::string& word);

// Words after "--" stay as they are. Mistakes are added to `errors` and left out of the result.
[[nodiscard]] std::vector<std::string> canonical_arguments(const CLI::App& app,
                                                           const std::vector<std::string>& words,
                                                           Errors& errors);

}  // namespace peakline::cli
