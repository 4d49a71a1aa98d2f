// What is too much or was never counted is not shown as a number.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "peakline/report.h"
#include "support/step.h"

namespace peakline::test {
namespace {

using nlohmann::json;

TEST_CASE("a step beyond what 64 bits hold is too large, not a number", "[report][bounds]") {
  // Scores are as long as the square of max_length.
  const json setup = {{"max_length", 2147483647}, {"attn_implementation", "eager"}};
  const Result<Report> report = estimate(Decoder{}.config().dump(), with_card(setup).dump());
  if (report) FAIL(report->verdict.sentence);
  CHECK(report.error().front().code == ErrorCode::TooLarge);
  CHECK_FALSE(report.error().front().hint.empty());
}

TEST_CASE("a huge step that 64 bits hold still gets its numbers", "[report][bounds]") {
  const Report report =
      report_of(Decoder{}.config(), {{"max_length", 1 << 22}, {"attn_implementation", "eager"}});
  CHECK(report.verdict.answer == Answer::DoesNotFit);
  CHECK(report.memory.interval.high > gibibytes(1 << 17));
  CHECK_FALSE(report.memory.interval.high.saturated());
}

TEST_CASE("a count that was not made is null", "[report][bounds]") {
  struct Row {
    Method method;
    std::int64_t all;
    std::int64_t trained;
    const char* model;
  };
  for (const Row& row : {Row{Method::Full, 0, 0, "null null"},
                         Row{Method::Inference, 0, 0, "null null"},
                         Row{Method::Lora, 70, 0, "70 null"},
                         Row{Method::Lora, 70, 7, "70 7"},
                         Row{Method::Inference, 70, 0, "70 0"}}) {
    Report report;
    report.setup.method = row.method;
    report.num_parameters = Elements(row.all);
    report.num_trainable_parameters = Elements(row.trained);
    const json model = json::parse(to_json(report))["model"];
    CHECK(model["num_parameters"].dump() + " " + model["num_trainable_parameters"].dump() ==
          row.model);
  }
}

}  // namespace
}  // namespace peakline::test
