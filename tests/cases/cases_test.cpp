// Whole questions as data. A file has a claim, a config (or its text), a setup and what is
// expected: the errors with their places, or an answer, or numbers. Where it names a recorded row,
// the numbers are those of the real libraries on the same question.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "peakline/estimate.h"

namespace peakline::test {
namespace {

using json = nlohmann::ordered_json;  // keys as the file has them

// Tensors of one element that the step leaves out, a block of 512 bytes each.
constexpr std::int64_t kSmallTensors = 4096;

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator("tests/cases")) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

json answer(const json& test) {
  const std::string config = test.contains("config_text")
                                 ? test.at("config_text").get<std::string>()
                                 : test.at("config").dump();
  const json request = {
      {"schema", 1}, {"op", "fit"}, {"config", config}, {"setup", test.at("setup")}};
  return json::parse(call(request.dump()));
}

void check_errors(const json& reply, const json& expected) {
  json got = json::array();
  for (const json& error : reply.value("errors", json::array())) {
    got.push_back(error.at("code").get<std::string>() + " " + error.at("where").get<std::string>());
    CHECK_FALSE(error.at("message").get<std::string>().empty());
  }
  CHECK(got.dump(2) == expected.dump(2));
}

void check_numbers(const json& report, const json& expected) {
  for (const char* key : {"num_parameters", "num_trainable_parameters"}) {
    if (expected.contains(key)) CHECK(report.at("model").at(key) == expected.at(key));
  }
  if (!expected.contains("tensor_peak_bytes")) return;
  const json& memory = report.at("memory");
  REQUIRE(memory.is_object());
  const auto peak = memory.at("tensor_peak_bytes").get<std::int64_t>();
  const auto recorded = expected.at("tensor_peak_bytes").get<std::int64_t>();
  INFO("peak " << peak << ", recorded " << recorded);
  CHECK(std::abs(peak - recorded) <= kSmallTensors);
  for (const char* key : {"peak_phase", "peak_op"}) {
    if (expected.contains(key)) CHECK(memory.at(key) == expected.at(key));
  }
}

void check_verdict(const json& report, const json& expected) {
  const json& verdict = report.at("verdict");
  const auto sentence = verdict.at("sentence").get<std::string>();
  INFO(sentence);
  for (const char* key : {"answer", "risk"}) {
    if (expected.contains(key)) CHECK(verdict.at(key) == expected.at(key));
  }
  if (expected.contains("sentence")) {
    CHECK(sentence.find(expected.at("sentence").get<std::string>()) != std::string::npos);
  }
  CHECK(report.at("memory").is_null() ==
        (verdict.at("answer") == "not_modelled" || verdict.at("streaming").is_object()));
  if (!expected.contains("assumed")) return;
  const auto word = expected.at("assumed").get<std::string>();
  CHECK(std::any_of(
      report.at("provenance").begin(), report.at("provenance").end(), [&](const json& row) {
        return row.at("kind") == "assumed" &&
               row.at("sentence").get<std::string>().find(word) != std::string::npos;
      }));
}

TEST_CASE("every case is answered as its file says", "[cases]") {
  const std::vector<std::filesystem::path> paths = files();
  CHECK(paths.size() >= 30);
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path);
    const json test = json::parse(file, nullptr, false);
    INFO(path.string());
    REQUIRE(test.is_object());
    INFO(test.at("claim"));
    const json reply = answer(test);
    const json& expected = test.at("expect");
    REQUIRE_FALSE(expected.empty());
    CHECK(reply.at("ok") == !expected.contains("errors"));
    if (expected.contains("errors")) {
      check_errors(reply, expected.at("errors"));
      continue;
    }
    if (!reply.at("ok")) {
      check_errors(reply, json::array());
      continue;
    }
    check_numbers(reply.at("report"), expected);
    check_verdict(reply.at("report"), expected);
  }
}

}  // namespace
}  // namespace peakline::test
