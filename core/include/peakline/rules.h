// Library behaviour that moves gigabytes, each with an id, a sentence and the place in the library
// that causes it. The code that applies a rule names its id.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "peakline/symbolic.h"
#include "peakline/train_setup.h"

namespace peakline {

struct Rule {
  std::string_view id;  // "R040", permanent
  std::string_view sentence;
  std::string_view source;    // file of the installed library
  std::string_view versions;  // those it was read in and recorded with
  std::string_view test;      // a timeline of tests/timelines/data that shows it, or a test's file
};

[[nodiscard]] std::span<const Rule> rules();

// By its id; nullptr where no rule has it.
[[nodiscard]] const Rule* find_rule(std::string_view id);

// The rule behind one storage, as far as its operation, place and shape tell; nullptr where they
// leave it open and for plain arithmetic.
[[nodiscard]] const Rule* rule_of(const EventTensor& tensor);

// A rule that a setting brings about and no storage shows: what it moves is elsewhere.
struct SettingRule {
  const Rule* rule = nullptr;
  std::string_view setting;  // its pointer in the report
};
[[nodiscard]] std::vector<SettingRule> rules_of(const TrainSetup& setup);

}  // namespace peakline
