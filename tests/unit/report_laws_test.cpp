// What must hold for every report, over a table of models and setups.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "report/analyse.h"
#include "support/step.h"

namespace peakline::test {
namespace {

using nlohmann::json;

json typed(const char* model_type, json more = json::object()) {
  Decoder decoder;
  decoder.model_type = model_type;
  json config = decoder.config();
  config.update(more);
  return config;
}

std::vector<json> models() {
  return {typed("llama"),
          typed("llama", {{"tie_word_embeddings", true}}),
          typed("qwen2"),
          typed("qwen3", {{"tie_word_embeddings", true}, {"vocab_size", 4096}}),
          typed("mistral", {{"sliding_window", 200}})};
}

std::vector<json> setups() {
  std::vector<json> all;
  for (const char* method : {"full", "lora", "qlora"}) {
    for (const int checkpointing : {0, 1, 2}) {
      for (const bool liger : {false, true}) {
        all.push_back({{"method", method},
                       {"max_length", 256},
                       {"gradient_checkpointing", checkpointing > 0},
                       {"use_reentrant", checkpointing == 2},
                       {"use_liger_kernel", liger},
                       {"lora", {{"r", 8}}}});
      }
    }
  }
  all.push_back({{"method", "full"}, {"dtype", "float32"}, {"max_length", 256}});
  all.push_back({{"method", "full"}, {"autocast", nullptr}, {"max_length", 128}});
  all.push_back({{"method", "full"}, {"gradient_accumulation_steps", 3}, {"max_length", 128}});
  for (const char* optim : {"adamw_torch", "sgd", "adamw_bnb_8bit"}) {
    all.push_back({{"method", "full"}, {"optim", optim}, {"max_length", 256}});
  }
  all.push_back({{"attention_mask", "none"}, {"max_length", 256}, {"max_grad_norm", 0.0}});
  return all;
}

struct Case {
  json config;
  json setup;
  Report report;
};

// Made once for all the tests.
const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = [] {
    std::vector<Case> all;
    for (const json& config : models()) {
      for (const json& setup : setups()) all.push_back({config, setup, report_of(config, setup)});
    }
    return all;
  }();
  return kCases;
}

TEST_CASE("the tensors at the peak add up to the peak", "[report][laws]") {
  for (const auto& [config, setup, report] : cases()) {
    INFO(config.dump() << "\n" << setup.dump());
    const Memory& memory = report.memory;
    REQUIRE(report.has_memory);
    Bytes sum;
    Bytes before = memory.tensor_peak;
    for (const PeakCategory& category : memory.at_peak) {
      sum += category.bytes;
      CHECK(category.bytes <= before);
      before = category.bytes;
      Bytes listed;
      for (const PeakTensor& tensor : category.tensors) {
        listed += tensor.bytes;
        CHECK(tensor.count >= 1);
        CHECK_FALSE(tensor.name.empty());
      }
      CHECK(category.tensors.size() <= kMaxPeakTensors);
      CHECK(listed <= category.bytes);
      if (category.tensors.size() < kMaxPeakTensors) CHECK(listed == category.bytes);
    }
    CHECK(sum == memory.tensor_peak);
  }
}

TEST_CASE("phases and timeline reach the peak and nothing more, in at most 64 KB",
          "[report][laws]") {
  for (const auto& [config, setup, report] : cases()) {
    INFO(config.dump() << "\n" << setup.dump());
    const Memory& memory = report.memory;
    Bytes highest;
    for (const PhaseMemory& phase : memory.phases) {
      highest = std::max(highest, phase.tensor_peak);
      CHECK(phase.end <= phase.tensor_peak);
      CHECK(phase.end > Bytes(0));
    }
    CHECK(highest == memory.tensor_peak);
    CHECK(memory.timeline.size() <= kMaxTimelinePoints);
    Bytes top;
    for (const TimelinePoint& point : memory.timeline) top = std::max(top, point.tensors);
    CHECK(top == memory.tensor_peak);
    CHECK(memory.static_bytes < memory.tensor_peak);
    CHECK(to_json(report).size() <= 64 * 1024);
  }
}

TEST_CASE("numbers, interval, verdict and margin agree with each other", "[report][laws]") {
  for (const char* card : {"RTX 3060 12GB", "T4", "H100 80GB"}) {
    for (const std::int64_t batch : {1, 64, 1024, 4096}) {
      json setup = {{"method", "full"},
                    {"dtype", "float32"},
                    {"autocast", nullptr},
                    {"max_length", 256},
                    {"per_device_train_batch_size", batch}};
      setup["gpu"] = {{"name", card}};
      const Report report = report_of(typed("llama"), setup);
      const Memory& memory = report.memory;
      const Verdict& verdict = report.verdict;
      INFO(card << " batch " << batch);
      CHECK(memory.tensor_peak <= memory.allocated_peak);
      CHECK(memory.allocated_peak <= memory.reserved_peak);
      CHECK(memory.tensor_peak <= memory.interval.low);
      CHECK(memory.reserved_peak <= memory.interval.high);
      CHECK(memory.interval.low <= memory.process_peak);
      CHECK(memory.process_peak <= memory.interval.high);
      CHECK(verdict.margin == verdict.usable - memory.interval.high);
      // A run that would take more may still fit where PyTorch gives cached memory back.
      if (verdict.margin >= Bytes(0)) CHECK(verdict.answer == Answer::Fits);
      CHECK((verdict.risk == Risk::High) == (verdict.margin < Bytes(0)));
      if (verdict.answer == Answer::DoesNotFit) CHECK(memory.interval.high > verdict.usable);
    }
  }
}

TEST_CASE("a longer sequence, a larger batch, more layers and a higher rank cost more",
          "[report][laws]") {
  // From 128 tokens on: below, 4-bit products change kernels back and forth.
  struct Axis {
    const char* name;
    std::vector<std::int64_t> values;
    std::function<void(json& config, json& setup, std::int64_t value)> set;
    bool strictly;
  };
  const std::vector<Axis> axes = {
      {"max_length",
       {128, 129, 200, 256, 512, 1000, 1024, 2048},
       [](json&, json& setup, std::int64_t n) { setup["max_length"] = n; },
       true},
      {"batch",
       {1, 2, 3, 4, 8, 16},
       [](json&, json& setup, std::int64_t n) { setup["per_device_train_batch_size"] = n; },
       true},
      {"layers",
       {1, 2, 3, 4, 8},
       [](json& config, json&, std::int64_t n) { config["num_hidden_layers"] = n; },
       true},
      {"vocabulary",
       {512, 1024, 4096, 32000},
       [](json& config, json&, std::int64_t n) { config["vocab_size"] = n; },
       true},
      {"rank",
       {1, 2, 8, 9, 16, 64, 256},
       [](json&, json& setup, std::int64_t n) { setup["lora"]["r"] = n; },
       false},
      {"accumulation",
       {1, 2, 3, 4},
       [](json&, json& setup, std::int64_t n) { setup["gradient_accumulation_steps"] = n; },
       false}};
  struct Start {
    std::size_t model;
    const char* method;
    bool checkpointing;
  };
  for (const Start& start : {Start{0, "full", false},
                             Start{1, "full", true},
                             Start{2, "lora", false},
                             Start{3, "lora", true},
                             Start{4, "qlora", false},
                             Start{0, "qlora", true},
                             Start{4, "full", false}}) {
    for (const Axis& axis : axes) {
      Bytes before;
      for (const std::int64_t value : axis.values) {
        json config = models()[start.model];
        json setup = {{"method", start.method},
                      {"max_length", 256},
                      {"gradient_checkpointing", start.checkpointing},
                      {"lora", {{"r", 8}}}};
        axis.set(config, setup, value);
        const Bytes peak = report_of(config, setup).memory.tensor_peak;
        INFO(config.dump() << "\n" << setup.dump() << "\n" << axis.name << " " << value);
        if (axis.strictly) CHECK(peak > before);
        CHECK(peak >= before);
        before = peak;
      }
    }
  }
}

TEST_CASE("checkpoints never raise the peak from four layers and 512 tokens on", "[report][laws]") {
  for (json config : models()) {
    config["num_hidden_layers"] = 4;
    for (const char* method : {"full", "lora", "qlora"}) {
      for (const bool liger : {false, true}) {
        json setup = {{"method", method}, {"max_length", 512}, {"use_liger_kernel", liger}};
        const Bytes without = report_of(config, setup).memory.tensor_peak;
        setup["gradient_checkpointing"] = true;
        for (const bool reentrant : {false, true}) {
          setup["use_reentrant"] = reentrant;
          INFO(config.dump() << "\n" << setup.dump());
          CHECK(report_of(config, setup).memory.tensor_peak <= without);
        }
      }
    }
  }
}

TEST_CASE("static bytes of LoRA are the frozen base and its adapters", "[report][laws]") {
  for (const json& config : models()) {
    for (const bool half : {false, true}) {
      const json full = {{"method", "full"}, {"max_length", 128}};
      const json lora = {{"method", "lora"},
                         {"max_length", 128},
                         {"lora", {{"r", 8}, {"autocast_adapter_dtype", !half}}}};
      const Report base = report_of(config, full);
      const Report adapted = report_of(config, lora);
      const std::int64_t bytes = half ? 2 : 4;
      CHECK(adapted.memory.static_bytes - base.memory.static_bytes ==
            Bytes(bytes * adapted.num_trainable_parameters.count()));
      CHECK(adapted.num_parameters - base.num_parameters == adapted.num_trainable_parameters);
      CHECK(base.num_trainable_parameters == base.num_parameters);
    }
  }
}

TEST_CASE("an attention kernel that is not modelled is an assumption", "[report][laws]") {
  struct Row {
    const char* gpu;
    const char* attention;
    bool assumed;
  };
  for (const Row& row : {Row{"H100 80GB", "sdpa", true},
                         Row{"H100 80GB", "eager", false},
                         Row{"A100 80GB", "sdpa", false}}) {
    INFO(row.gpu << " " << row.attention);
    const Report report =
        report_of(typed("llama"),
                  {{"gpu", row.gpu}, {"attn_implementation", row.attention}, {"max_length", 128}});
    const bool said = std::any_of(
        report.provenance.begin(), report.provenance.end(), [](const Provenance& entry) {
          return entry.kind == "assumed" && entry.sentence.find("cuDNN") != std::string::npos;
        });
    CHECK(said == row.assumed);
  }
}

TEST_CASE("a class without a head is counted as the run builds it, with one", "[report][laws]") {
  for (const json& config : models()) {
    json headless = config;
    headless["architectures"] = {"LlamaModel"};
    const json setup = {{"method", "full"}, {"max_length", 128}};
    const Report with = report_of(config, setup);
    const Report without = report_of(headless, setup);
    CHECK(without.num_parameters == with.num_parameters);
    CHECK(without.memory.static_bytes == with.memory.static_bytes);
  }
}

TEST_CASE("a steady step alone has the peak of the second of two", "[report][laws]") {
  // Beside the states a first step leaves up to three single numbers, a block each.
  constexpr std::int64_t kNumbers = 3 * kAllocationGranularity;
  const auto by_category = [](const std::vector<PeakCategory>& rows) {
    std::array<std::int64_t, kNumCategories> bytes{};
    for (const PeakCategory& row : rows) {
      bytes[static_cast<std::size_t>(row.category)] = row.bytes.count();
    }
    return bytes;
  };
  for (std::size_t i = 0; i < cases().size(); i += 3) {
    const auto& [config, setup, report] = cases()[i];
    INFO(config.dump() << "\n" << setup.dump());
    const Analysis both = analyse(events_of(config, setup), report.architecture.vocab_size);
    CHECK(report.memory.tensor_peak == both.peak.bytes);
    CHECK(report.memory.peak_op == both.peak_op);
    CHECK(report.memory.peak_phase == both.peak_phase);
    const auto steady = by_category(report.memory.at_peak);
    const auto second = by_category(both.at_peak);
    for (std::size_t c = 0; c < steady.size(); ++c) {
      CHECK(std::abs(steady[c] - second[c]) <= kNumbers);
    }
  }
}

TEST_CASE("static bytes are what loading leaves, not a first step", "[report][laws]") {
  for (std::size_t i = 0; i < cases().size(); i += 11) {
    const auto& [config, setup, report] = cases()[i];
    INFO(config.dump() << "\n" << setup.dump());
    const Analysis both = analyse(events_of(config, setup), report.architecture.vocab_size);
    CHECK(report.memory.static_bytes == both.static_bytes);
  }
}

TEST_CASE("the loss holds twelve bytes per logit", "[report][laws]") {
  // Log-probabilities, the gradient of the loss and that of the softmax, float32 each.
  for (const char* method : {"full", "lora", "qlora"}) {
    const Report report = report_of(typed("llama", {{"vocab_size", 32000}}),
                                    {{"method", method}, {"max_length", 256}});
    CHECK(report.memory.peak_phase == "backward:loss");
    CHECK(report.memory.peak_op == "_log_softmax_backward_data");
    Bytes logits;
    for (const PeakCategory& category : report.memory.at_peak) {
      if (category.category == Category::Logits) logits = category.bytes;
    }
    CHECK(logits == Bytes(12) * 256 * 32000);
  }
}

TEST_CASE("foreach AdamW adds its parameters once, fused AdamW, SGD and 8-bit AdamW do not",
          "[report][laws]") {
  const auto transient = [](const char* optim) {
    const Report report =
        report_of(typed("llama"), {{"method", "full"}, {"max_length", 128}, {"optim", optim}});
    for (const PhaseMemory& phase : report.memory.phases) {
      if (phase.name != "optimizer") continue;
      // Gradients die at the end of the step.
      const Bytes gradients = Bytes(2 * report.num_trainable_parameters.count());
      return phase.tensor_peak - phase.end - gradients;
    }
    return Bytes(-1);
  };
  // Weights that decay are one group; the norms, seven of 256, another.
  const Report any = report_of(typed("llama"), {{"method", "full"}});
  const Bytes one_copy = Bytes(2 * (any.num_parameters.count() - 7 * 256));
  CHECK(transient("adamw_torch") - transient("sgd") == one_copy);
  for (const char* optim : {"adamw_torch_fused", "sgd", "adamw_bnb_8bit"}) {
    // The loss and one more number die with the step.
    CHECK(transient(optim) <= Bytes(2 * kAllocationGranularity));
  }
}

TEST_CASE("a model of 405 billion parameters takes more than 32 bits can count", "[report][laws]") {
  Decoder decoder{16384, 53248, 128, 8, 128, 128256, 126, false, "llama"};
  const Report report = report_of(decoder.config(), {{"method", "full"}, {"max_length", 2048}});
  CHECK(report.num_parameters == Elements(405'853'388'800));
  // bf16 weights, gradients and two states: eight bytes per parameter.
  CHECK(report.memory.static_bytes >= Bytes(2) * 405'853'388'800);
  CHECK(report.memory.static_bytes < Bytes(2) * 405'854'000'000);
  CHECK(report.memory.tensor_peak > Bytes(8) * 405'853'388'800);
  CHECK(report.memory.tensor_peak < Bytes(9) * 405'853'388'800);
  CHECK(report.verdict.answer == Answer::DoesNotFit);
  CHECK(report.verdict.margin < Bytes(0) - gibibytes(3000));
  CHECK(to_json(report).size() <= 64 * 1024);
}

}  // namespace
}  // namespace peakline::test
