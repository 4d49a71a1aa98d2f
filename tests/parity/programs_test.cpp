// Programs nobody thought of, in both engines. A failing one is shrunk to what fails.
#include <catch2/catch_test_macros.hpp>

#include "parity/program.h"

namespace peakline::test {
namespace {

TEST_CASE("programs drawn by chance", "[parity][random]") {
  constexpr std::uint64_t kPrograms = 400;
  std::size_t events = 0;
  int failed = 0;
  for (std::uint64_t seed = 1; seed <= kPrograms; ++seed) {
    const Instructions program = draw_program(seed, 3 + seed % 12);
    const Parity parity = compare(run_twice(program));
    events += parity.num_events;
    if (parity.equal) continue;
    const Instructions small = shrunk(program);
    FAIL_CHECK("seed " << seed << ": " << words(small) << "\n"
                       << compare(run_twice(small)).difference);
    if (++failed == 3) break;  // shrinking takes its time
  }
  CHECK(events > kPrograms * 50);
}

TEST_CASE("shrinking keeps what fails and nothing else", "[parity][random]") {
  CHECK(shrunk({}).empty());
  const Instructions sound = draw_program(1, 4);
  // A program that agrees cannot be made shorter: every shorter one agrees as well.
  CHECK(shrunk(sound).size() == sound.size());
}

}  // namespace
}  // namespace peakline::test
