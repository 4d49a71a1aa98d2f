// Whole steps of small models, twice, in both engines.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "parity/parity.h"
#include "peakline/architecture.h"
#include "peakline/estimate.h"
#include "support/step.h"
#include "support/truth_row.h"
#include "train/step.h"

namespace peakline::test {
namespace {

using nlohmann::json;

Parity compare_step(const json& config, const json& setup) {
  const Result<ModelConfig> parsed = parse_model_config(config.dump());
  const Result<TrainSetup> resolved = parse_train_setup(with_card(setup).dump());
  REQUIRE(parsed);
  REQUIRE(resolved);
  const Result<Architecture> architecture = build_architecture(*parsed);
  REQUIRE(architecture);
  REQUIRE(architecture->dense);
  REQUIRE(not_modelled(*architecture->dense, *resolved) == "");
  return compare(
      [&](Engine& e) { run_training(e, *architecture->dense, *resolved, History::BothSteps); });
}

json small_setup(json changes) {
  json setup = {{"method", "full"},
                {"max_length", 16},
                {"per_device_train_batch_size", 2},
                {"gradient_checkpointing", false},
                {"optim", "adamw_torch_fused"}};
  setup.update(changes);
  return setup;
}

struct Named {
  const char* name;
  json setup;
};

const std::vector<Named>& setups() {
  static const std::vector<Named> kSetups = {
      {"full", json::object()},
      {"full, no autocast", {{"autocast", nullptr}}},
      {"full, float32 weights", {{"dtype", "float32"}}},
      {"full, no clipping", {{"max_grad_norm", 0.0}}},
      {"full, accumulation", {{"gradient_accumulation_steps", 3}}},
      {"full, padded", {{"attention_mask", "padded"}}},
      {"full, no mask", {{"attention_mask", "none"}}},
      {"full, eager", {{"attn_implementation", "eager"}}},
      {"full, foreach", {{"optim", "adamw_torch"}}},
      {"full, sgd", {{"optim", "sgd"}}},
      {"full, adafactor", {{"optim", "adafactor"}}},
      {"full, 8-bit", {{"optim", "adamw_bnb_8bit"}}},
      {"full, lion", {{"optim", "lion_32bit"}}},
      {"full, checkpoints", {{"gradient_checkpointing", true}, {"use_reentrant", false}}},
      {"full, reentrant checkpoints", {{"gradient_checkpointing", true}, {"use_reentrant", true}}},
      {"lora", {{"method", "lora"}}},
      {"lora, dropout", {{"method", "lora"}, {"lora", {{"lora_dropout", 0.1}}}}},
      {"lora, 16-bit adapters",
       {{"method", "lora"}, {"lora", {{"autocast_adapter_dtype", false}}}}},
      {"lora, checkpoints",
       {{"method", "lora"}, {"gradient_checkpointing", true}, {"use_reentrant", false}}},
      {"lora, reentrant checkpoints, eager",
       {{"method", "lora"},
        {"gradient_checkpointing", true},
        {"use_reentrant", true},
        {"attn_implementation", "eager"}}},
      {"qlora", {{"method", "qlora"}}},
      {"qlora, one quantisation",
       {{"method", "qlora"}, {"quantization", {{"bnb_4bit_use_double_quant", false}}}}},
      {"qlora, no preparation",
       {{"method", "qlora"},
        {"quantization", {{"prepare_model_for_kbit_training", false}}},
        {"gradient_checkpointing", false}}},
      {"qlora, checkpoints",
       {{"method", "qlora"}, {"gradient_checkpointing", true}, {"use_reentrant", false}}},
      {"plain loop", {{"trainer", "none"}}},
  };
  return kSetups;
}

const std::vector<Named>& few_setups() {
  static const std::vector<Named> kSetups = {
      {"full", {{"attention_mask", "padded"}}},
      {"lora, checkpoints",
       {{"method", "lora"}, {"gradient_checkpointing", true}, {"use_reentrant", false}}},
      {"qlora, reentrant checkpoints, eager",
       {{"method", "qlora"},
        {"gradient_checkpointing", true},
        {"use_reentrant", true},
        {"attn_implementation", "eager"}}},
  };
  return kSetups;
}

TEST_CASE("a training step", "[parity][step]") {
  const Named& named = GENERATE(from_range(setups()));
  const bool tied = GENERATE(false, true);
  Decoder decoder;
  decoder.hidden = 64;
  decoder.intermediate = 160;
  decoder.heads = 4;
  decoder.key_heads = 2;
  decoder.head_dim = 16;
  decoder.vocabulary = 128;
  decoder.layers = 2;
  decoder.tied = tied;
  const Parity parity = compare_step(decoder.config(), small_setup(named.setup));
  INFO(named.name << (tied ? ", tied" : "") << "\n" << parity.difference);
  CHECK(parity.equal);
  CHECK(parity.num_events > 100);
}

// The two-layer configs of the recorded timelines: one structure each.
std::vector<std::string> structures() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("tests/timelines/data")) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("a training step of every structure", "[parity][step]") {
  const std::string name = GENERATE(from_range(structures()));
  const Named& named = GENERATE(from_range(few_setups()));
  const json config = json::parse(read_text(std::filesystem::path("tests/timelines/data") / name));
  // Under a checkpoint's hooks LibTorch drops the clone that clamp_ saved before the call returns:
  // a kernel's business to the recorder, an event to us.
  if (config.contains("clip_qkv") && named.setup.value("use_reentrant", true) == false) return;
  const Parity parity = compare_step(config, small_setup(named.setup));
  INFO(name << ", " << named.name << "\n" << parity.difference);
  CHECK(parity.equal);
  CHECK(parity.num_events > 100);
}

}  // namespace
}  // namespace peakline::test
