// The symbolic step against event lists of the real transformers, PEFT and bitsandbytes code.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "peakline/allocator.h"
#include "peakline/estimate.h"
#include "support/truth_row.h"
#include "timeline/diff.h"
#include "timeline/timeline.h"

namespace peakline::test {
namespace {

timeline::Timeline simulated(const std::string& config, const std::string& setup) {
  const Result<ModelConfig> parsed = parse_model_config(config);
  REQUIRE(parsed.has_value());
  const Result<Architecture> architecture = build_architecture(*parsed);
  REQUIRE(architecture.has_value());
  const Result<TrainSetup> resolved = parse_train_setup(setup);
  for (const Error& error : resolved.has_value() ? Errors{} : resolved.error()) {
    UNSCOPED_INFO(error.where << ": " << error.message);
  }
  REQUIRE(resolved.has_value());
  const Result<Events> events = simulate(*architecture, *resolved);
  for (const Error& error : events.has_value() ? Errors{} : events.error())
    UNSCOPED_INFO(error.message);
  REQUIRE(events.has_value());
  return timeline::from_events(*events);
}

void require_event_equal(const std::filesystem::path& path,
                         const std::string& config,
                         const std::string& setup,
                         std::int64_t least_events) {
  const Result<timeline::Timeline> real = timeline::read_timeline(path);
  REQUIRE(real.has_value());
  const timeline::Comparison comparison = timeline::compare(*real, simulated(config, setup));
  INFO("A is the real stack, B is ours; " << comparison.compared_events << " events agree");
  if (comparison.first) {
    FAIL("event " << comparison.first->event_a << " / " << comparison.first->event_b << " in "
                  << comparison.first->phase << ": " << comparison.first->what << "\n"
                  << comparison.first->context);
  }
  CHECK(comparison.compared_events > least_events);
}

TEST_CASE("the step is event-equal to the real stack", "[timeline]") {
  const auto shared = shared_data();
  if (!shared) SKIP("no recorded timelines on this machine: set PEAKLINE_SHARED");
  const std::string name = GENERATE("tinyllama-full-simplest",
                                    "qwen3-0.6b-full-ckpt",
                                    "qwen2.5-0.5b-full-foreach",
                                    "qwen3-0.6b-full-fp32master-accum2",
                                    "llama3.2-3b-lora-all",
                                    "tinyllama-lora-liger",
                                    "mistral7b-qlora-ckpt",
                                    "aya23-8b-lora",
                                    "bloom7b-lora-reentrant",
                                    "falcon7b-qlora",
                                    "gemma2-2b-qlora-eager",
                                    "olmo2-7b-lora-padded",
                                    "phi2-lora-qv",
                                    "smollm3-full-adafactor",
                                    "stablelm3b-lora-bf16-adapters",
                                    "starcoder2-7b-lora-ckpt",
                                    "tinyllama-dora-fp16-scaler-t4");
  DYNAMIC_SECTION(name) {
    const std::filesystem::path path = *shared / "timelines" / (name + ".json.gz");
    const nlohmann::json row = nlohmann::json::parse(timeline::read_row(path));
    require_event_equal(path, config_of(row, *shared), setup_of(row.at("settings")), 1000);
  }
}

void require_same_count(const nlohmann::json& row,
                        const std::string& config,
                        const std::string& setup) {
  const Result<Report> report = estimate(config, setup);
  REQUIRE(report.has_value());
  const auto trainable = row.at("params_trainable").get<std::int64_t>();
  CHECK(report->num_trainable_parameters == Elements(trainable));
}

// Two layers each, recorded for one question apiece; see data/README.md.
TEST_CASE("settings one by one are event-equal to the real stack", "[timeline]") {
  const std::string name = GENERATE("adafactor",
                                    "biases-all",
                                    "biases-lora-only",
                                    "biases-qlora",
                                    "bnb8-full",
                                    "cache-checkpoints",
                                    "cache-eager-padded",
                                    "cache-liger",
                                    "cache-lora",
                                    "cache-plain-loop",
                                    "cache-sliding",
                                    "cache-thirds",
                                    "cache-window",
                                    "d100-full",
                                    "d100-lora",
                                    "dora-16bit",
                                    "dora-biases-float32",
                                    "dora-by-hand",
                                    "dora-lora",
                                    "dora-qlora",
                                    "eager-none",
                                    "eager-ones",
                                    "eager-padded",
                                    "embedding-lora",
                                    "embedding-lora-tied",
                                    "fp16",
                                    "fp16-eager",
                                    "fused-eager",
                                    "fused-liger",
                                    "fused-lora",
                                    "int8-biases",
                                    "int8-checkpoints",
                                    "int8-dropout",
                                    "int8-fp16-t4",
                                    "int8-qlora",
                                    "int8-reentrant",
                                    "int8-rows",
                                    "liger-fp32",
                                    "liger-t4",
                                    "lion",
                                    "math-qlora",
                                    "padded-100",
                                    "padded-lora",
                                    "padded-short",
                                    "padded-sliding",
                                    "plain-t4",
                                    "saved-both",
                                    "saved-head",
                                    "saved-liger",
                                    "saved-plain-loop",
                                    "saved-tied-both",
                                    "saved-tied-embedding",
                                    "saved-tied-head",
                                    "sliding-lora",
                                    "sliding-lora-none");
  DYNAMIC_SECTION(name) {
    const std::filesystem::path folder = "tests/timelines/data";
    const std::filesystem::path path = folder / (name + ".json.gz");
    const nlohmann::json row = nlohmann::json::parse(timeline::read_row(path));
    const std::string config = read_text(folder / row.at("config").get<std::string>());
    require_event_equal(path, config, setup_of(row.at("settings")), 400);
    require_same_count(row, config, setup_of(row.at("settings")));
  }
}

// Families by their mathematics, two layers each; see data/README.md.
TEST_CASE("structures one by one are event-equal to the real stack", "[timeline]") {
  const std::string name = GENERATE("alibi-dropout",
                                    "alibi-lora",
                                    "alibi-qlora",
                                    "attention-dropout",
                                    "attention-dropout-math",
                                    "biased-mask-eager",
                                    "biased-mask-full",
                                    "broadcast-lora",
                                    "broadcast-one-norm",
                                    "clipped-full",
                                    "clipped-lora",
                                    "embedding-dropout",
                                    "gelu-float32",
                                    "gelu-written-out",
                                    "head-layer-norms",
                                    "head-norms",
                                    "indexed-eager",
                                    "indexed-full",
                                    "interleaved",
                                    "latent-direct-lora",
                                    "latent-full",
                                    "latent-qlora",
                                    "layer-norm",
                                    "layer-norm-parallel",
                                    "mlp-dropout",
                                    "norms-after",
                                    "norms-after-liger",
                                    "norms-after-unrotated",
                                    "offset-norms",
                                    "plain-mlp-dropout",
                                    "rows-lora",
                                    "rows-qlora",
                                    "scaled-liger",
                                    "scaled-liger-lora",
                                    "scaled-rotated",
                                    "scaled-rotated-lora",
                                    "selected-eager",
                                    "separate-norms-full",
                                    "separate-norms-lora",
                                    "shared-head-eager",
                                    "shared-head-full",
                                    "soft-caps",
                                    "soft-caps-liger",
                                    "thirds-eager",
                                    "thirds-lora",
                                    "two-rotations",
                                    "unrotated",
                                    "weightless-norms",
                                    "weightless-qlora",
                                    "window-full",
                                    "window-lora",
                                    "window-reentrant");
  DYNAMIC_SECTION(name) {
    const std::filesystem::path folder = "tests/timelines/data";
    const std::filesystem::path path = folder / (name + ".json.gz");
    const nlohmann::json row = nlohmann::json::parse(timeline::read_row(path));
    const std::string config = read_text(folder / row.at("config").get<std::string>());
    require_event_equal(path, config, setup_of(row.at("settings")), 200);
  }
}

TEST_CASE("an implied first step gives the peaks of a first step that was run",
          "[timeline][property]") {
  const auto shared = shared_data();
  if (!shared) SKIP("no recorded rows on this machine: set PEAKLINE_SHARED");
  std::istringstream rows(read_text(*shared / "truth.jsonl"));
  int compared = 0;
  for (std::string line; std::getline(rows, line) && compared < 40;) {
    const nlohmann::json row = nlohmann::json::parse(line);
    const Result<ModelConfig> config = parse_model_config(config_of(row, *shared));
    const Result<TrainSetup> setup = parse_train_setup(setup_of(row.at("settings")));
    if (!config || !setup) continue;
    const Result<Architecture> architecture = build_architecture(*config);
    if (!architecture) continue;
    const Result<Events> both = simulate(*architecture, *setup);
    if (!both) continue;
    const Result<Events> steady = simulate_steady_step(*architecture, *setup);
    REQUIRE(steady.has_value());
    const AllocatorPeaks expected = replay(*both, {});
    const AllocatorPeaks got = replay(*steady, {});
    INFO(row.at("key"));
    CHECK(got.allocated == expected.allocated);
    CHECK(got.reserved == expected.reserved);
    ++compared;
  }
  CHECK(compared == 40);
}

}  // namespace
}  // namespace peakline::test
