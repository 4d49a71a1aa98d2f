#include <cstdint>
#include <string>

#include "peakline/report.h"

namespace peakline {

namespace {

// In tenths of `unit`, rounded half up, without floating point.
std::int64_t tenths_of(std::int64_t bytes, std::int64_t unit) {
  return bytes / unit * 10 + (bytes % unit * 10 + unit / 2) / unit;
}

}  // namespace

std::string format_bytes(Bytes bytes) {
  constexpr std::int64_t kStep = 1024;
  const std::int64_t count = bytes.count();
  if (count < 0) return "-" + format_bytes(Bytes(0) - bytes);
  if (count < kStep) return std::to_string(count) + " B";
  std::int64_t unit = kStep;
  std::int64_t tenths = tenths_of(count, unit);
  const char* name = "KiB";
  // The unit is chosen by the rounded number, so that none reads "1024.0 KiB".
  for (const char* larger : {"MiB", "GiB"}) {
    if (tenths < kStep * 10) break;
    unit *= kStep;
    tenths = tenths_of(count, unit);
    name = larger;
  }
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " " + name;
}

}  // namespace peakline
