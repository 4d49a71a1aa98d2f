// Where bytes become words.
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "peakline/report.h"

namespace peakline {
namespace {

TEST_CASE("bytes are shown in binary units with one decimal, rounded half up", "[report]") {
  constexpr std::int64_t kKibi = 1024;
  constexpr std::int64_t kMebi = kKibi * kKibi;
  constexpr std::int64_t kGibi = kMebi * kKibi;
  struct Row {
    std::int64_t bytes;
    const char* text;
  };
  for (const Row& row : {Row{0, "0 B"},
                         Row{96, "96 B"},
                         Row{1023, "1023 B"},
                         Row{kKibi, "1.0 KiB"},
                         Row{1536, "1.5 KiB"},
                         Row{kKibi + 51, "1.0 KiB"},
                         Row{kKibi + 52, "1.1 KiB"},
                         Row{10 * kKibi - 1, "10.0 KiB"},
                         Row{kMebi, "1.0 MiB"},
                         Row{512 * kMebi, "512.0 MiB"},
                         Row{kGibi, "1.0 GiB"},
                         Row{22978000000, "21.4 GiB"},
                         Row{85899345920, "80.0 GiB"},
                         Row{kGibi * 3000 + kGibi / 4, "3000.3 GiB"},
                         Row{-kMebi, "-1.0 MiB"},
                         Row{-96, "-96 B"}}) {
    CHECK(format_bytes(Bytes(row.bytes)) == row.text);
  }
}

TEST_CASE("the largest quantities are shown without overflow", "[report]") {
  CHECK(format_bytes(Bytes(std::numeric_limits<std::int64_t>::max())) == "8589934592.0 GiB");
  CHECK(format_bytes(Bytes(std::numeric_limits<std::int64_t>::min())) == "-8589934592.0 GiB");
}

TEST_CASE("bytes that round up to the next unit are shown in it", "[report]") {
  constexpr std::int64_t kMebi = std::int64_t{1} << 20;
  CHECK(format_bytes(Bytes(kMebi - 1)) == "1.0 MiB");
  CHECK(format_bytes(Bytes(kMebi * 1024 - 1)) == "1.0 GiB");
  // A twentieth of a KiB below a MiB still rounds up, one byte less does not.
  CHECK(format_bytes(Bytes(kMebi - 51)) == "1.0 MiB");
  CHECK(format_bytes(Bytes(kMebi - 52)) == "1023.9 KiB");
  CHECK(format_bytes(Bytes(1 - kMebi)) == "-1.0 MiB");
}

}  // namespace
}  // namespace peakline
