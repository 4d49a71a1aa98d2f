#include "bench/scoreboard.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace peakline::test {

namespace {

constexpr double kMiss = 0.1;  // percent; the text lists rows further off than this

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  const auto at = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
  return values[at == 0 ? 0 : at - 1];
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

// The words of the settings that start with one of `prefixes`: "seq=2048 micro_batch=2".
std::string chosen(const Score& score, const std::vector<std::string>& prefixes) {
  std::string text;
  std::size_t begin = 0;
  while (begin < score.settings.size()) {
    const std::size_t end = std::min(score.settings.find(' ', begin), score.settings.size());
    const std::string word = score.settings.substr(begin, end - begin);
    for (const std::string& prefix : prefixes) {
      if (word.starts_with(prefix + "=")) text += (text.empty() ? "" : " ") + word;
    }
    begin = end + 1;
  }
  return text;
}

void print_tables(const Board& board) {
  const char* head = "rows | to the byte | median | p95 | most under | most over |";
  const char* rule = "|---|---|---|---|---|---|---|";
  std::printf("| all | %s\n%s\n", head, rule);
  print_line("all", summarise(board.scores));
  std::printf("\n| model class | %s\n%s\n", head, rule);
  print_groups(board.scores, [](const Score& s) { return s.family; });
  std::printf("\n| method | %s\n%s\n", head, rule);
  print_groups(board.scores, [](const Score& s) { return s.method; });
  std::printf("\n| setting | %s\n%s\n", head, rule);
  for (const char* setting :
       {"dtype", "autocast", "ckpt", "attn", "mask", "optim", "accum", "liger"}) {
    print_groups(board.scores, [&](const Score& s) { return chosen(s, {setting}); });
  }
}

template <class Member>
long count(const Board& board, Member member) {
  return static_cast<long>(std::count_if(
      board.scores.begin(), board.scores.end(), [&](const Score& s) { return s.*member; }));
}

void print_agreements(const Board& board) {
  std::vector<double> reserved;
  for (const Score& score : board.scores) reserved.push_back(std::fabs(score.reserved_error));
  std::printf(
      "The phase of the peak agrees in %ld of %zu rows, the operation that reaches it in %ld, "
      "`max_memory_allocated` in %ld to the byte; reserved memory is off by %.4f %% at the median "
      "and %.4f %% at the 95th percentile.\n",
      count(board, &Score::phase_agrees),
      board.scores.size(),
      count(board, &Score::op_agrees),
      count(board, &Score::allocated_agrees),
      quantile(reserved, 0.5),
      quantile(reserved, 0.95));
}

// Rows that are off for one reason.
struct Reason {
  std::vector<const Score*> scores;
};

std::map<std::string, Reason> by_reason(const Board& board, const Explanations& why) {
  std::map<std::string, Reason> reasons;
  for (const Score& score : board.scores) {
    if (score.off == Bytes()) continue;
    const auto found = why.find(score.key);
    reasons[found == why.end() ? "" : found->second].scores.push_back(&score);
  }
  return reasons;
}

void print_misses(const Board& board, const Explanations& why) {
  for (const auto& [sentence, reason] : by_reason(board, why)) {
    std::printf("\n%s\n\n", sentence.empty() ? "Not explained yet:" : sentence.c_str());
    std::printf("| row | config | off by | | settings |\n|---|---|---|---|---|\n");
    for (const Score* score : reason.scores) {
      std::printf("| %s | %s | %+lld B | %+.6f %% | %s |\n",
                  score->key.c_str(),
                  score->config.c_str(),
                  static_cast<long long>(score->off.count()),
                  score->error,
                  score->settings.c_str());
    }
  }
}

void print_skipped(const Board& board) {
  for (const auto& [reason, rows] : board.skipped) std::printf("- %d: %s\n", rows, reason.c_str());
}

}  // namespace

bool Summary::meets_targets() const {
  return rows > 0 && median <= kMedianTarget && p95 <= kP95Target && worst_under >= kUnderTarget;
}

Summary summarise(const std::vector<Score>& scores) {
  Summary summary;
  std::vector<double> absolute;
  for (const Score& score : scores) {
    absolute.push_back(std::fabs(score.error));
    if (score.off == Bytes()) ++summary.exact;
    summary.worst_under = std::min(summary.worst_under, score.error);
    summary.worst_over = std::max(summary.worst_over, score.error);
  }
  summary.rows = scores.size();
  summary.median = quantile(absolute, 0.5);
  summary.p95 = quantile(absolute, 0.95);
  return summary;
}

void print_brief(const Board& board) {
  const Summary all = summarise(board.scores);
  std::printf("%zu rows, %zu to the byte; median %.4f %%, p95 %.4f %%, from %.3f %% to %+.4f %%\n",
              all.rows,
              all.exact,
              all.median,
              all.p95,
              all.worst_under,
              all.worst_over);
}

void print_text(const Board& board, const Explanations& why) {
  std::printf("%d rows, %zu scored\n\n", board.rows, board.scores.size());
  print_tables(board);
  std::printf("\n");
  print_agreements(board);
  std::printf("\nOff by more than %.1f %%:\n", kMiss);
  for (const Score& score : board.scores) {
    if (std::fabs(score.error) <= kMiss) continue;
    std::printf("- %s %s %+.3f %%%s: %s\n",
                score.key.c_str(),
                score.config.c_str(),
                score.error,
                why.contains(score.key) ? "" : " (not explained)",
                score.settings.c_str());
  }
  std::printf("\nNot scored:\n");
  print_skipped(board);
  std::printf("\nTargets (median <= 0.1 %%, p95 <= 1 %%, never under by more than 1 %%): %s\n",
              summarise(board.scores).meets_targets() ? "met" : "MISSED");
}

void print_markdown(const Board& board, const Explanations& why) {
  std::printf("%d recorded rows, %zu of them of shapes and settings whose step is modelled.\n\n",
              board.rows,
              board.scores.size());
  print_tables(board);
  std::printf("\n");
  print_agreements(board);
  std::printf("\n### Every row that is not exact\n");
  print_misses(board, why);
  std::printf("\n### Rows that are not scored\n\n");
  print_skipped(board);
}

}  // namespace peakline::test
