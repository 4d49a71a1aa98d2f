// When a packed 4-bit weight is multiplied in one kernel: against bitsandbytes' own heuristic.
// data/gemm_4bit.csv says for every card, type and weight which numbers of rows take that kernel;
// data/gemm_4bit.py made it from the library's file.
#include "symbolic/gemm_4bit.h"

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>

#include "support/csv.h"

namespace peakline::test {
namespace {

using symbolic::GemmCard;
using symbolic::uses_fused_gemm_4bit;

constexpr std::int64_t kMaxRows = 1600;

DType dtype_of(const std::string& name) {
  if (name == "bfloat16") return DType::BFloat16;
  return name == "float16" ? DType::Float16 : DType::Float32;
}

// "1-7 16-64": every number of rows from 1 to kMaxRows that takes the fused kernel.
std::string fused_rows(const GemmCard& card, std::int64_t out, std::int64_t in) {
  std::string text;
  std::int64_t first = 0;
  for (std::int64_t rows = 1; rows <= kMaxRows + 1; ++rows) {
    const bool fused = rows <= kMaxRows && uses_fused_gemm_4bit(card, rows, out, in);
    if (fused && first == 0) first = rows;
    if (!fused && first != 0) {
      text += (text.empty() ? "" : " ") + std::to_string(first) + "-" + std::to_string(rows - 1);
      first = 0;
    }
  }
  return text;
}

TEST_CASE("the 4-bit product takes the kernel that bitsandbytes takes", "[symbolic][gemm_4bit]") {
  const auto rows = read_csv("tests/unit/data/gemm_4bit.csv");
  REQUIRE(rows.size() > 600);
  std::set<std::string> answers;
  for (const std::vector<std::string>& row : rows) {
    REQUIRE(row.size() == 6);
    const GemmCard card{std::stoi(row[0]), std::stoll(row[1]), dtype_of(row[2])};
    INFO("sm" << row[0] << " with " << row[1] << " SMs, " << row[2] << " [" << row[3] << ", "
              << row[4] << "]");
    CHECK(fused_rows(card, std::stoll(row[3]), std::stoll(row[4])) == row[5]);
    answers.insert(row[5]);
  }
  CHECK(answers.size() > 20);
}

TEST_CASE("training lengths dequantise on every card", "[symbolic][gemm_4bit]") {
  for (const int capability : {75, 80, 86, 89, 90, 100, 120}) {
    for (const DType dtype : {DType::BFloat16, DType::Float16, DType::Float32}) {
      CHECK_FALSE(uses_fused_gemm_4bit({capability, 108, dtype}, 2048, 4096, 4096));
    }
  }
}

}  // namespace
}  // namespace peakline::test
