// Scores the simulated step against every recorded row of the real stack that it can express.
//   accuracy [TRUTH.jsonl ...]      default: truth.jsonl of the shared data
// Exit 0 when the targets hold: median <= 0.1 %, p95 <= 1 %, never under by more than 1 %.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "peakline/estimate.h"
#include "support/truth_row.h"

namespace peakline::test {
namespace {

using nlohmann::json;

constexpr double kMedianTarget = 0.1;  // percent
constexpr double kP95Target = 1.0;
constexpr double kUnderTarget = -1.0;
constexpr double kMiss = 0.1;  // rows further off than this are listed

struct Score {
  std::string key;
  std::string config;
  std::string family;
  std::string method;
  double error = 0.0;  // percent of the real peak; negative is under
  bool phase_agrees = false;
  bool op_agrees = false;
  std::string settings;
};

struct Board {
  std::vector<Score> scores;
  std::map<std::string, int> skipped;  // reason -> rows
  int rows = 0;
};

std::string short_settings(const json& s) {
  std::string text;
  for (const char* key : {"method",
                          "dtype",
                          "autocast",
                          "targets",
                          "rank",
                          "ckpt",
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
  const double real = static_cast<double>(row.at("peak_allocated").get<std::int64_t>());
  score.error = (static_cast<double>(report->memory.tensor_peak.count()) - real) / real * 100.0;
  score.phase_agrees = report->memory.peak_phase == row.at("peak_phase").get<std::string>();
  score.op_agrees = report->memory.peak_op == row.at("peak_op").get<std::string>();
  score.settings = short_settings(settings);
  board.scores.push_back(std::move(score));
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  const auto at = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
  return values[at == 0 ? 0 : at - 1];
}

struct Summary {
  std::size_t rows = 0;
  std::size_t exact = 0;
  double median = 0.0;
  double p95 = 0.0;
  double worst_under = 0.0;
  double worst_over = 0.0;
};

Summary summarise(const std::vector<Score>& scores) {
  Summary summary;
  std::vector<double> absolute;
  for (const Score& score : scores) {
    absolute.push_back(std::fabs(score.error));
    if (score.error == 0.0) ++summary.exact;
    summary.worst_under = std::min(summary.worst_under, score.error);
    summary.worst_over = std::max(summary.worst_over, score.error);
  }
  summary.rows = scores.size();
  summary.median = quantile(absolute, 0.5);
  summary.p95 = quantile(absolute, 0.95);
  return summary;
}

void print_line(const std::string& name, const Summary& s) {
  std::printf("| %s | %zu | %zu | %.4f %% | %.4f %% | %.4f %% | %+.4f %% |\n",
              name.c_str(),
              s.rows,
              s.exact,
              s.median,
              s.p95,
              s.worst_under,
              s.worst_over);
}

template <class Key>
void print_groups(const std::vector<Score>& scores, Key key) {
  std::map<std::string, std::vector<Score>> groups;
  for (const Score& score : scores) groups[key(score)].push_back(score);
  for (const auto& [name, members] : groups) print_line(name, summarise(members));
}

int print_board(const Board& board) {
  const Summary all = summarise(board.scores);
  std::printf("%d rows, %zu scored\n\n", board.rows, board.scores.size());
  std::printf(
      "| rows of | rows | to the byte | median | p95 | most under | most over "
      "|\n|---|---|---|---|---|---|---|\n");
  print_groups(board.scores, [](const Score& s) { return s.family; });
  print_groups(board.scores, [](const Score& s) { return s.method; });
  print_line("all", all);
  const auto agree = [&](auto member) {
    return std::count_if(
        board.scores.begin(), board.scores.end(), [&](const Score& s) { return s.*member; });
  };
  std::printf("\nThe phase of the peak agrees in %ld rows, its operation in %ld.\n",
              static_cast<long>(agree(&Score::phase_agrees)),
              static_cast<long>(agree(&Score::op_agrees)));
  std::printf("\nOff by more than %.1f %%:\n", kMiss);
  for (const Score& score : board.scores) {
    if (std::fabs(score.error) > kMiss) {
      std::printf("- %s %s %+.3f %%: %s\n",
                  score.key.c_str(),
                  score.config.c_str(),
                  score.error,
                  score.settings.c_str());
    }
  }
  std::printf("\nNot scored:\n");
  for (const auto& [reason, rows] : board.skipped) std::printf("- %d: %s\n", rows, reason.c_str());
  const bool met = all.rows > 0 && all.median <= kMedianTarget && all.p95 <= kP95Target &&
                   all.worst_under >= kUnderTarget;
  std::printf("\nTargets (median <= 0.1 %%, p95 <= 1 %%, never under by more than 1 %%): %s\n",
              met ? "met" : "MISSED");
  return met ? 0 : 1;
}

int run(int argc, char** argv) {
  const auto shared = shared_data();
  if (!shared) {
    std::printf("SKIPPED: no recorded rows on this machine (set PEAKLINE_SHARED)\n");
    return 0;
  }
  std::vector<std::filesystem::path> files(argv + 1, argv + argc);
  if (files.empty()) files.push_back(*shared / "truth.jsonl");
  Board board;
  for (const auto& path : files) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) score_row(json::parse(line), *shared, board);
  }
  return print_board(board);
}

}  // namespace
}  // namespace peakline::test

int main(int argc, char** argv) {
  return peakline::test::run(argc, argv);
}
