// The messages themselves are under test: each bad-*.json holds one input and every error it must
// give. "config" is the text of a config.json, "config_hex" its bytes where they are no UTF-8,
// "setup" the text of a setup.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "peakline/architecture.h"
#include "peakline/json.h"
#include "peakline/train_setup.h"

namespace peakline {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

Errors errors_of_config(const std::string& text) {
  const Result<ModelConfig> config = parse_model_config(text);
  if (!config) return config.error();
  const Result<Architecture> architecture = build_architecture(*config);
  return architecture ? Errors{} : architecture.error();
}

Errors errors_of_setup(const std::string& text) {
  const Result<TrainSetup> setup = parse_train_setup(text);
  return setup ? Errors{} : setup.error();
}

std::string member(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value && value->as_string() ? *value->as_string() : std::string();
}

// One line per error, so that a failed comparison shows which differs.
std::string lines(const Errors& errors) {
  std::string text;
  for (const Error& error : errors) {
    text += code_name(error.code) + " [" + error.where + "] " + error.message + " | " + error.hint +
            "\n";
  }
  return text;
}

std::string expected_lines(const json::Value& test) {
  std::string text;
  const json::Value* errors = test.find("errors");
  for (const json::Value& error : *errors->as_array()) {
    text += member(error, "code") + " [" + member(error, "where") + "] " +
            member(error, "message") + " | " + member(error, "hint") + "\n";
  }
  return text;
}

std::vector<std::filesystem::path> cases() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator("tests/errors")) {
    if (entry.path().filename().string().rfind("bad-", 0) == 0) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST_CASE("every bad input gives exactly the errors its file lists", "[errors]") {
  const std::vector<std::filesystem::path> paths = cases();
  REQUIRE(paths.size() > 40);
  for (const std::filesystem::path& path : paths) {
    INFO(path.string());
    const Result<json::Value> test = json::parse(contents(path));
    REQUIRE(test.has_value());
    REQUIRE(test->find("errors"));
    std::string got;
    if (test->find("setup")) {
      got = lines(errors_of_setup(member(*test, "setup")));
    } else if (test->find("config_hex")) {
      got = lines(errors_of_config(from_hex(member(*test, "config_hex"))));
    } else {
      REQUIRE(test->find("config"));
      got = lines(errors_of_config(member(*test, "config")));
    }
    CHECK(got == expected_lines(*test));
    CHECK_FALSE(got.empty());
  }
}

}  // namespace
}  // namespace peakline
