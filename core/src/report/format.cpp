#include <cstdint>
#include <string>

#include "peakline/report.h"

namespace peakline {

namespace {

// `bytes` in units of `unit`, one decimal, rounded half up, without floating point.
std::string in_units(std::int64_t bytes, std::int64_t unit, const char* name) {
  const std::int64_t whole = bytes / unit;
  const std::int64_t tenths = (bytes % unit * 10 + unit / 2) / unit;
  const std::int64_t carried = whole + tenths / 10;
  return std::to_string(carried) + "." + std::to_string(tenths % 10) + " " + name;
}

}  // namespace

std::string format_bytes(Bytes bytes) {
  constexpr std::int64_t kKibi = std::int64_t{1} << 10;
  const std::int64_t count = bytes.count();
  if (count < 0) return "-" + format_bytes(Bytes(0) - bytes);
  if (count < kKibi) return std::to_string(count) + " B";
  if (count < kKibi * kKibi) return in_units(count, kKibi, "KiB");
  if (count < kKibi * kKibi * kKibi) return in_units(count, kKibi * kKibi, "MiB");
  return in_units(count, kKibi * kKibi * kKibi, "GiB");
}

}  // namespace peakline
