// Scores of many rows, their summary, and how both are printed.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "peakline/quantity.h"

namespace peakline::test {

inline constexpr double kMedianTarget = 0.1;  // percent of the real peak
inline constexpr double kP95Target = 1.0;
inline constexpr double kUnderTarget = -1.0;

struct Score {
  std::string key;
  std::string config;
  std::string family;
  std::string method;
  std::string settings;
  Bytes off;           // ours minus the recorded peak
  double error = 0.0;  // the same in percent of the recorded peak; negative is under
  bool phase_agrees = false;
  bool op_agrees = false;
  bool allocated_agrees = false;  // max_memory_allocated, to the byte
  double reserved_error = 0.0;    // percent of the replay that the row carries
};

struct Board {
  std::vector<Score> scores;
  std::map<std::string, int> skipped;  // reason -> rows
  int rows = 0;
};

struct Summary {
  std::size_t rows = 0;
  std::size_t exact = 0;
  double median = 0.0;  // of the absolute errors
  double p95 = 0.0;
  double worst_under = 0.0;
  double worst_over = 0.0;

  [[nodiscard]] bool meets_targets() const;
};

[[nodiscard]] Summary summarise(const std::vector<Score>& scores);

// Why rows are off: key of a row -> a sentence.
using Explanations = std::map<std::string, std::string>;

void print_brief(const Board& board);  // one line
void print_text(const Board& board, const Explanations& why);
void print_markdown(const Board& board, const Explanations& why);

}  // namespace peakline::test
