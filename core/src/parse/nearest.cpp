#include "peakline/nearest.h"

#include <algorithm>
#include <vector>

namespace peakline {
namespace {

constexpr std::size_t kMaxCompared = 64;  // longer input is no misspelling of a known name

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMaxCompared);
  b = b.substr(0, kMaxCompared);
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool equal = lower(a[i - 1]) == lower(b[j - 1]);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (equal ? 0u : 1u)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

std::size_t nearest_index(std::string_view typed, std::span<const std::string_view> names) {
  std::size_t best = names.size();
  // One mistake in three characters; a word of four may have two, one of one or two none.
  std::size_t best_distance = typed.size() / 3 + (typed.size() > 3 ? 1 : 0);
  if (typed.empty() || typed.size() > kMaxCompared) return best;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t distance = edit_distance(typed, names[i]);
    if (distance < best_distance || (distance == best_distance && best == names.size())) {
      best = i;
      best_distance = distance;
    }
  }
  return best;
}

std::string_view nearest_choice(std::string_view typed, std::string_view choices) {
  std::vector<std::string_view> names;
  any_choice(choices, [&](std::string_view name) {
    names.push_back(name);
    return false;
  });
  for (const std::string_view name : names) {
    if (typed.size() >= 4 && name.substr(0, typed.size()) == typed) return name;
  }
  const std::size_t index = nearest_index(typed, names);
  return index == names.size() ? std::string_view() : names[index];
}

}  // namespace peakline
