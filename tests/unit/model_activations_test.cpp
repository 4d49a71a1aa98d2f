// What one decoder layer keeps from forward to backward, against closed forms written down from the
// mathematics of each tensor and independent of the engine. At the sizes of an 8B model the forms
// give the published bytes per token and layer of the real stack (155 848, 217 448, ...).
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <string>
#include <vector>

#include "support/step.h"

namespace peakline::test {
namespace {

using nlohmann::json;

constexpr std::int64_t kTokens = 128;

struct Sizes {
  std::int64_t h, q, k, a, kv, f, r;  // hidden, A * D, K * D, A, K, intermediate, rank
};

constexpr Sizes kSmall{256, 384, 128, 6, 2, 640, 8};
constexpr Sizes k8b{4096, 4096, 1024, 32, 8, 14336, 16};

// The two numbers that would repeat an attention dropout, in a block of 512 each.
constexpr std::int64_t kSeeds = 2 * 512;

// Bytes per token that attention itself keeps: q, k, v, its output and the row sums.
std::int64_t attention(const Sizes& s) {
  return 4 * s.q + 4 * s.k + 4 * s.a;
}
// A frozen 16-bit layer: float32 copies before each norm and its scale; gate, its activation, up.
std::int64_t frozen(const Sizes& s) {
  return 2 * (4 * s.h + 4) + attention(s) + 6 * s.f;
}

struct Form {
  const char* name;
  json setup;
  std::function<std::int64_t(const Sizes&)> per_token;
  // Bytes per layer beside: 16-bit copies of weights under autocast.
  std::function<std::int64_t(const Sizes&)> per_layer = [](const Sizes&) { return kSeeds; };
  std::int64_t per_token_8b = 0;  // where it is known from the real stack's runs
};

std::int64_t all_linears(const Sizes& s) {
  return 2 * s.h * s.q + 2 * s.h * s.k + 3 * s.h * s.f;
}
// R * (in + out) over the seven linears.
std::int64_t all_adapters(const Sizes& s) {
  return s.r * (2 * (s.h + s.q) + 2 * (s.h + s.k) + 3 * (s.h + s.f));
}

json lora(const char* method, json targets = "all-linear") {
  return {{"method", method}, {"lora", {{"r", 8}, {"target_modules", targets}}}};
}
json with(json setup, const char* key, json value) {
  setup[key] = std::move(value);
  return setup;
}

std::vector<Form> forms() {
  const json full = {{"method", "full"}};
  const json no_preparation = {{"prepare_model_for_kbit_training", false}};
  json dropout = lora("lora");
  dropout["lora"]["lora_dropout"] = 0.05;
  json half_adapters = lora("lora");
  half_adapters["lora"]["autocast_adapter_dtype"] = false;
  const auto none = [](const Sizes&) { return 0; };
  const auto twice_adapters = [](const Sizes& s) { return kSeeds + 2 * all_adapters(s); };
  return {
      {"full",
       full,
       [](const Sizes& s) { return frozen(s) + 2 * 2 * s.h + 2 * 2 * s.h + 2 * s.f; }},
      {"full without autocast",
       with(full, "autocast", nullptr),
       [](const Sizes& s) { return frozen(s) + 8 * s.h + 2 * s.f; }},
      {"full, float32 weights under autocast",
       with(full, "dtype", "float32"),
       // norms keep their input and its scaled copy; five linears each cast the norm's output
       [](const Sizes& s) { return 2 * (8 * s.h + 4) + 10 * s.h + attention(s) + 8 * s.f; },
       [](const Sizes& s) { return kSeeds + 2 * all_linears(s); }},
      {"full, Liger",
       with(full, "use_liger_kernel", true),
       [](const Sizes& s) { return 2 * (2 * s.h + 4) + 4 * s.h + attention(s) + 6 * s.f; }},
      {"full, checkpoints",
       with(full, "gradient_checkpointing", true),
       [](const Sizes& s) { return 2 * s.h; },
       none},
      {"float32, checkpoints",
       with(with(full, "dtype", "float32"), "gradient_checkpointing", true),
       [](const Sizes& s) { return 4 * s.h; },
       none},
      {"LoRA on q and v",
       lora("lora", {"q_proj", "v_proj"}),
       [](const Sizes& s) { return frozen(s) + 2 * 2 * s.h + 4 * s.r; },
       [](const Sizes& s) { return kSeeds + 2 * s.r * (2 * s.h + s.q + s.k); },
       155'848},
      {"LoRA on all linears",
       lora("lora"),
       [](const Sizes& s) { return frozen(s) + 10 * s.h + 2 * s.q + 2 * s.f + 14 * s.r; },
       twice_adapters,
       217'448},
      {"LoRA with dropout: one byte more per input of an adapter",
       dropout,
       [](const Sizes& s) { return frozen(s) + 15 * s.h + 3 * s.q + 3 * s.f + 14 * s.r; },
       twice_adapters},
      {"LoRA in the model's own type: no casts, shared inputs",
       half_adapters,
       [](const Sizes& s) { return frozen(s) + 4 * s.h + 2 * s.f + 14 * s.r; },
       [](const Sizes&) { return kSeeds; },
       184'680},
      {"LoRA, Liger",
       with(lora("lora"), "use_liger_kernel", true),
       [](const Sizes& s) {
         return 2 * (2 * s.h + 4) + attention(s) + 10 * s.h + 2 * s.q + 6 * s.f + 14 * s.r;
       },
       twice_adapters},
      {"QLoRA without k-bit preparation: targets share one input",
       with(lora("qlora"), "quantization", no_preparation),
       [](const Sizes& s) { return frozen(s) + 4 * s.h + 2 * s.f + 14 * s.r; },
       twice_adapters,
       184'680},
      {"QLoRA with k-bit preparation: float32 behind every norm",
       lora("qlora"),
       [](const Sizes& s) { return 18 * s.h + 8 + attention(s) + 14 * s.f + 14 * s.r; },
       twice_adapters,
       295'272},
      {"QLoRA, checkpoints",
       with(lora("qlora"), "gradient_checkpointing", true),
       [](const Sizes& s) { return 4 * s.h; },
       none},
  };
}

// What a layer adds between the start of the second step and the start of its backward.
std::int64_t kept_by_a_layer(Decoder decoder, const json& setup) {
  const auto kept = [&] {
    json asked = setup;
    asked["max_length"] = kTokens;
    if (!asked.contains("gradient_checkpointing")) asked["gradient_checkpointing"] = false;
    const Events events = events_of(decoder.config(), asked);
    return live_at_last(events, Phase::Backward) - live_at_last(events, Phase::Data);
  };
  const std::int64_t fewer = kept();
  ++decoder.layers;
  return kept() - fewer;
}

TEST_CASE("a layer keeps what the closed forms say", "[model][activations]") {
  for (const Form& form : forms()) {
    INFO(form.name);
    CHECK(kept_by_a_layer({}, form.setup) ==
          kTokens * form.per_token(kSmall) + form.per_layer(kSmall));
    if (form.per_token_8b != 0) CHECK(form.per_token(k8b) == form.per_token_8b);
  }
}

TEST_CASE("norms on q and k keep a float32 and a 16-bit copy of each", "[model][activations]") {
  Decoder decoder;
  const std::int64_t plain = kept_by_a_layer(decoder, {{"method", "full"}});
  decoder.model_type = "qwen3";
  const Sizes& s = kSmall;
  CHECK(kept_by_a_layer(decoder, {{"method", "full"}}) - plain ==
        kTokens * (6 * s.q + 6 * s.k + 4 * s.a + 4 * s.kv));
}

TEST_CASE("biases keep nothing more", "[model][activations]") {
  Decoder decoder;
  const std::int64_t plain = kept_by_a_layer(decoder, {{"method", "full"}});
  decoder.model_type = "qwen2";
  CHECK(kept_by_a_layer(decoder, {{"method", "full"}}) == plain);
}

TEST_CASE("a window that is reached costs a mask and keys repeated to every head, per layer",
          "[model][activations]") {
  Decoder decoder;
  decoder.model_type = "mistral";
  json config = decoder.config();
  const auto kept = [&](std::int64_t layers, json window) {
    config["num_hidden_layers"] = layers;
    config["sliding_window"] = std::move(window);
    const Events events = events_of(config, {{"method", "full"}, {"max_length", kTokens}});
    return live_at_last(events, Phase::Backward) - live_at_last(events, Phase::Data);
  };
  const std::int64_t plain = kept(4, nullptr) - kept(3, nullptr);
  const Sizes& s = kSmall;
  CHECK(kept(4, kTokens) - kept(3, kTokens) - plain ==
        kTokens * (4 * s.q - 4 * s.k) + 2 * kTokens * kTokens);
  CHECK(kept(4, kTokens + 1) - kept(3, kTokens + 1) == plain);
}

TEST_CASE("activations grow with the batch as they do with the length", "[model][activations]") {
  for (const char* method : {"full", "lora", "qlora"}) {
    const auto kept = [&](std::int64_t batch, std::int64_t length) {
      const json setup = {{"method", method},
                          {"gradient_checkpointing", false},
                          {"per_device_train_batch_size", batch},
                          {"max_length", length},
                          {"lora", {{"r", 8}}}};
      const Events events = events_of(Decoder{}.config(), setup);
      return live_at_last(events, Phase::Backward);
    };
    // Rotary tables have no batch dimension; behind float32 norms they are float32 as well.
    const std::int64_t tables = 2 * 64 * (std::string(method) == "qlora" ? 4 : 2);
    const std::int64_t apart = kept(1, 1024) - kept(4, 256) - 768 * tables;
    CHECK(apart >= 0);
    CHECK(apart <= 4096);
  }
}

}  // namespace
}  // namespace peakline::test
