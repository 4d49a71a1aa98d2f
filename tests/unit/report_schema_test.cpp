// The keys of every document that leaves the core, frozen: readers outside depend on them. A key
// may be added (add it here too); none may go away or change its meaning.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>

#include "support/step.h"

namespace peakline::test {
namespace {

using nlohmann::json;
using Keys = std::set<std::string>;

// "memory.phases[].name": the paths of all values, members of lists together.
void collect(const json& value, const std::string& path, Keys& keys) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      collect(member, path.empty() ? key : path + "." + key, keys);
    }
    if (value.empty()) keys.insert(path);
    return;
  }
  if (value.is_array()) {
    for (const json& member : value) collect(member, path + "[]", keys);
    if (value.empty()) keys.insert(path + "[]");
    return;
  }
  keys.insert(path);
}

Keys keys_of(const json& value) {
  Keys keys;
  collect(value, "", keys);
  return keys;
}

json call_core(const json& request) {
  return json::parse(call(request.dump()));
}

json fit(const json& config, json setup) {
  if (!setup.contains("gpu")) setup["gpu"] = {{"name", "A100 80GB"}};
  return call_core({{"schema", 1}, {"op", "fit"}, {"config", config.dump()}, {"setup", setup}});
}

const Keys kSetup = {"schema",
                     "method",
                     "trainer",
                     "dtype",
                     "autocast",
                     "per_device_train_batch_size",
                     "gradient_accumulation_steps",
                     "max_length",
                     "packing",
                     "attention_mask",
                     "lengths",
                     "gradient_checkpointing",
                     "use_reentrant",
                     "checkpoint_policy",
                     "activation_offloading",
                     "attn_implementation",
                     "use_cache",
                     "optim",
                     "optim_args",
                     "optim_target_modules",
                     "max_grad_norm",
                     "use_liger_kernel",
                     "loss",
                     "objective.kind",
                     "objective.num_labels",
                     "objective.label_length",
                     "objective.completion_share",
                     "objective.reference",
                     "lora.r",
                     "lora.lora_alpha",
                     "lora.lora_dropout",
                     "lora.target_modules",
                     "lora.modules_to_save",
                     "lora.autocast_adapter_dtype",
                     "lora.adapter_dtype",
                     "lora.bias",
                     "lora.use_dora",
                     "lora.use_rslora",
                     "quantization.load_in_8bit",
                     "quantization.bnb_4bit_quant_type",
                     "quantization.bnb_4bit_use_double_quant",
                     "quantization.bnb_4bit_compute_dtype",
                     "quantization.prepare_model_for_kbit_training",
                     "placement.kind",
                     "placement.resident_blocks",
                     "placement.ring_slots",
                     "placement.offload_adapters",
                     "placement.activation_cache",
                     "parallel.kind",
                     "parallel.world_size",
                     "parallel.tp",
                     "parallel.pp",
                     "parallel.offload_optimizer",
                     "parallel.offload_param",
                     "vision.images",
                     "vision.height",
                     "vision.width",
                     "vision.tower",
                     "routing",
                     "allocator.expandable_segments",
                     "allocator.max_split_size_mb",
                     "allocator.garbage_collection_threshold",
                     "stack.torch",
                     "stack.transformers",
                     "stack.peft",
                     "stack.accelerate",
                     "stack.bitsandbytes",
                     "stack.trl",
                     "stack.liger_kernel",
                     "stack.flash_attn",
                     "stack.deepspeed",
                     "gpu.name",
                     "gpu.count",
                     "gpu.total_bytes",
                     "gpu.used_by_others_bytes",
                     "gpu.compute_capability",
                     "gpu.sm_count",
                     "gpu.cudnn_attention",
                     "host.ram_bytes",
                     "host.pinned_bytes",
                     "host.disk_free_bytes"};

const Keys kFrame = {"schema",
                     "core_version",
                     "model.num_parameters",
                     "model.num_trainable_parameters",
                     "model.num_layers",
                     "model.model_type",
                     "model.source",
                     "model.alternative",
                     "verdict.answer",
                     "verdict.risk",
                     "verdict.usable_bytes",
                     "verdict.margin_bytes",
                     "verdict.sentence",
                     "verdict.streaming",
                     "time.seconds_per_step",
                     "time.low",
                     "time.high",
                     "time.kind",
                     "time.sentence",
                     "changes[]",
                     "provenance[].value",
                     "provenance[].kind",
                     "provenance[].sentence",
                     "notes[]"};

const Keys kChange = {
    "changes[].saves_bytes", "changes[].cost", "changes[].answer", "changes[].sentence"};

const Keys kLimits = {"verdict.limits[].resource",
                      "verdict.limits[].needed_bytes",
                      "verdict.limits[].have_bytes",
                      "verdict.limits[].answer",
                      "verdict.limits[].sentence"};

const Keys kStreaming = {"verdict.streaming.gpu_bytes",
                         "verdict.streaming.host_bytes",
                         "verdict.streaming.pinned_bytes",
                         "verdict.streaming.disk_bytes",
                         "verdict.streaming.sentence"};

const Keys kMemory = {"memory.tensor_peak_bytes",
                      "memory.allocated_peak_bytes",
                      "memory.reserved_peak_bytes",
                      "memory.process_peak_bytes",
                      "memory.context_bytes",
                      "memory.workspace_bytes",
                      "memory.interval.low_bytes",
                      "memory.interval.high_bytes",
                      "memory.interval.coverage",
                      "memory.interval.why",
                      "memory.static_bytes",
                      "memory.peak_phase",
                      "memory.peak_op",
                      "memory.phases[].name",
                      "memory.phases[].tensor_peak_bytes",
                      "memory.phases[].end_bytes",
                      "memory.at_peak[].category",
                      "memory.at_peak[].bytes",
                      "memory.at_peak[].tensors[].name",
                      "memory.at_peak[].tensors[].shape[]",
                      "memory.at_peak[].tensors[].dtype",
                      "memory.at_peak[].tensors[].bytes",
                      "memory.at_peak[].tensors[].count",
                      "memory.at_peak[].tensors[].rule",
                      "memory.timeline[].t",
                      "memory.timeline[].tensor_bytes",
                      "memory.timeline[].reserved_bytes",
                      "memory.timeline[].phase",
                      "memory.allocator_saving.expandable_segments_bytes",
                      "memory.allocator_saving.sentence",
                      "memory.host_bytes",
                      "memory.pinned_bytes",
                      "memory.disk_bytes"};

Keys missing(const Keys& from, const Keys& in) {
  Keys out;
  std::set_difference(
      from.begin(), from.end(), in.begin(), in.end(), std::inserter(out, out.begin()));
  return out;
}

// The keys beside the setup and its origins.
Keys own_keys(json report) {
  report.erase("setup");
  report.erase("origins");
  return keys_of(report);
}

TEST_CASE("the keys of a report are frozen", "[report][schema]") {
  const json reply = fit(Decoder{}.config(), {{"method", "lora"}});
  REQUIRE(reply.at("ok") == true);
  Keys expected = kFrame;
  expected.insert(kMemory.begin(), kMemory.end());
  expected.insert(kLimits.begin(), kLimits.end());
  const Keys got = own_keys(reply.at("report"));
  CHECK(missing(expected, got) == Keys{});
  CHECK(missing(got, expected) == Keys{});
  CHECK(reply.at("report").at("schema") == 1);
}

TEST_CASE("a report asked for changes lists them", "[report][schema]") {
  const json reply = call_core(
      {{"schema", 1},
       {"op", "fit"},
       {"changes", true},
       {"config", Decoder{4096, 14336, 32, 8, 128, 128256, 32, false, "llama"}.config().dump()},
       {"setup", {{"gpu", "RTX 3060 12GB"}}}});
  const json& report = reply.at("report");
  REQUIRE_FALSE(report.at("changes").empty());
  const Keys got = keys_of(report);
  for (const std::string& key : kChange) CHECK(got.contains(key));
  for (const json& change : report.at("changes")) CHECK(change.at("patch").is_object());
}

TEST_CASE("a report without a modelled step has the same frame and null for memory",
          "[report][schema]") {
  const json reply = fit(Decoder{}.config(), {{"method", "inference"}});
  REQUIRE(reply.at("ok") == true);
  Keys expected = kFrame;
  expected.insert("memory");
  expected.insert("verdict.limits[]");
  CHECK(own_keys(reply.at("report")) == expected);
  CHECK(reply.at("report").at("memory").is_null());
  CHECK(reply.at("report").at("verdict").at("risk").is_null());
  CHECK(reply.at("report").at("verdict").at("margin_bytes").is_null());
}

TEST_CASE("a streaming run has no memory of a resident one, and keys of its own",
          "[report][schema]") {
  const json reply = fit(Decoder{}.config(), {{"placement", {{"kind", "streaming"}}}});
  REQUIRE(reply.at("ok") == true);
  Keys expected = kFrame;
  expected.erase("verdict.streaming");
  expected.insert("memory");
  expected.insert(kLimits.begin(), kLimits.end());
  expected.insert(kStreaming.begin(), kStreaming.end());
  CHECK(own_keys(reply.at("report")) == expected);
}

TEST_CASE("two readings of the parameters are keys of their own", "[report][schema]") {
  json config = Decoder{}.config();
  config["architectures"] = {"LlamaModel"};
  const json report = fit(config, {{"method", "lora"}}).at("report");
  CHECK(keys_of(report.at("model").at("alternative")) == Keys{"num_parameters", "sentence"});
}

TEST_CASE("the resolved setup and its origins have every setup key", "[report][schema]") {
  const json report = fit(Decoder{}.config(), json::object()).at("report");
  Keys setup;
  for (const std::string& key : keys_of(report.at("setup"))) {
    setup.insert(key.ends_with("[]") ? key.substr(0, key.size() - 2) : key);
  }
  CHECK(missing(kSetup, setup) == Keys{});
  CHECK(missing(setup, kSetup) == Keys{});
  Keys origins;
  const Keys kinds = {"given", "trainer_default", "card", "derived"};
  for (const auto& [key, origin] : report.at("origins").items()) {
    origins.insert(key);
    CHECK(kinds.contains(origin.get<std::string>()));
  }
  CHECK(missing(kSetup, origins) == Keys{});
  CHECK(missing(origins, kSetup) == Keys{});
}

TEST_CASE("the keys of errors are frozen", "[report][schema]") {
  const json reply = fit(Decoder{}.config(), {{"method", "loro"}});
  CHECK(reply.at("ok") == false);
  CHECK(keys_of(reply) ==
        Keys{"ok", "errors[].code", "errors[].where", "errors[].message", "errors[].hint"});
}

TEST_CASE("the keys of the list of cards are frozen", "[report][schema]") {
  const json reply = call_core({{"schema", 1}, {"op", "gpus"}});
  CHECK(keys_of(reply) == Keys{"ok",
                               "gpus[].name",
                               "gpus[].compute_capability",
                               "gpus[].sm_count",
                               "gpus[].marketed_bytes",
                               "gpus[].total_bytes"});
  CHECK(reply.at("gpus").size() >= 100);
  for (const json& card : reply.at("gpus")) {
    CHECK(keys_of(card).size() == 5);
    CHECK(card.at("marketed_bytes").is_number_integer());
    CHECK((card.at("total_bytes").is_null() || card.at("total_bytes").is_number_integer()));
  }
}

TEST_CASE("the keys and names of the setup's keys are frozen", "[report][schema]") {
  const json reply = call_core({{"schema", 1}, {"op", "setup_keys"}});
  CHECK(keys_of(reply) ==
        Keys{"ok", "keys[].name", "keys[].kind", "keys[].choices", "keys[].meaning"});
  Keys names;
  const Keys kinds = {"integer", "number", "boolean", "choice", "string", "list", "object"};
  for (const json& key : reply.at("keys")) {
    names.insert(key.at("name").get<std::string>());
    INFO(key.dump());
    CHECK(kinds.contains(key.at("kind").get<std::string>()));
    // A list may have a word that stands for it: all-linear.
    if (key.at("kind") != "list")
      CHECK((key.at("kind") == "choice") == !key.at("choices").get<std::string>().empty());
    CHECK_FALSE(key.at("meaning").get<std::string>().empty());
  }
  CHECK(missing(kSetup, names) == Keys{});
  CHECK(missing(names, kSetup) == Keys{});
  CHECK(reply.at("keys").size() == kSetup.size());
}

TEST_CASE("words of a report come from closed lists", "[report][schema]") {
  const Keys categories = {"weights_frozen",
                           "weights_trainable",
                           "quant",
                           "buffers",
                           "gradients",
                           "optimizer",
                           "batch",
                           "activations",
                           "logits",
                           "autocast_weight_casts",
                           "recomputed",
                           "temporaries",
                           "kernel_temporaries",
                           "other_static"};
  const Keys peak_phases = {"load",
                            "forward",
                            "loss",
                            "backward:loss",
                            "backward:layers",
                            "backward:recompute",
                            "clip",
                            "optimizer",
                            "eval",
                            "save"};
  const Keys phases = {"load", "forward", "loss", "backward", "clip", "optimizer"};
  const Keys resources = {"gpu", "host_ram", "pinned", "disk"};
  const Keys answers = {"fits", "too_close", "does_not_fit", "not_modelled"};
  const Keys risks = {"low", "medium", "high"};
  const Keys kinds = {"exact", "derived", "assumed", "measured"};
  for (const char* method : {"full", "lora", "qlora"}) {
    for (const bool checkpointing : {false, true}) {
      const json report =
          fit(Decoder{}.config(), {{"method", method}, {"gradient_checkpointing", checkpointing}})
              .at("report");
      const json& memory = report.at("memory");
      CHECK(peak_phases.contains(memory.at("peak_phase").get<std::string>()));
      for (const json& row : memory.at("at_peak")) CHECK(categories.contains(row.at("category")));
      for (const json& row : memory.at("phases")) CHECK(phases.contains(row.at("name")));
      for (const json& row : memory.at("timeline")) CHECK(phases.contains(row.at("phase")));
      for (const json& row : report.at("provenance")) CHECK(kinds.contains(row.at("kind")));
      CHECK(answers.contains(report.at("verdict").at("answer")));
      for (const json& row : report.at("verdict").at("limits"))
        CHECK(resources.contains(row.at("resource")));
      CHECK(risks.contains(report.at("verdict").at("risk")));
    }
  }
}

TEST_CASE("a request that is none is answered, never ignored", "[report][schema]") {
  for (const char* request : {"",
                              "{",
                              "null",
                              "[]",
                              "{}",
                              "{\"schema\": 1}",
                              "{\"op\": 3}",
                              "{\"op\": \"no\"}",
                              "{\"op\": \"fit\"}",
                              "{\"op\": \"fit\", \"config\": {}}"}) {
    INFO(request);
    const json reply = json::parse(call(request));
    CHECK(reply.at("ok") == false);
    CHECK(reply.at("errors").size() == 1);
    CHECK(reply.at("errors")[0].at("code").get<std::string>().size() == 5);
    CHECK_FALSE(reply.at("errors")[0].at("message").get<std::string>().empty());
  }
}

}  // namespace
}  // namespace peakline::test
