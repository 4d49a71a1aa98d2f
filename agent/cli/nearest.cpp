#include "cli/nearest.h"

#include <cstddef>

#include "peakline/nearest.h"

namespace peakline::cli {

std::string nearest(std::string_view typed, const std::vector<std::string>& names) {
  std::string best;
  // Two slips in a long word, one in a short one: more would guess.
  std::size_t limit = typed.size() >= 6 ? 3 : 2;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(typed, name);
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
