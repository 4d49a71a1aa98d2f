#include "cli/nearest.h"

#include <algorithm>
#include <cstddef>

namespace peakline::cli {
namespace {

// Insertions, deletions, replacements and swaps of neighbours, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::vector<std::size_t> next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view typed, const std::vector<std::string>& names) {
  std::string best;
  // Two slips in a long word, one in a short one: more would guess.
  std::size_t limit = typed.size() >= 6 ? 3 : 2;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(typed.substr(0, 64), name);
    if (distance < limit) {
      limit = distance;
      best = name;
    }
  }
  if (!best.empty()) return best;
  for (const std::string& name : names) {
    if (typed.size() >= 3 && name.starts_with(typed)) return name;
  }
  return {};
}

}  // namespace peakline::cli
