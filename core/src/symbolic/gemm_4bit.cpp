#include "symbolic/gemm_4bit.h"

namespace peakline::symbolic {

namespace {

constexpr std::int64_t kMaxFusedRows = 1536;
constexpr std::int64_t kAlwaysFusedRows = 4;
constexpr std::int64_t kSmallWeightElements = 4 * 1024 * 1024;

// The product as the library's heuristic sees it. `waves(a, b)`: do the 64-column blocks fill a/b
// of the SMs?
struct Product {
  int cc;
  std::int64_t sms;
  std::int64_t rows;
  std::int64_t n;
  std::int64_t k;
  std::int64_t blocks;
  [[nodiscard]] bool waves(std::int64_t a, std::int64_t b = 1) const {
    return blocks * b >= sms * a;
  }
  [[nodiscard]] bool hbm() const { return cc == 80 || cc / 10 == 9; }
};

// Each function answers with the largest number of rows that still takes the fused kernel.

std::int64_t small_short_k(const Product& p) {  // fewer than 4M weights, K < N / 2
  if (p.cc == 80) return p.blocks * 3 < p.sms ? 1536 : 512;
  if (p.cc / 10 == 9) return p.blocks * 3 < p.sms ? 512 : 320;
  if (p.cc == 75) {
    if (p.waves(3)) return 320;
    if (p.k >= 1024) return 64;
    return p.k >= 704 ? 96 : 320;
  }
  if (p.waves(1)) return 320;
  return p.blocks * p.k > p.sms * 320 ? 192 : 320;
}

std::int64_t small(const Product& p) {
  if (p.k * 2 < p.n) return small_short_k(p);
  const bool quarter = p.blocks * 4 <= p.sms;
  if (p.cc == 80 && quarter) {
    if (p.k < p.n) return 384;
    return p.blocks * 8 <= p.sms ? 32 : 128;
  }
  if (p.cc == 75 && p.blocks < p.sms && p.rows > 8) return 64;
  if (quarter) return p.k < p.n || p.hbm() ? 32 : 23;
  return p.blocks * 2 <= p.sms ? 16 : 0;
}

// Five to seven rows: fused, but for some shapes on cards with HBM.
std::int64_t few_rows(const Product& p) {
  constexpr std::int64_t kAll = kMaxFusedRows;
  const bool hopper = p.cc / 10 == 9;
  if (!p.hbm() || p.rows < 6 || p.blocks < (hopper ? 36 : 48)) return kAll;
  const bool below_three_quarters = !p.waves(3, 4);
  const bool below_three_fifths = !p.waves(3, 5);
  if (p.k > p.n && below_three_quarters) return 0;
  if (p.k == p.n && p.cc == 80 && below_three_fifths) return 0;
  if (p.k == p.n && hopper && below_three_quarters && !below_three_fifths) return 0;
  return kAll;
}

std::int64_t turing(const Product& p) {
  if (p.waves(3)) return p.k < p.n ? 128 : 64;
  return p.blocks >= p.sms / 2 ? 64 : 32;
}

std::int64_t a100(const Product& p) {
  if (p.waves(3)) return 128;
  if (p.waves(1)) return p.k < p.n ? 64 : 32;
  if (p.k >= p.n * 3 && p.blocks * 4 > p.sms) return 0;
  if (p.k == p.n && p.blocks >= 48 && !p.waves(3, 5)) return 0;
  if (!p.waves(1, 2)) {
    if (p.k <= p.n) return 128;
    if (p.waves(1, 3)) return 0;
  }
  return p.blocks >= p.sms / 2 && p.k < p.n ? 128 : 16;
}

std::int64_t ampere_gddr(const Product& p) {
  if (p.waves(1)) return 128;
  return p.blocks >= p.sms / 2 ? 64 : 16;
}

std::int64_t hopper(const Product& p) {
  if (p.waves(3)) return 64;
  if (p.waves(2)) return 48;
  if (p.waves(1)) return 32;
  if (p.blocks < p.sms / 2) return 0;
  return p.k >= p.n && !p.waves(3, 4) ? 0 : 16;
}

std::int64_t blackwell_gddr(const Product& p) {
  if (p.waves(3)) return 256;
  if (p.waves(2)) return 128;
  if (p.waves(4, 5)) return p.k >= p.n ? 96 : 64;
  if (p.blocks >= p.sms / 2) return p.k * 2 >= p.n && p.blocks >= 128 ? 64 : 8;
  return p.k > p.n * 2 && p.blocks > 64 ? 16 : 8;
}

std::int64_t ada_and_others(const Product& p) {
  if (p.cc == 121 && p.waves(1)) return 256;
  if (p.waves(3)) return 256;
  if (p.waves(2)) return 128;
  if (p.waves(4, 5)) {
    if (p.k > p.n * 2 || p.blocks >= 200) return 128;
    if (p.k >= p.n) return p.sms >= 60 ? 128 : 32;
    return 64;
  }
  const bool very_tall = p.k > p.n * 2;
  if (p.blocks >= p.sms / 2) {
    if (very_tall) return 64;
    return p.blocks >= 64 ? 8 : 32;
  }
  if (p.k > p.n && p.blocks <= 48) return p.k >= p.n * 3 ? 12 : 10;
  return very_tall || p.blocks < 48 ? 16 : 8;
}

std::int64_t blackwell_hbm(const Product& p) {
  if (p.waves(3)) return 32;
  if (!p.waves(1)) return 0;
  return p.k >= p.n ? 0 : 8;
}

std::int64_t row_limit(const Product& p) {
  if (p.cc == 87 || p.cc / 10 == 11) return 0;
  if (p.cc / 10 == 10) return blackwell_hbm(p);
  if (p.n * p.k < kSmallWeightElements) return small(p);
  if (p.rows > 512) return 0;
  if (p.rows < 8) return few_rows(p);
  if (p.cc == 75) return turing(p);
  if (p.cc == 80) return a100(p);
  if (p.cc == 86) return ampere_gddr(p);
  if (p.cc / 10 == 9) return hopper(p);
  if (p.cc == 120) return blackwell_gddr(p);
  return ada_and_others(p);
}

}  // namespace

bool uses_fused_gemm_4bit(const GemmCard& card,
                          std::int64_t rows,
                          std::int64_t out_features,
                          std::int64_t in_features) {
  if (rows > kMaxFusedRows || in_features % 64 != 0) return false;
  if (rows <= kAlwaysFusedRows) return true;
  const bool no_matrix_unit = card.dtype == DType::Float32 || card.compute_capability < 75 ||
                              (card.compute_capability == 75 && card.dtype != DType::Float16);
  if (no_matrix_unit) return rows < 8;
  const Product product{card.compute_capability,
                        card.sm_count,
                        rows,
                        out_features,
                        in_features,
                        (out_features + 63) / 64};
  return rows <= row_limit(product);
}

}  // namespace peakline::symbolic
