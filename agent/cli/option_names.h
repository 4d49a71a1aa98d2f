// How the setup keys are spelled on the command line. A key needs no row here: "lora.r" is --lora-r
// anyway.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "peakline/train_setup.h"

namespace peakline::cli {

struct OptionNames {
  std::string all;      // for CLI11: "-b,--batch,--per-device-train-batch-size,..."
  std::string shown;    // for --help: "-b, --batch, --per-device-train-batch-size"
  std::string main;     // for messages: "--batch"
  std::string group;    // heading in --help
  bool common = false;  // in --help, not only in --help-all
};

// One entry per key, in order. Names are unique across all of them.
[[nodiscard]] std::vector<OptionNames> option_names_of(const std::vector<SetupKey>& keys);

// True for options of training programs that change no memory: --learning-rate, --output-dir.
[[nodiscard]] bool changes_no_memory(std::string_view canonical_option);

}  // namespace peakline::cli
