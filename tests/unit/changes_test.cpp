// What would make a run fit: laws of the changes, each of which is simulated.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "support/step.h"

namespace peakline::test {
namespace {

using nlohmann::json;

std::vector<Change> changes_of(const json& config, const json& setup, Report& asked) {
  Result<Report> report = estimate(config.dump(), setup.dump());
  REQUIRE(report);
  asked = std::move(*report);
  return cheapest_changes(asked, config.dump(), setup.dump());
}

json large() {
  Decoder decoder{4096, 14336, 32, 8, 128, 128256, 32, false, "llama"};
  return decoder.config();
}

json on_card(json setup, const char* gpu) {
  setup["gpu"] = gpu;
  return setup;
}

TEST_CASE("every change is what a fresh estimate of the changed setup says", "[changes]") {
  for (const char* method : {"full", "lora", "qlora"}) {
    for (const char* gpu : {"RTX 3060 12GB", "RTX 4090", "A100 80GB"}) {
      const json setup = on_card({{"method", method}, {"max_length", 4096}}, gpu);
      INFO(setup.dump());
      Report asked;
      for (const Change& change : changes_of(large(), setup, asked)) {
        json patched = setup;
        patched.merge_patch(json::parse(peakline::json::dump(change.patch)));
        const Result<Report> report = estimate(large().dump(), patched.dump());
        REQUIRE(report);
        CHECK(report->verdict.answer == change.answer);
        CHECK(asked.memory.process_peak - report->memory.process_peak == change.saves);
        CHECK(change.saves > Bytes(0));
        CHECK_FALSE(change.sentence.empty());
      }
    }
  }
}

TEST_CASE("what fits, or is not modelled, needs no change", "[changes]") {
  Report asked;
  CHECK(changes_of(large(), on_card({{"method", "lora"}, {"max_length", 256}}, "A100 80GB"), asked)
            .empty());
  CHECK(asked.verdict.answer == Answer::Fits);
  const json packed = {{"method", "lora"}, {"packing", true}};
  CHECK(changes_of(large(), on_card(packed, "RTX 3060 12GB"), asked).empty());
}

TEST_CASE("the cheapest change that fits comes first", "[changes]") {
  Report asked;
  const json setup = on_card({{"method", "lora"}, {"max_length", 4096}}, "A100 40GB");
  const std::vector<Change> changes = changes_of(large(), setup, asked);
  REQUIRE(asked.verdict.answer == Answer::DoesNotFit);
  REQUIRE_FALSE(changes.empty());
  CHECK(changes.size() <= kMaxChanges);
  CHECK(changes[0].answer == Answer::Fits);
  CHECK(peakline::json::dump(changes[0].patch) == R"({"gradient_checkpointing":true})");
  for (std::size_t i = 1; i < changes.size(); ++i) {
    if (changes[i].answer == Answer::Fits) CHECK(changes[i].cost >= changes[i - 1].cost);
  }
}

TEST_CASE("where nothing alone is enough, changes are joined and none is idle", "[changes]") {
  Report asked;
  const json setup = on_card({{"method", "full"}, {"max_length", 2048}}, "RTX 4090");
  const std::vector<Change> changes = changes_of(large(), setup, asked);
  REQUIRE_FALSE(changes.empty());
  CHECK(changes[0].answer == Answer::Fits);
  CHECK(changes[0].sentence.find(" + ") != std::string::npos);
}

}  // namespace
}  // namespace peakline::test
