// Scores the simulated step against every recorded row of the real stack that it can express.
//   accuracy [--brief | --markdown] [TRUTH.jsonl ...]      default: truth.jsonl of the shared data
// Exit 0 when the targets hold: median <= 0.1 %, p95 <= 1 %, never under by more than 1 %.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/scoreboard.h"
#include "peakline/estimate.h"
#include "support/truth_row.h"

namespace peakline::test {
namespace {

using nlohmann::json;

std::string short_settings(const json& s) {
  std::string text;
  for (const char* key : {"method",
                          "dtype",
                          "autocast",
                          "targets",
                          "rank",
                          "ckpt",
                          "attn",
                          "micro_batch",
                          "seq",
                          "accum",
                          "optim",
                          "mask",
                          "liger",
                          "kbit_prep",
                          "double_quant",
                          "adapter_autocast",
                          "lora_dropout",
                          "tied",
                          "clip"}) {
    const json& value = s.at(key);
    if (value.is_null()) continue;
    text += std::string(text.empty() ? "" : " ") + key + "=" +
            (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text;
}

double percent(Bytes part, Bytes whole) {
  return static_cast<double>(part.count()) / static_cast<double>(whole.count()) * 100.0;
}

void score_row(const json& row, const std::filesystem::path& shared, Board& board) {
  ++board.rows;
  if (row.contains("ok") && !row.at("ok").get<bool>()) {
    ++board.skipped["the real stack itself refuses the row"];
    return;
  }
  const json& settings = row.at("settings");
  const Result<ModelConfig> config = parse_model_config(config_of(row, shared));
  if (!config) {
    ++board.skipped["config refused: " + config.error().front().message];
    return;
  }
  const Result<Architecture> architecture = build_architecture(*config);
  const Result<TrainSetup> setup = parse_train_setup(setup_of(settings));
  if (!architecture || !setup) {
    ++board.skipped["refused: " +
                    (architecture ? setup.error() : architecture.error()).front().message];
    return;
  }
  const Result<Report> report = estimate(config_of(row, shared), setup_of(settings));
  if (!report || !report->has_memory) {
    const Result<Events> events = simulate(*architecture, *setup);
    ++board.skipped[events ? "no report" : events.error().front().message];
    return;
  }
  Score score;
  score.key = row.at("key");
  score.config = row.at("config");
  score.family = row.at("model_class");
  score.method = settings.at("method");
  const Bytes real = Bytes(row.at("peak_allocated").get<std::int64_t>());
  score.off = report->memory.tensor_peak - real;
  score.error = percent(score.off, real);
  score.phase_agrees = report->memory.peak_phase == row.at("peak_phase").get<std::string>();
  score.op_agrees = report->memory.peak_op == row.at("peak_op").get<std::string>();
  const json& counters = row.at("allocator");
  const Bytes reserved = Bytes(counters.at("max_reserved").get<std::int64_t>());
  score.allocated_agrees = report->memory.allocated_peak.count() == counters.at("max_allocated");
  score.reserved_error = percent(report->memory.reserved_peak - reserved, reserved);
  score.settings = short_settings(settings);
  board.scores.push_back(std::move(score));
}

Explanations explanations() {
  Explanations why;
  for (const json& entry : json::parse(read_text("tests/bench/data/explanations.json"))) {
    for (const json& key : entry.at("rows")) why[key] = entry.at("why");
  }
  return why;
}

int run(int argc, char** argv) {
  std::string_view form;
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with("--")) {
      form = argv[i];
    } else {
      files.emplace_back(argv[i]);
    }
  }
  const auto shared = shared_data();
  if (!shared) {
    std::printf("SKIPPED: no recorded rows on this machine (set PEAKLINE_SHARED)\n");
    return 0;
  }
  if (files.empty()) files.push_back(*shared / "truth.jsonl");
  Board board;
  for (const auto& path : files) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) score_row(json::parse(line), *shared, board);
  }
  if (form == "--brief") {
    print_brief(board);
  } else if (form == "--markdown") {
    print_markdown(board, explanations());
  } else {
    print_text(board, explanations());
  }
  return summarise(board.scores).meets_targets() ? 0 : 1;
}

}  // namespace
}  // namespace peakline::test

int main(int argc, char** argv) {
  return peakline::test::run(argc, argv);
}
