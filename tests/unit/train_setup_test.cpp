#include "peakline/train_setup.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "peakline/data/trainer_defaults.h"

namespace peakline {
namespace {

TrainSetup parsed(std::string_view text) {
  Result<TrainSetup> setup = parse_train_setup(text);
  if (!setup) FAIL(setup.error().front().where + " " + setup.error().front().message);
  return *setup;
}

Origin origin_of(const TrainSetup& setup, std::string_view key) {
  for (const ResolvedValue& value : setup.origins) {
    if (value.key == key) return value.origin;
  }
  FAIL("no origin of " << key);
  return Origin::Given;
}

void collect_leaves(const json::Value& value,
                    const std::string& prefix,
                    std::vector<std::string>& leaves) {
  const json::Object* object = value.as_object();
  if (!object || object->empty()) {
    leaves.push_back(prefix);
    return;
  }
  for (const auto& member : *object) {
    collect_leaves(
        member.second, prefix.empty() ? member.first : prefix + "." + member.first, leaves);
  }
}

bool mentions(const std::vector<std::string>& sentences, std::string_view word) {
  return std::any_of(sentences.begin(), sentences.end(), [&](const std::string& sentence) {
    return sentence.find(word) != std::string::npos;
  });
}

TEST_CASE("an empty setup resolves to the defaults of transformers and PEFT", "[setup]") {
  const TrainSetup setup = parsed("{}");
  CHECK(setup.method == Method::Lora);
  CHECK(setup.trainer == Trainer::Transformers);
  CHECK(setup.dtype == DType::BFloat16);
  CHECK(setup.autocast == Autocast::Bf16);
  CHECK(setup.per_device_train_batch_size == 1);
  CHECK(setup.gradient_accumulation_steps == 1);
  CHECK(setup.max_length == 2048);
  CHECK(setup.attention_mask == AttentionMask::Ones);
  CHECK_FALSE(setup.gradient_checkpointing);
  CHECK_FALSE(setup.use_reentrant);
  CHECK(setup.attn_implementation == Attention::LibraryChoice);
  CHECK(setup.optim == "adamw_torch_fused");
  CHECK(setup.max_grad_norm == 1.0);
  CHECK(setup.lora.r == 16);
  CHECK(setup.lora.lora_alpha == 32);
  CHECK(setup.lora.all_linear);
  CHECK(setup.lora.autocast_adapter_dtype);
  CHECK(setup.quantization.bnb_4bit_use_double_quant);
  CHECK(setup.quantization.prepare_model_for_kbit_training);
  CHECK(setup.gpu.name == "RTX 3060 12GB");
  CHECK(setup.gpu.compute_capability == 86);
  CHECK(setup.not_modelled.empty());
  CHECK(mentions(setup.notes, "No card was given"));
}

TEST_CASE("the resolved document has the keys of the contract, in its order", "[setup]") {
  const TrainSetup setup = parsed("{}");
  std::vector<std::string> keys;
  for (const auto& member : *setup.document.as_object()) keys.push_back(member.first);
  const std::vector<std::string> contract = {"schema",
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
                                             "objective",
                                             "lora",
                                             "quantization",
                                             "placement",
                                             "parallel",
                                             "vision",
                                             "routing",
                                             "allocator",
                                             "stack",
                                             "gpu",
                                             "host"};
  CHECK(keys == contract);
  std::vector<std::string> leaves;
  collect_leaves(setup.document, "", leaves);
  CHECK(leaves.size() == 81);
}

TEST_CASE("every leaf of the resolved document has one origin", "[setup]") {
  const TrainSetup setup = parsed(R"({"method": "qlora", "gpu": "T4", "optim_args": {"rank": 8}})");
  std::set<std::string> origins;
  for (const ResolvedValue& value : setup.origins) CHECK(origins.insert(value.key).second);
  CHECK(origins.size() == setup_keys().size());
  CHECK(origin_of(setup, "method") == Origin::Given);
  CHECK(origin_of(setup, "max_grad_norm") == Origin::TrainerDefault);
  CHECK(origin_of(setup, "dtype") == Origin::Card);
  CHECK(origin_of(setup, "gpu.total_bytes") == Origin::Card);
  CHECK(origin_of(setup, "lora.r") == Origin::Derived);
}

TEST_CASE("the resolved document reads back as itself", "[setup]") {
  for (const std::string_view text : {R"({})",
                                      R"({"method": "qlora", "gpu": "T4x1", "lora": {"r": 64}})",
                                      R"({"method": "full", "trainer": "none", "gpu": "H100"})",
                                      R"({"gpu": {"total_bytes": 8589934592}})"}) {
    const std::string once = json::dump(parsed(text).document);
    CHECK(json::dump(parsed(once).document) == once);
  }
}

TEST_CASE("every trainer default names a key and a value the setup accepts", "[setup]") {
  for (const data::TrainerDefaultsRow& row : data::kTrainerDefaultsRows) {
    INFO(row.trainer << " " << row.key);
    const auto& keys = setup_keys();
    const auto key = std::find_if(
        keys.begin(), keys.end(), [&](const SetupKey& k) { return k.name == row.key; });
    REQUIRE(key != keys.end());
    const std::string trainer = row.trainer == "any" ? "none" : std::string(row.trainer);
    const TrainSetup setup = parsed("{\"trainer\": \"" + trainer + "\"}");
    CHECK(origin_of(setup, row.key) == Origin::TrainerDefault);
  }
}

TEST_CASE("a plain loop neither clips nor autocasts", "[setup]") {
  const TrainSetup setup = parsed(R"({"trainer": "none"})");
  CHECK(setup.autocast == Autocast::Off);
  CHECK(setup.max_grad_norm == 0.0);
  CHECK(setup.optim == "adamw_torch");
  CHECK(setup.attention_mask == AttentionMask::None);
}

TEST_CASE("k-bit preparation turns checkpointing on where nobody says", "[setup]") {
  struct Row {
    const char* text;
    bool checkpointing;
    bool reentrant;
    Origin origin;
  };
  const Row rows[] = {
      {R"({"method": "qlora"})", true, true, Origin::Derived},
      {R"({"method": "qlora", "trainer": "none"})", true, true, Origin::Derived},
      {R"({"method": "qlora", "gradient_checkpointing": true})", true, false, Origin::Given},
      {R"({"method": "qlora", "gradient_checkpointing": false})", false, false, Origin::Given},
      {R"({"method": "qlora", "quantization": {"prepare_model_for_kbit_training": false}})",
       false,
       false,
       Origin::TrainerDefault},
      {R"({"method": "lora"})", false, false, Origin::TrainerDefault},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const TrainSetup setup = parsed(row.text);
    CHECK(setup.gradient_checkpointing == row.checkpointing);
    CHECK(setup.use_reentrant == row.reentrant);
    CHECK(origin_of(setup, "gradient_checkpointing") == row.origin);
  }
}

TEST_CASE("what is given wins over every default", "[setup]") {
  const TrainSetup setup = parsed(R"({
    "method": "qlora", "dtype": "float32", "autocast": null, "per_device_train_batch_size": 4,
    "gradient_accumulation_steps": 8, "max_length": 512, "attention_mask": "none",
    "gradient_checkpointing": true, "use_reentrant": true, "attn_implementation": "eager",
    "optim": "adamw_8bit", "max_grad_norm": 0, "use_liger_kernel": true,
    "lora": {"r": 64, "lora_alpha": 16, "lora_dropout": 0.05, "target_modules": ["q_proj", "v_proj"],
             "autocast_adapter_dtype": false},
    "quantization": {"bnb_4bit_quant_type": "fp4", "bnb_4bit_use_double_quant": false,
                     "prepare_model_for_kbit_training": false},
    "gpu": {"name": "A100 80GB", "used_by_others_bytes": 1073741824}})");
  CHECK(setup.method == Method::Qlora);
  CHECK(setup.dtype == DType::Float32);
  CHECK(setup.autocast == Autocast::Off);
  CHECK(setup.per_device_train_batch_size == 4);
  CHECK(setup.gradient_accumulation_steps == 8);
  CHECK(setup.max_length == 512);
  CHECK(setup.attention_mask == AttentionMask::None);
  CHECK(setup.gradient_checkpointing);
  CHECK(setup.use_reentrant);
  CHECK(setup.attn_implementation == Attention::Eager);
  CHECK(setup.optim == "adamw_bnb_8bit");  // transformers' alias
  CHECK(setup.max_grad_norm == 0.0);
  CHECK(setup.use_liger_kernel);
  CHECK(setup.lora.r == 64);
  CHECK(setup.lora.lora_alpha == 16);
  CHECK(setup.lora.lora_dropout == 0.05);
  CHECK_FALSE(setup.lora.all_linear);
  CHECK(setup.lora.target_modules == std::vector<std::string>{"q_proj", "v_proj"});
  CHECK_FALSE(setup.lora.autocast_adapter_dtype);
  CHECK(setup.quantization.bnb_4bit_quant_type == "fp4");
  CHECK_FALSE(setup.quantization.bnb_4bit_use_double_quant);
  CHECK_FALSE(setup.quantization.prepare_model_for_kbit_training);
  CHECK(setup.gpu.used_by_others == gibibytes(1));
  CHECK(setup.gpu.sm_count == 108);
  CHECK(setup.not_modelled.empty());
  CHECK(setup.notes.empty());
}

TEST_CASE("bf16 exists only from compute capability 8.0", "[setup]") {
  SECTION("adapters on an old card keep a float16 base") {
    const TrainSetup setup = parsed(R"({"gpu": "T4", "method": "qlora"})");
    CHECK(setup.dtype == DType::Float16);
    CHECK(setup.autocast == Autocast::Fp16);
    CHECK(setup.quantization.bnb_4bit_compute_dtype == DType::Float16);
    CHECK(setup.not_modelled.empty());
  }
  SECTION("a full run on an old card keeps float32 weights") {
    CHECK(parsed(R"({"gpu": "V100 16GB", "method": "full"})").dtype == DType::Float32);
  }
  SECTION("a plain loop on an old card has no autocast") {
    const TrainSetup setup = parsed(R"({"gpu": "T4", "trainer": "none"})");
    CHECK(setup.autocast == Autocast::Off);
    CHECK(setup.not_modelled.empty());
  }
  SECTION("float32 weights with bf16 autocast are an ordinary choice") {
    const TrainSetup setup = parsed(R"({"dtype": "float32", "method": "full"})");
    CHECK(setup.autocast == Autocast::Bf16);
  }
  SECTION("float16 weights are autocast to fp16") {
    CHECK(parsed(R"({"dtype": "float16"})").autocast == Autocast::Fp16);
  }
}

TEST_CASE("a type's other name and a card's bare number are taken as on the command line",
          "[setup]") {
  const TrainSetup setup = parsed(
      R"({"dtype": "bf16", "autocast": "bfloat16", "gpu": "A100 80",
          "quantization": {"bnb_4bit_compute_dtype": "fp16"}, "method": "qlora"})");
  CHECK(setup.dtype == DType::BFloat16);
  CHECK(setup.autocast == Autocast::Bf16);
  CHECK(setup.quantization.bnb_4bit_compute_dtype == DType::Float16);
  CHECK(setup.gpu.name == "A100 80GB");
  CHECK(*setup.document.find("dtype")->as_string() == "bfloat16");
  CHECK(parsed(R"({"gpu": "A100 80x2"})").gpu.count == 2);
  CHECK(parsed(R"({"gpu": {"name": "a100-40"}})").gpu.name == "A100 40GB");
}

TEST_CASE("a card is a name, a name with a count, or an object", "[setup]") {
  SECTION("a name") {
    const TrainSetup setup = parsed(R"({"gpu": "RTX 4090"})");
    CHECK(setup.gpu.name == "RTX 4090 24GB");
    CHECK(setup.gpu.compute_capability == 89);
    CHECK(setup.gpu.total_is_reported);
    CHECK(setup.notes.empty());
  }
  SECTION("a count") {
    const TrainSetup setup = parsed(R"({"gpu": "RTX 3060 12GBx2"})");
    CHECK(setup.gpu.name == "RTX 3060 12GB");
    CHECK(setup.gpu.count == 2);
    CHECK(mentions(setup.not_modelled, "gpu.count"));
    CHECK(parsed(R"({"gpu": "4090 x 1"})").gpu.name == "RTX 4090 24GB");
    // A misspelt name is repeated whole: 4091 cards were not meant.
    const Result<TrainSetup> misspelt = parse_train_setup(R"({"gpu": "RTX4091"})");
    REQUIRE(!misspelt);
    CHECK(misspelt.error().front().message.find("\"RTX4091\"") != std::string::npos);
  }
  SECTION("a card whose total no source states has its marketed size") {
    const TrainSetup setup = parsed(R"({"gpu": "RTX 5070 Ti"})");
    CHECK(setup.gpu.total == gibibytes(16));
    CHECK_FALSE(setup.gpu.total_is_reported);
  }
  SECTION("a fact given by hand wins over the catalogue") {
    const TrainSetup setup = parsed(R"({"gpu": {"name": "RTX 5090", "total_bytes": 33669971968}})");
    CHECK(setup.gpu.total == Bytes(33669971968));
    CHECK(setup.gpu.total_is_reported);
    CHECK(setup.gpu.compute_capability == 120);
  }
  SECTION("a card of one's own") {
    const TrainSetup setup =
        parsed(R"({"gpu": {"total_bytes": 8589934592, "compute_capability": "8.9"}})");
    CHECK(setup.gpu.name == "custom");
    CHECK(setup.gpu.total == gibibytes(8));
    CHECK(setup.gpu.compute_capability == 89);
    CHECK(setup.notes.empty());
    CHECK(mentions(parsed(R"({"gpu": {"total_bytes": 8589934592}})").notes, "8.0 is assumed"));
  }
}

TEST_CASE("nothing that is given is ignored silently", "[setup]") {
  SECTION("what changes memory and is not modelled is named as such") {
    const TrainSetup setup = parsed(R"({"packing": true, "loss": "chunked",
        "objective": {"kind": "dpo"}, "parallel": {"kind": "fsdp2", "world_size": 8},
        "activation_offloading": true})");
    for (const std::string_view key : {"packing",
                                       "loss",
                                       "objective.kind",
                                       "parallel.kind",
                                       "parallel.world_size",
                                       "activation_offloading"}) {
      INFO(key);
      CHECK(mentions(setup.not_modelled, key));
    }
  }
  SECTION("a default given by hand changes nothing") {
    CHECK(parsed(R"({"packing": false, "routing": "balanced", "lengths": null})")
              .not_modelled.empty());
  }
  SECTION("a setting switched off by another is noted") {
    CHECK(
        mentions(parsed(R"({"method": "full", "lora": {"r": 8}})").notes, "lora.r has no effect"));
    CHECK(mentions(parsed(R"({"quantization": {"bnb_4bit_quant_type": "fp4"}})").notes,
                   "bnb_4bit_quant_type has no effect"));
    CHECK(mentions(parsed(R"({"use_reentrant": true})").notes, "use_reentrant has no effect"));
  }
  SECTION("another library version is noted") {
    CHECK(mentions(parsed(R"({"stack": {"transformers": "4.57"}})").notes, "5.24"));
  }
  SECTION("a trainer without its table is not answered for") {
    for (const std::string_view trainer :
         {"trl", "torchtune", "unsloth", "axolotl", "llamafactory"}) {
      CHECK(mentions(parsed("{\"trainer\": \"" + std::string(trainer) + "\"}").not_modelled,
                     trainer));
    }
    CHECK(mentions(parsed(R"({"method": "inference"})").not_modelled, "inference"));
  }
}

std::string places(std::string_view text) {
  const Result<TrainSetup> setup = parse_train_setup(text);
  std::string result;
  if (setup) return result;
  for (const Error& error : setup.error())
    result += code_name(error.code) + " " + error.where + "\n";
  return result;
}

TEST_CASE("all-linear is a word, never one name among others", "[setup]") {
  CHECK(places(R"({"lora": {"target_modules": "all-linear"}})").empty());
  CHECK(places(R"({"lora": {"target_modules": ["all-linear"]}})") ==
        "E0304 /lora/target_modules/0\n");
  CHECK(places(R"({"lora": {"target_modules": ["q_proj", "all-linear"]}})") ==
        "E0304 /lora/target_modules/1\n");
}

TEST_CASE("float16 weights are not trained behind a gradient scaler", "[setup]") {
  const std::string dtype = "E0305 /dtype\n";
  const std::string cast = "E0305 /lora/autocast_adapter_dtype\n";
  CHECK(places(R"({"method": "full", "dtype": "float16"})") == dtype);
  CHECK(places(R"({"method": "full", "dtype": "float16", "gpu": "T4"})") == dtype);
  for (const std::string_view method : {"lora", "qlora"}) {
    const std::string start =
        "{\"method\": \"" + std::string(method) + "\", \"dtype\": \"float16\"";
    CHECK(places(start + R"(, "lora": {"autocast_adapter_dtype": false}})") == cast);
    CHECK(places(start + "}").empty());
    CHECK(places(start + R"(, "trainer": "none", "lora": {"autocast_adapter_dtype": false}})")
              .empty());
    CHECK(places(start + R"(, "autocast": null, "lora": {"autocast_adapter_dtype": false}})")
              .empty());
  }
  CHECK(places(R"({"lora": {"adapter_dtype": "float16"}, "autocast": "fp16"})") ==
        "E0305 /lora/adapter_dtype\n");
  const std::string half = R"({"dtype": "float16", )";
  CHECK(places(half + R"("lora": {"bias": "all"}})") == "E0305 /lora/bias\n");
  const std::string saved = R"("lora": {"modules_to_save": ["lm_head"]}})";
  CHECK(places(half + saved) == "E0305 /lora/modules_to_save\n");
  CHECK(places(half + R"("method": "qlora", )" + saved).empty());
  // Without clipping only the fused optimizer, which unscales in its kernel, is spared.
  CHECK(places(R"({"method": "full", "dtype": "float16", "max_grad_norm": 0})").empty());
  CHECK(places(R"({"method": "full", "dtype": "float16", "max_grad_norm": 0, "optim": "sgd"})") ==
        dtype);
  CHECK(places(R"({"method": "full", "dtype": "float32", "autocast": "fp16"})").empty());
  CHECK(places(R"({"method": "full", "dtype": "float16", "trainer": "none"})").empty());
}

TEST_CASE("other programs hold less than the card has", "[setup]") {
  const std::string where = "E0305 /gpu/used_by_others_bytes\n";
  CHECK(places(R"({"gpu": {"name": "T4", "used_by_others_bytes": 90000000000}})") == where);
  CHECK(places(R"({"gpu": {"total_bytes": 1000, "used_by_others_bytes": 1000}})") == where);
  CHECK(places(R"({"gpu": {"total_bytes": 1000, "used_by_others_bytes": 999}})").empty());
}

TEST_CASE("values that a report repeats are bounded", "[setup]") {
  std::string names = "\"q_proj\"";
  for (int i = 0; i < 1000; ++i) names += ", \"q_proj\"";
  const std::string many = "[" + names + "]";
  for (const std::string_view key : {"target_modules", "modules_to_save"}) {
    const std::string text = "{\"lora\": {\"" + std::string(key) + "\": " + many + "}}";
    CHECK(places(text) == "E0303 /lora/" + std::string(key) + "\n");
  }
  const std::string word(5000, 'x');
  CHECK(places("{\"optim_args\": {\"a\": \"" + word + "\"}}") == "E0303 /optim_args\n");
  CHECK(places("{\"stack\": {\"torch\": \"" + word + "\"}}") == "E0303 /stack/torch\n");
  const TrainSetup setup = parsed("{\"optim_args\": {\"a\": \"" + word.substr(0, 4000) + "\"}}");
  REQUIRE(mentions(setup.not_modelled, "optim_args"));
  for (const std::string& sentence : setup.not_modelled) CHECK(sentence.size() < 200);
}

TEST_CASE("every optimizer of TrainingArguments is accepted", "[setup]") {
  const auto& keys = setup_keys();
  const auto optim =
      std::find_if(keys.begin(), keys.end(), [](const SetupKey& k) { return k.name == "optim"; });
  REQUIRE(optim != keys.end());
  std::string_view rest = optim->choices;
  int count = 0;
  while (!rest.empty()) {
    const std::size_t bar = rest.find(" | ");
    const std::string name(rest.substr(0, bar));
    CHECK(parse_train_setup("{\"optim\": \"" + name + "\"}").has_value());
    rest = bar == std::string_view::npos ? "" : rest.substr(bar + 3);
    ++count;
  }
  CHECK(count == 41);  // transformers 5.24.0 training_args.py, OptimizerNames
}

TEST_CASE("every setup key explains itself", "[setup]") {
  std::set<std::string_view> names;
  for (const SetupKey& key : setup_keys()) {
    INFO(key.name);
    CHECK(names.insert(key.name).second);
    CHECK(key.meaning.size() > 5);
    CHECK(key.meaning.back() == '.');
    // A list may have a word that stands for it: all-linear.
    if (key.kind != "list") CHECK((key.kind == "choice") == !key.choices.empty());
  }
}

TEST_CASE("the largest step that can be asked for does not overflow", "[setup]") {
  CHECK(parse_train_setup(R"({"per_device_train_batch_size": 1, "max_length": 2147483647})")
            .has_value());
  CHECK(parse_train_setup(R"({"per_device_train_batch_size": 32768, "max_length": 65536})")
            .has_value());
  CHECK_FALSE(parse_train_setup(R"({"per_device_train_batch_size": 32769, "max_length": 65536})")
                  .has_value());
  CHECK_FALSE(
      parse_train_setup(R"({"per_device_train_batch_size": 2147483647, "max_length": 2147483647})")
          .has_value());
}

}  // namespace
}  // namespace peakline
