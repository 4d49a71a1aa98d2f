// The closed-form bounds of a step, and that its later micro batches repeat.
#include "train/step_size.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "report/analyse.h"
#include "support/step.h"

namespace peakline::test {
namespace {

using nlohmann::json;

std::vector<json> setups() {
  std::vector<json> all;
  for (const char* method : {"full", "lora", "qlora"}) {
    for (const bool checkpointing : {false, true}) {
      for (const char* attention : {"sdpa", "eager"}) {
        for (const bool liger : {false, true}) {
          all.push_back({{"method", method},
                         {"max_length", 256},
                         {"gradient_checkpointing", checkpointing},
                         {"attn_implementation", attention},
                         {"use_liger_kernel", liger}});
        }
      }
    }
  }
  for (const char* optim : {"adamw_torch", "adafactor", "adamw_bnb_8bit", "sgd"})
    all.push_back({{"method", "full"}, {"optim", optim}, {"max_length", 256}});
  return all;
}

TEST_CASE("no step makes more events or larger tensors than the bounds say", "[step_size]") {
  Decoder decoder;
  decoder.layers = 12;
  for (json setup : setups()) {
    for (const int accumulation : {1, 3}) {
      setup["gradient_accumulation_steps"] = accumulation;
      INFO(setup.dump());
      const Result<ModelConfig> config = parse_model_config(decoder.config().dump());
      REQUIRE(config);
      const Result<Architecture> architecture = build_architecture(*config);
      REQUIRE(architecture);
      REQUIRE(architecture->dense);
      const Result<TrainSetup> resolved = parse_train_setup(with_card(setup).dump());
      REQUIRE(resolved);
      const Events events = events_of(decoder.config(), setup);
      CHECK(static_cast<double>(events.events.size()) <=
            most_events(*architecture->dense, *resolved, 2 * accumulation));
      const double elements = most_elements(*architecture->dense, *resolved);
      for (const EventTensor& tensor : events.tensors) {
        double product = 1.0;
        for (int i = 0; i < tensor.rank; ++i)
          product *= static_cast<double>(tensor.dims[static_cast<std::size_t>(i)]);
        REQUIRE(product <= elements);
      }
    }
  }
}

TEST_CASE("the third micro batch stands for all later ones", "[step_size]") {
  for (const char* trainer : {"transformers", "none"}) {
    for (json setup : setups()) {
      setup["trainer"] = trainer;
      setup["gradient_accumulation_steps"] = 7;
      INFO(setup.dump());
      const Report report = report_of(Decoder{}.config(), setup);
      if (!report.has_memory) continue;
      const Analysis whole = analyse(events_of(Decoder{}.config(), setup), Decoder{}.vocabulary);
      CHECK(report.memory.tensor_peak == whole.peak.bytes);
      CHECK(report.memory.peak_phase == whole.peak_phase);
    }
  }
}

TEST_CASE("absurd counts are refused before anything runs", "[step_size]") {
  struct Row {
    const char* why;
    json config;
    json setup;
  };
  constexpr std::int64_t kMost = 2147483647;
  const Row rows[] = {
      {"layers", {{"num_hidden_layers", kMost}}, json::object()},
      {"a million layers", {{"num_hidden_layers", 1000000}}, json::object()},
      {"accumulation", json::object(), {{"gradient_accumulation_steps", kMost}}},
      {"chunks of logits",
       {{"vocab_size", kMost}, {"hidden_size", 64}},
       {{"use_liger_kernel", true}, {"max_length", kMost}}},
  };
  for (const Row& row : rows) {
    INFO(row.why);
    json config = Decoder{}.config();
    config.update(row.config);
    const Result<Report> report = estimate(config.dump(), with_card(row.setup).dump());
    REQUIRE_FALSE(report);
    CHECK(report.error().front().code == ErrorCode::TooLarge);
    CHECK_FALSE(report.error().front().hint.empty());
  }
}

TEST_CASE("long accumulations are answered", "[step_size]") {
  const Report report =
      report_of(Decoder{}.config(), {{"gradient_accumulation_steps", 4096}, {"max_length", 64}});
  CHECK(report.has_memory);
}

}  // namespace
}  // namespace peakline::test
