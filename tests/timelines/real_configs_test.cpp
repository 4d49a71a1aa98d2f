// Reports on real config.json files: none crashes, none is larger than a page can take, and every
// number in it agrees with the others.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "peakline/estimate.h"
#include "support/print.h"
#include "support/truth_row.h"

namespace peakline::test {
namespace {

using nlohmann::json;

void check_memory(const Memory& memory) {
  Bytes sum;
  for (const PeakCategory& category : memory.at_peak) sum += category.bytes;
  CHECK(sum == memory.tensor_peak);
  Bytes highest;
  for (const PhaseMemory& phase : memory.phases) highest = std::max(highest, phase.tensor_peak);
  CHECK(highest == memory.tensor_peak);
  Bytes top;
  for (const TimelinePoint& point : memory.timeline) top = std::max(top, point.tensors);
  CHECK(top == memory.tensor_peak);
  CHECK(memory.tensor_peak <= memory.allocated_peak);
  CHECK(memory.allocated_peak <= memory.reserved_peak);
  CHECK(memory.interval.low <= memory.process_peak);
  CHECK(memory.process_peak <= memory.interval.high);
}

TEST_CASE("every real config gives a report of at most 64 KB or errors with a place",
          "[real_configs]") {
  const auto shared = shared_data();
  if (!shared) SKIP("no configs on this machine: set PEAKLINE_SHARED");
  int with_step = 0;
  int reports = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*shared / "configs")) {
    const std::string config = read_text(entry.path());
    // Adapters on plain and on packed weights take turns.
    for (const char* method : {"full", config.size() % 2 == 0 ? "lora" : "qlora"}) {
      const json setup = {{"method", method},
                          {"gradient_checkpointing", std::string(method) != "full"},
                          {"gpu", {{"name", "A100 80GB"}}}};
      INFO(entry.path().filename().string() << " " << method);
      const Result<Report> report = estimate(config, setup.dump());
      if (!report) {
        CHECK_FALSE(report.error().empty());
        for (const Error& error : report.error()) CHECK(error.where.starts_with("config"));
        continue;
      }
      ++reports;
      CHECK(to_json(*report).size() <= 64 * 1024);
      if (!report->has_memory) {
        CHECK(report->verdict.answer == Answer::NotModelled);
        CHECK_FALSE(report->verdict.sentence.empty());
        continue;
      }
      ++with_step;
      check_memory(report->memory);
      CHECK(report->memory.tensor_peak > Bytes(0));
      CHECK(report->num_trainable_parameters <= report->num_parameters);
    }
  }
  CHECK(reports > 200);
  CHECK(with_step > 60);
}

}  // namespace
}  // namespace peakline::test
