#include "support/truth_row.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

namespace peakline::test {

using nlohmann::json;

std::optional<std::filesystem::path> shared_data() {
  const char* given = std::getenv("PEAKLINE_SHARED");
  const std::filesystem::path path =
      std::filesystem::path(given != nullptr ? given : "../shared") / "data";
  if (!std::filesystem::exists(path / "truth.jsonl")) return std::nullopt;
  return path;
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

namespace {

std::string long_dtype(const std::string& name) {
  if (name == "bf16") return "bfloat16";
  return name == "fp16" ? "float16" : "float32";
}

json targets_of(const std::string& targets) {
  if (targets == "all-linear" || targets.empty()) return targets;
  if (targets == "q,v") return {"q_proj", "v_proj"};
  if (targets == "q,k,v,o") return {"q_proj", "k_proj", "v_proj", "o_proj"};
  json names = json::array();
  std::istringstream text(targets);
  for (std::string name; std::getline(text, name, '+');) names.push_back(name);
  return names;
}

json card_of(const std::string& card) {
  static const std::map<std::string, std::pair<const char*, int>> kCards = {
      {"sm75", {"7.5", 40}},
      {"sm80", {"8.0", 108}},
      {"sm86", {"8.6", 82}},
      {"sm89", {"8.9", 128}},
      {"sm86-3060", {"8.6", 28}},
      {"sm90", {"9.0", 132}}};
  const auto& [capability, sms] = kCards.at(card);
  return {{"total_bytes", 85899345920}, {"compute_capability", capability}, {"sm_count", sms}};
}

// Keys that only the second collection of rows has.
void add_later_settings(const json& s, json& setup) {
  const auto given = [&](const char* key, const json& fallback) {
    return s.contains(key) && s.at(key) != fallback;
  };
  json& lora = setup["lora"];
  if (given("int8", false)) setup["quantization"]["load_in_8bit"] = true;
  if (given("dora", false)) lora["use_dora"] = true;
  if (given("rslora", false)) lora["use_rslora"] = true;
  if (given("lora_bias", "none")) lora["bias"] = s.at("lora_bias");
  if (given("modules_to_save", "")) lora["modules_to_save"] = targets_of(s.at("modules_to_save"));
  if (given("adapter_dtype", "auto")) lora["adapter_dtype"] = long_dtype(s.at("adapter_dtype"));
  if (given("loop", "trainer")) setup["trainer"] = "none";
  if (given("trainer", "transformers")) setup["trainer"] = "trl";
  if (given("act_offload", false)) setup["activation_offloading"] = true;
  if (given("optim_args", "")) setup["optim_args"] = {{"given", s.at("optim_args")}};
  if (given("images", 0)) setup["vision"] = {{"images", s.at("images")}};
  if (given("objective", "causal")) setup["objective"] = {{"kind", "classification"}};
}

}  // namespace

std::string setup_of(const json& s) {
  const auto text = [&](const char* key) { return s.at(key).get<std::string>(); };
  json setup = {{"schema", 1}, {"method", s.at("method")}, {"dtype", long_dtype(text("dtype"))}};
  const json& autocast = s.at("autocast");
  if (autocast.is_string()) {
    setup["autocast"] = autocast;
  } else {
    setup["autocast"] = autocast.get<bool>() ? json("bf16") : json(nullptr);
  }
  setup["per_device_train_batch_size"] = s.at("micro_batch");
  setup["gradient_accumulation_steps"] = s.at("accum");
  setup["max_length"] = s.at("seq");
  setup["attention_mask"] = s.at("mask");
  setup["gradient_checkpointing"] = text("ckpt") != "off";
  setup["use_reentrant"] = text("ckpt") == "reentrant";
  setup["attn_implementation"] = text("attn") == "auto" ? json(nullptr) : s.at("attn");
  setup["use_cache"] = s.at("use_cache");
  setup["optim"] = s.at("optim");
  setup["max_grad_norm"] = s.at("clip");
  setup["use_liger_kernel"] = s.at("liger");
  const std::int64_t rank = s.at("rank").get<std::int64_t>();
  setup["lora"] = {{"r", rank},
                   {"lora_alpha", 2 * rank},
                   {"lora_dropout", s.at("lora_dropout")},
                   {"target_modules", targets_of(text("targets"))},
                   {"autocast_adapter_dtype", s.at("adapter_autocast")}};
  setup["quantization"] = {{"bnb_4bit_use_double_quant", s.at("double_quant")},
                           {"bnb_4bit_compute_dtype", long_dtype(text("dtype"))},
                           {"prepare_model_for_kbit_training", s.at("kbit_prep")}};
  setup["gpu"] = card_of(s.value("card", "sm80"));
  add_later_settings(s, setup);
  return setup.dump();
}

std::string config_of(const json& row, const std::filesystem::path& shared) {
  const std::string text = read_text(shared / "configs" / row.at("config").get<std::string>());
  const json& tied = row.at("settings").at("tied");
  if (tied.is_null()) return text;
  json config = json::parse(text);
  config["tie_word_embeddings"] = tied;
  return config.dump();
}

}  // namespace peakline::test
