// The training step as a whole: its phases, what is loaded, and the balance of two steps.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "support/step.h"

namespace peakline::test {
namespace {

using nlohmann::json;

std::string phases_of(const Events& events) {
  std::string text;
  for (const PhaseMark& mark : events.phases) text += std::string(name_of(mark.phase)) + " ";
  return text;
}

std::int64_t live_at(const Events& events, std::int32_t end) {
  std::int64_t live = 0;
  for (std::int32_t i = 0; i < end; ++i) {
    const std::int32_t event = events.events[static_cast<std::size_t>(i)];
    const auto index = static_cast<std::size_t>(event >= 0 ? event : -event - 1);
    live += (event >= 0 ? 1 : -1) * events.tensors[index].bytes.count();
  }
  return live;
}

std::vector<std::int32_t> marks_of(const Events& events, Phase phase) {
  std::vector<std::int32_t> marks;
  for (const PhaseMark& mark : events.phases) {
    if (mark.phase == phase) marks.push_back(mark.event);
  }
  return marks;
}

// Elements of all tensors of a role that are alive at the first batch.
std::int64_t loaded(const Events& events, Role role) {
  const std::int32_t begin = marks_of(events, Phase::Data).front();
  std::int64_t elements = 0;
  for (const EventTensor& tensor : events.tensors) {
    if (tensor.role != role || tensor.born >= begin) continue;
    if (tensor.died >= 0 && tensor.died < begin) continue;
    std::int64_t count = 1;
    for (std::int8_t i = 0; i < tensor.rank; ++i) count *= tensor.dims[static_cast<std::size_t>(i)];
    elements += count;
  }
  return elements;
}

const std::vector<json>& setups() {
  static const std::vector<json> kSetups = {
      {{"method", "full"}, {"max_length", 128}},
      {{"method", "full"}, {"max_length", 128}, {"gradient_accumulation_steps", 3}},
      {{"method", "full"}, {"max_length", 128}, {"dtype", "float32"}, {"optim", "adamw_torch"}},
      {{"method", "lora"}, {"max_length", 128}, {"gradient_checkpointing", true}},
      {{"method", "lora"},
       {"max_length", 128},
       {"gradient_checkpointing", true},
       {"use_reentrant", true}},
      {{"method", "qlora"}, {"max_length", 128}, {"use_liger_kernel", true}},
      {{"method", "qlora"},
       {"max_length", 128},
       {"max_grad_norm", 0.0},
       {"attention_mask", "none"}}};
  return kSetups;
}

TEST_CASE("phases come in the trainer's order", "[model][step]") {
  const std::string start = "data ";
  const std::string micro = "forward loss forward backward after_backward ";
  const std::string end = "clip optimizer after_step ";
  const std::string step = start + micro + end;
  CHECK(phases_of(events_of(Decoder{}.config(), setups()[0])) == "load " + step + step);
  const std::string three = start + micro + micro + micro + end;
  CHECK(phases_of(events_of(Decoder{}.config(), setups()[1])) == "load " + three + three);
  const std::string no_clip = start + micro + "optimizer after_step ";
  CHECK(phases_of(events_of(Decoder{}.config(), setups()[6])) == "load " + no_clip + no_clip);
}

TEST_CASE("the second step leaves what the first one left", "[model][step]") {
  for (const json& setup : setups()) {
    INFO(setup.dump());
    const Events events = events_of(Decoder{}.config(), setup);
    const std::vector<std::int32_t> starts = marks_of(events, Phase::Data);
    REQUIRE(starts.size() == 2);
    const auto end = static_cast<std::int32_t>(events.events.size());
    CHECK(live_at(events, end) == live_at(events, starts[1]));
  }
}

TEST_CASE("nothing made by the first step's forward or backward reaches the second's",
          "[model][step]") {
  for (const json& setup : setups()) {
    INFO(setup.dump());
    const Events events = events_of(Decoder{}.config(), setup);
    const std::int32_t second = marks_of(events, Phase::Data).back();
    for (const EventTensor& tensor : events.tensors) {
      if (tensor.born >= second || tensor.phase == Phase::Load) continue;
      if (tensor.role == Role::Optimizer || tensor.role == Role::Batch) continue;
      const bool gone = tensor.died >= 0 && tensor.died <= second;
      // The norm of the gradients and the last check for infinity are kept.
      if (!gone) CHECK(tensor.rank == 0);
    }
  }
}

TEST_CASE("every trainable parameter gets one gradient per step, dead at its end",
          "[model][step]") {
  for (const json& setup : setups()) {
    INFO(setup.dump());
    const Events events = events_of(Decoder{}.config(), setup);
    const std::int32_t begin = marks_of(events, Phase::Data).back();
    int parameters = 0;
    for (const EventTensor& tensor : events.tensors) {
      if (tensor.role == Role::WeightTrainable) ++parameters;
    }
    int gradients = 0;
    for (const EventTensor& tensor : events.tensors) {
      if (tensor.role != Role::Gradient || tensor.born < begin) continue;
      ++gradients;
      CHECK(tensor.died >= 0);
    }
    CHECK(gradients == parameters);
  }
}

TEST_CASE("loading brings the parameters that the config counts", "[model][step]") {
  const Decoder d;
  const std::int64_t q = d.heads * d.head_dim;
  const std::int64_t k = d.key_heads * d.head_dim;
  const std::int64_t linear =
      d.layers * (2 * d.hidden * q + 2 * d.hidden * k + 3 * d.hidden * d.intermediate);
  const std::int64_t tables = 2 * d.vocabulary * d.hidden;
  const std::int64_t norms = (2 * d.layers + 1) * d.hidden;
  const auto run = [&](json setup, const Decoder& decoder) {
    setup["max_length"] = 128;
    return events_of(decoder.config(), setup);
  };
  const Events full = run({{"method", "full"}}, d);
  CHECK(loaded(full, Role::WeightTrainable) == linear + tables + norms);
  CHECK(loaded(full, Role::WeightFrozen) == 0);
  Decoder tied = d;
  tied.tied = true;
  CHECK(loaded(run({{"method", "full"}}, tied), Role::WeightTrainable) ==
        linear + tables / 2 + norms);
  const json some = {{"r", 8}, {"target_modules", {"q_proj", "down_proj"}}};
  const Events lora = run({{"method", "lora"}, {"lora", some}}, d);
  CHECK(loaded(lora, Role::WeightFrozen) == linear + tables + norms);
  CHECK(loaded(lora, Role::WeightTrainable) ==
        8 * d.layers * (d.hidden + q + d.intermediate + d.hidden));
  const Events qlora = run({{"method", "qlora"}, {"lora", some}}, d);
  CHECK(loaded(qlora, Role::WeightFrozen) == tables + norms);
  // Half a byte per weight, one statistic per 64, one more per 256 of those, two code tables and an
  // offset for each linear; bitsandbytes keeps one more table for all of them.
  const std::int64_t linears = 7 * d.layers;
  const std::int64_t nested =
      d.layers * (2 * ((d.hidden * q / 64 + 255) / 256) + 2 * ((d.hidden * k / 64 + 255) / 256) +
                  3 * ((d.hidden * d.intermediate / 64 + 255) / 256));
  CHECK(loaded(qlora, Role::Quant) ==
        linear / 2 + linear / 64 + nested + linears * (16 + 256 + 1) + 256);
}

TEST_CASE("k-bit preparation makes what stays unpacked float32", "[model][step]") {
  for (const bool prepare : {true, false}) {
    const json setup = {{"method", "qlora"},
                        {"max_length", 128},
                        {"quantization", {{"prepare_model_for_kbit_training", prepare}}}};
    for (const EventTensor& tensor : events_of(Decoder{}.config(), setup).tensors) {
      if (tensor.role != Role::WeightFrozen) continue;
      CHECK(tensor.dtype == (prepare ? DType::Float32 : DType::BFloat16));
    }
  }
}

TEST_CASE("masks are built for the layers that slide and no others", "[model][step]") {
  struct Row {
    std::int64_t length;
    const char* attention_mask;
    std::int64_t layers_with_mask;
  };
  // Two of four layers slide over 256 tokens.
  json config = Decoder{}.config();
  config["model_type"] = "qwen2";
  config["num_hidden_layers"] = 4;
  config["sliding_window"] = 256;
  config["use_sliding_window"] = true;
  config["max_window_layers"] = 2;
  for (const Row& row : {Row{128, "ones", 0}, Row{256, "ones", 2}, Row{300, "none", 2}}) {
    INFO(row.length << " " << row.attention_mask);
    const Events events = events_of(
        config,
        {{"method", "lora"}, {"max_length", row.length}, {"attention_mask", row.attention_mask}});
    std::int64_t with_mask = 0;
    for (const EventTensor& tensor : events.tensors) {
      const bool in_second = tensor.born >= marks_of(events, Phase::Data).back();
      if (in_second && std::string(tensor.op) == "where.self") ++with_mask;
    }
    CHECK(with_mask == row.layers_with_mask);
  }
}

}  // namespace
}  // namespace peakline::test
