// Compares the simulated step with recorded event lists of the real stack.
//   event_equality [--markdown] [FILE.json.gz ...]     default: every recorded timeline there is
// A config is looked up beside its timeline, then in the shared data. Exit 1 when a list differs;
// one whose step is not modelled yet is named and is no failure.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "peakline/estimate.h"
#include "support/truth_row.h"
#include "timeline/diff.h"
#include "timeline/timeline.h"

namespace peakline::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kOwnTimelines = "tests/timelines/data";

struct Outcome {
  std::string name;
  std::string settings;
  std::string not_modelled;                   // why there is nothing to compare
  std::optional<timeline::Difference> first;  // where the two part
  std::int64_t agree = 0;
};

std::string first_message(const Errors& errors) {
  return errors.front().message;
}

Result<Events> simulated(const std::string& config, const std::string& setup) {
  const Result<ModelConfig> parsed = parse_model_config(config);
  if (!parsed) return parsed.error();
  const Result<Architecture> architecture = build_architecture(*parsed);
  if (!architecture) return architecture.error();
  const Result<TrainSetup> resolved = parse_train_setup(setup);
  if (!resolved) return resolved.error();
  return simulate(*architecture, *resolved);
}

std::string config_text(const json& row,
                        const fs::path& file,
                        const std::optional<fs::path>& shared) {
  const fs::path beside = file.parent_path() / row.at("config").get<std::string>();
  return fs::exists(beside) || !shared ? read_text(beside) : config_of(row, *shared);
}

// "full, 1 x 1024, dtype=bf16, ..." with what differs from the recorder's defaults.
std::string settings_text(const json& s) {
  std::string text = s.at("method").get<std::string>() + ", " + s.at("micro_batch").dump() + " x " +
                     s.at("seq").dump();
  const auto add = [&](const char* key, const json& usual) {
    if (!s.contains(key) || s.at(key) == usual) return;
    const json& value = s.at(key);
    text += std::string(", ") + key + "=" +
            (value.is_string() ? value.get<std::string>() : value.dump());
  };
  add("dtype", "bf16");
  add("autocast", true);
  add("ckpt", "off");
  add("accum", 1);
  add("attn", "auto");
  add("mask", "ones");
  add("optim", "adamw_torch_fused");
  add("clip", 1.0);
  add("liger", false);
  add("card", "sm80");
  add("loop", "trainer");
  return text;
}

Outcome compare_file(const fs::path& file, const std::optional<fs::path>& shared) {
  Outcome outcome;
  outcome.name = file.filename().string();
  outcome.name = outcome.name.substr(0, outcome.name.find(".json"));
  const Result<timeline::Timeline> real = timeline::read_timeline(file);
  if (!real) {
    outcome.first = timeline::Difference{};
    outcome.first->what = first_message(real.error());
    return outcome;
  }
  const json row = json::parse(timeline::read_row(file));
  outcome.settings = settings_text(row.at("settings"));
  const Result<Events> events =
      simulated(config_text(row, file, shared), setup_of(row.at("settings")));
  if (!events) {
    outcome.not_modelled = first_message(events.error());
    return outcome;
  }
  const timeline::Comparison comparison = timeline::compare(*real, timeline::from_events(*events));
  outcome.agree = comparison.compared_events;
  outcome.first = comparison.first;
  return outcome;
}

void print_text(const std::vector<Outcome>& outcomes) {
  for (const Outcome& o : outcomes) {
    if (!o.not_modelled.empty()) {
      std::printf("%-45s not modelled: %s\n", o.name.c_str(), o.not_modelled.c_str());
    } else if (o.first) {
      std::printf("%-45s DIFFERS after %lld events, in %s: %s\n%s",
                  o.name.c_str(),
                  static_cast<long long>(o.agree),
                  o.first->phase.c_str(),
                  o.first->what.c_str(),
                  o.first->context.c_str());
    } else {
      std::printf(
          "%-45s event-equal, %lld events\n", o.name.c_str(), static_cast<long long>(o.agree));
    }
  }
}

void print_markdown(const std::vector<Outcome>& outcomes) {
  std::printf("| recorded timeline | settings | events | |\n|---|---|---|---|\n");
  for (const Outcome& o : outcomes) {
    if (!o.not_modelled.empty()) continue;
    std::printf("| %s | %s | %lld | %s |\n",
                o.name.c_str(),
                o.settings.c_str(),
                static_cast<long long>(o.agree),
                o.first ? "differs there" : "event-equal");
  }
  std::printf("\nRecorded, step not modelled yet:\n\n");
  for (const Outcome& o : outcomes) {
    if (o.not_modelled.empty()) continue;
    std::printf("- %s: %s\n", o.name.c_str(), o.not_modelled.c_str());
  }
}

std::vector<fs::path> timelines_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().string().ends_with(".json.gz")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

int run(int argc, char** argv) {
  bool markdown = false;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--markdown") {
      markdown = true;
    } else {
      files.emplace_back(argv[i]);
    }
  }
  const auto shared = shared_data();
  if (files.empty()) {
    files = timelines_in(kOwnTimelines);
    const std::vector<fs::path> more =
        shared ? timelines_in(*shared / "timelines") : std::vector<fs::path>();
    files.insert(files.end(), more.begin(), more.end());
    if (!shared) std::printf("SKIPPED: the timelines of the shared data (set PEAKLINE_SHARED)\n");
  }
  std::vector<Outcome> outcomes;
  for (const fs::path& file : files) outcomes.push_back(compare_file(file, shared));
  if (markdown) {
    print_markdown(outcomes);
  } else {
    print_text(outcomes);
  }
  const auto differs = [](const Outcome& outcome) { return outcome.first.has_value(); };
  return std::any_of(outcomes.begin(), outcomes.end(), differs) ? 1 : 0;
}

}  // namespace
}  // namespace peakline::test

int main(int argc, char** argv) {
  return peakline::test::run(argc, argv);
}
