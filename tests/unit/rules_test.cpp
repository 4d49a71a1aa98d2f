// Rules: each is shown by a storage or by a setting, and only where it applies.
#include "peakline/rules.h"

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>
#include <vector>

#include "support/step.h"

namespace peakline::test {
namespace {

using nlohmann::json;
using Ids = std::set<std::string>;

Ids rules_shown(const json& config, const json& setup) {
  Ids ids;
  for (const EventTensor& tensor : events_of(config, setup).tensors) {
    if (const Rule* rule = rule_of(tensor)) ids.insert(std::string(rule->id));
  }
  const Result<TrainSetup> resolved = parse_train_setup(with_card(setup).dump());
  REQUIRE(resolved);
  for (const SettingRule& applied : rules_of(*resolved)) ids.insert(std::string(applied.rule->id));
  return ids;
}

json sliding_config() {
  json config = Decoder{}.config();
  config["model_type"] = "mistral";
  config["sliding_window"] = 64;
  return config;
}

json with_member(const char* model_type, const char* key, json value) {
  json config = Decoder{}.config();
  config["model_type"] = model_type;
  config[key] = std::move(value);
  return config;
}

struct Run {
  const char* what;
  json config;
  json setup;
  Ids shows;
  Ids shows_not;
};

std::vector<Run> runs() {
  const json plain = Decoder{}.config();
  const json tokens = {{"max_length", 128}};
  const auto with = [&tokens](json more) {
    more.update(tokens);
    return more;
  };
  return {
      {"full",
       plain,
       with({{"method", "full"}, {"optim", "adamw_torch"}}),
       {"R033", "R040", "R042", "R050", "R061"},
       {"R010", "R012", "R020", "R022", "R030", "R031", "R041", "R052", "R060"}},
      {"full in float32 under autocast",
       plain,
       with({{"method", "full"}, {"dtype", "float32"}}),
       {"R060"},
       {"R061"}},
      {"full, 8-bit states",
       plain,
       with({{"method", "full"}, {"optim", "adamw_bnb_8bit"}}),
       {"R051"},
       {"R050", "R052"}},
      {"full, paged states",
       plain,
       with({{"method", "full"}, {"optim", "paged_adamw_8bit"}}),
       {"R052"},
       {"R050"}},
      {"full with Liger",
       plain,
       with({{"method", "full"}, {"use_liger_kernel", true}}),
       {"R041"},
       {"R040", "R042", "R061"}},
      {"lora with Liger",
       plain,
       with({{"method", "lora"}, {"use_liger_kernel", true}}),
       {"R041"},
       {"R040"}},
      {"lora",
       plain,
       with({{"method", "lora"}}),
       {"R011", "R020"},
       {"R012", "R021", "R024", "R025", "R030"}},
      {"dora", plain, with({{"lora", {{"use_dora", true}}}}), {"R011", "R020", "R024"}, {"R025"}},
      {"a head that is saved",
       plain,
       with({{"lora", {{"modules_to_save", {"lm_head"}}}}}),
       {"R025"},
       {"R024"}},
      {"an 8-bit base",
       plain,
       with({{"method", "lora"}, {"quantization", {{"load_in_8bit", true}}}}),
       {"R010", "R026"},
       {"R021", "R022", "R023"}},
      {"a cache", plain, with({{"use_cache", true}}), {"R036"}, {}},
      {"a cache under checkpoints",
       plain,
       with({{"use_cache", true}, {"gradient_checkpointing", true}}),
       {"R012"},
       {"R036"}},
      {"lora with checkpoints",
       plain,
       with({{"method", "lora"}, {"gradient_checkpointing", true}}),
       {"R012"},
       {}},
      {"full with checkpoints",
       plain,
       with({{"method", "full"}, {"gradient_checkpointing", true}}),
       {},
       {"R012"}},
      {"qlora", plain, with({{"method", "qlora"}}), {"R010", "R021", "R023"}, {"R031"}},
      {"qlora, many rows",
       plain,
       {{"method", "qlora"}, {"max_length", 2048}, {"per_device_train_batch_size", 2}},
       {"R022"},
       {}},
      {"padded", plain, with({{"attention_mask", "padded"}}), {"R030", "R031", "R032"}, {"R035"}},
      {"a window that is reached",
       sliding_config(),
       with({{"method", "full"}}),
       {"R030", "R031"},
       {}},
      {"a window that is not reached",
       sliding_config(),
       {{"method", "full"}, {"max_length", 32}},
       {},
       {"R030", "R031"}},
      {"eager",
       plain,
       with({{"attn_implementation", "eager"}}),
       {"R030", "R031", "R035"},
       {"R032", "R034"}},
      {"capped scores and logits",
       with_member("gemma2", "hidden_activation", "gelu_pytorch_tanh"),
       with({{"method", "full"}}),
       {"R035", "R043", "R061"},
       {"R062"}},
      {"an activation written out",
       with_member("phi", "hidden_act", "gelu_new"),
       with({{"method", "full"}}),
       {"R061", "R062"},
       {"R043"}},
      {"no kernel",
       plain,
       with({{"method", "lora"}, {"dtype", "float32"}, {"autocast", nullptr}}),
       {"R034", "R031"},
       {"R030", "R035"}},
  };
}

TEST_CASE("a rule is shown where it applies and nowhere else", "[rules]") {
  for (const Run& run : runs()) {
    INFO(run.what);
    const Ids shown = rules_shown(run.config, run.setup);
    for (const std::string& id : run.shows) {
      INFO(id);
      CHECK(shown.contains(id));
    }
    for (const std::string& id : run.shows_not) {
      INFO(id);
      CHECK_FALSE(shown.contains(id));
    }
  }
}

TEST_CASE("every rule of the table is shown by some run", "[rules]") {
  Ids shown;
  for (const Run& run : runs()) shown.merge(rules_shown(run.config, run.setup));
  for (const Rule& rule : rules()) {
    INFO(rule.id);
    CHECK(shown.contains(std::string(rule.id)));
  }
}

TEST_CASE("what a setting brings about stands in the report with its rule", "[rules]") {
  const Report report =
      report_of(Decoder{}.config(), {{"method", "full"}, {"optim", "paged_adamw_8bit"}});
  bool found = false;
  for (const Provenance& entry : report.provenance) {
    found = found || (entry.value == "/setup/optim" && entry.sentence.starts_with("R052: "));
  }
  CHECK(found);
}

}  // namespace
}  // namespace peakline::test
