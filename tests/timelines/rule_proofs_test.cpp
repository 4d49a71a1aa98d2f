// Every rule names the test that proves it: a recorded timeline in which it is at work and which
// the step equals event by event (timelines_test.cpp), or a file of tests.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "peakline/estimate.h"
#include "peakline/rules.h"
#include "support/truth_row.h"
#include "timeline/timeline.h"

namespace peakline::test {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = "tests/timelines/data";

std::set<std::string> rules_in(const std::string& name) {
  const nlohmann::json row =
      nlohmann::json::parse(timeline::read_row(kFolder / (name + ".json.gz")));
  const Result<ModelConfig> config =
      parse_model_config(read_text(kFolder / row.at("config").get<std::string>()));
  const Result<TrainSetup> setup = parse_train_setup(setup_of(row.at("settings")));
  REQUIRE((config && setup));
  const Result<Architecture> architecture = build_architecture(*config);
  REQUIRE(architecture);
  const Result<Events> events = simulate(*architecture, *setup);
  std::set<std::string> ids;
  if (!events) return ids;
  for (const EventTensor& tensor : events->tensors) {
    if (const Rule* rule = rule_of(tensor)) ids.insert(std::string(rule->id));
  }
  for (const SettingRule& applied : rules_of(*setup)) ids.insert(std::string(applied.rule->id));
  return ids;
}

TEST_CASE("the test that a rule names shows it", "[rules][timeline]") {
  std::map<std::string, std::string> shown_by;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(".json.gz")) continue;
    const std::string name = file.substr(0, file.find('.'));
    for (const std::string& id : rules_in(name)) shown_by[id] += " " + name;
  }
  for (const Rule& rule : rules()) {
    const std::string id(rule.id);
    const std::string test(rule.test);
    INFO(id << " names " << test << ", is shown by" << shown_by[id]);
    if (test.find('/') != std::string::npos) {
      CHECK(fs::exists(test));
    } else {
      CHECK((shown_by[id] + " ").find(" " + test + " ") != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace peakline::test
