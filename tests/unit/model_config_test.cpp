#include "peakline/model_config.h"

#include <catch2/catch_test_macros.hpp>

namespace peakline {
namespace {

TEST_CASE("a config keeps what the file says", "[config]") {
  const Result<ModelConfig> config = parse_model_config(
      R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048})");
  REQUIRE(config.has_value());
  CHECK(config->model_type == "llama");
  CHECK(config->architectures == std::vector<std::string>{"LlamaForCausalLM"});
  CHECK(*config->document.find("hidden_size")->as_integer() == 2048);
}

TEST_CASE("absent and null names stay empty", "[config]") {
  for (const std::string_view text :
       {R"({"hidden_size": 2048})",
        R"({"hidden_size": 2048, "model_type": null, "architectures": null})",
        R"({"text_config": {}})"}) {
    const Result<ModelConfig> config = parse_model_config(text);
    REQUIRE(config.has_value());
    CHECK(config->model_type.empty());
    CHECK(config->architectures.empty());
  }
}

TEST_CASE("a model_type alone makes a config, an adapter's base_model does not", "[config]") {
  CHECK(parse_model_config(R"({"model_type": "x"})").has_value());
  CHECK_FALSE(parse_model_config(R"({"peft_type": "LORA", "model_type": "x"})").has_value());
}

TEST_CASE("one mistake is told for each wrong name", "[config]") {
  const Result<ModelConfig> config =
      parse_model_config(R"({"model_type": 1, "architectures": [2], "hidden_size": 3})");
  REQUIRE_FALSE(config.has_value());
  CHECK(config.error().size() == 2);
}

}  // namespace
}  // namespace peakline
