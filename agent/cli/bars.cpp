#include "cli/bars.h"

#include <algorithm>
#include <string_view>

namespace peakline::cli {
namespace {

constexpr std::int64_t kEighths = 8;
// One to eight eighths of a column.
constexpr std::string_view kBlocks[] = {
    "\u258F", "\u258E", "\u258D", "\u258C", "\u258B", "\u258A", "\u2589", "\u2588"};

// `part / whole` in steps of 1/steps, rounded to the nearest.
std::int64_t share(Bytes part, Bytes whole, std::int64_t steps) {
  if (whole <= Bytes(0) || part <= Bytes(0)) return 0;
  const Bytes half_step = scaled(whole, 1, 2);
  const auto scaled_part = static_cast<__int128>(part.count()) * steps + half_step.count();
  return static_cast<std::int64_t>(scaled_part / whole.count());
}

}  // namespace

std::string bar(Bytes part, Bytes whole, std::size_t columns, bool unicode) {
  if (part <= Bytes(0)) return {};
  const auto width = static_cast<std::int64_t>(columns);
  if (!unicode) {
    return std::string(
        static_cast<std::size_t>(std::clamp<std::int64_t>(share(part, whole, width), 1, width)),
        '#');
  }
  const std::int64_t eighths =
      std::clamp<std::int64_t>(share(part, whole, width * kEighths), 1, width * kEighths);
  std::string text;
  for (std::int64_t i = 0; i < eighths / kEighths; ++i) text += kBlocks[kEighths - 1];
  if (eighths % kEighths > 0) text += kBlocks[eighths % kEighths - 1];
  return text;
}

std::string percent(Bytes part, Bytes whole) {
  const std::int64_t hundredths = share(part, whole, 100);
  if (hundredths == 0 && part > Bytes(0)) return "<1 %";
  return std::to_string(hundredths) + " %";
}

}  // namespace peakline::cli
