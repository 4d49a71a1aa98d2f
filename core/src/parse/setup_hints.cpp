#include <algorithm>
#include <vector>

#include "parse/setup_fields.h"
#include "peakline/nearest.h"

namespace peakline {
namespace {

constexpr std::size_t kShortestWord = 4;  // shorter parts occur in too many names

// What people type, and the key that means it; "" where the setting changes no memory.
struct Alias {
  std::string_view typed;
  std::string_view key;
};
constexpr Alias kAliases[] = {
    {"batch_size", "per_device_train_batch_size"},
    {"batch", "per_device_train_batch_size"},
    {"micro_batch_size", "per_device_train_batch_size"},
    {"train_batch_size", "per_device_train_batch_size"},
    {"seq_len", "max_length"},
    {"seq_length", "max_length"},
    {"seqlen", "max_length"},
    {"sequence_length", "max_length"},
    {"sequence_len", "max_length"},
    {"max_seq_length", "max_length"},
    {"max_seq_len", "max_length"},
    {"context_length", "max_length"},
    {"model_max_length", "max_length"},
    {"optimizer", "optim"},
    {"torch_dtype", "dtype"},
    {"precision", "dtype"},
    {"bf16", "autocast"},
    {"fp16", "autocast"},
    {"mixed_precision", "autocast"},
    {"load_in_4bit", "method"},
    {"rank", "lora.r"},
    {"lora_r", "lora.r"},
    {"lora_rank", "lora.r"},
    {"alpha", "lora.lora_alpha"},
    {"dropout", "lora.lora_dropout"},
    {"activation_checkpointing", "gradient_checkpointing"},
    {"attention", "attn_implementation"},
    {"grad_accum", "gradient_accumulation_steps"},
    {"vram", "gpu.total_bytes"},
    {"lora_config", "lora"},
    {"peft_config", "lora"},
    {"quantization_config", "quantization"},
    {"bnb_config", "quantization"},
    {"learning_rate", ""},
    {"num_train_epochs", ""},
    {"max_steps", ""},
    {"warmup_steps", ""},
    {"warmup_ratio", ""},
    {"weight_decay", ""},
    {"lr_scheduler_type", ""},
    {"logging_steps", ""},
    {"save_steps", ""},
    {"output_dir", ""},
    {"seed", ""},
};

// Keys of other programs that name the model.
constexpr std::string_view kModelKeys[] = {
    "model", "config", "base_model", "model_id", "model_name", "model_name_or_path", "model_type"};

std::string_view last_part(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

std::string did_you_mean(std::string_view name) {
  return "Did you mean \"" + std::string(name) + "\"?";
}

// The part of a name that says enough on its own: its beginning or end up to a "_", or half of it.
bool speaks_for(std::string_view part, std::string_view name) {
  const std::size_t at = name.find(part);
  if (part.size() < kShortestWord || at == std::string_view::npos) return false;
  if (2 * part.size() >= name.size()) return true;
  const std::size_t end = name.size() - part.size();
  return (at == 0 && name[part.size()] == '_') ||
         (name.substr(end) == part && name[end - 1] == '_');
}

std::vector<std::string_view> group_names() {
  std::vector<std::string_view> names;
  for (const SetupField& field : setup_fields()) {
    const std::string_view group =
        field.name.substr(0, field.name.size() - last_part(field.name).size());
    if (group.empty()) continue;
    const std::string_view name = group.substr(0, group.size() - 1);
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

// The key or group of keys that is meant; keys of the group that was typed are preferred.
std::string_view name_meant(std::string_view typed) {
  const std::string_view leaf = last_part(typed);
  const std::string_view group = typed.substr(0, typed.size() - leaf.size());
  std::vector<std::string_view> names;
  std::vector<std::string_view> leaves;
  std::size_t num_in_group = 0;
  for (const SetupField& field : setup_fields()) {
    const bool same_group = !group.empty() && field.name.substr(0, group.size()) == group;
    const std::size_t at = same_group ? num_in_group++ : names.size();
    names.insert(names.begin() + static_cast<std::ptrdiff_t>(at), field.name);
    leaves.insert(leaves.begin() + static_cast<std::ptrdiff_t>(at), last_part(field.name));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (leaves[i] == leaf) return names[i];
  }
  // One letter too many in a key of one, such as "r", is clear only inside its group.
  for (std::size_t i = 0; i < num_in_group && leaf.size() == 2; ++i) {
    if (leaves[i].size() == 1 && edit_distance(leaf, leaves[i]) == 1) return names[i];
  }
  const std::vector<std::string_view> groups =
      group.empty() ? group_names() : std::vector<std::string_view>();
  for (const std::string_view name : groups) {
    if (leaf.size() >= kShortestWord && name.substr(0, leaf.size()) == leaf) return name;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (speaks_for(leaf, leaves[i])) return names[i];
  }
  for (const std::string_view name : groups) {
    names.push_back(name);
    leaves.push_back(name);
  }
  const std::size_t near = nearest_index(leaf, leaves);
  return near < names.size() ? names[near] : std::string_view();
}

}  // namespace

std::string setup_key_hint(std::string_view typed) {
  const std::string_view leaf = last_part(typed);
  for (const Alias& alias : kAliases) {
    if (alias.typed != leaf) continue;
    if (alias.key.empty()) return "It changes no memory: remove it.";
    if (alias.key == "method") return "4-bit base weights are \"method\": \"qlora\".";
    return did_you_mean(alias.key);
  }
  if (std::find(std::begin(kModelKeys), std::end(kModelKeys), typed) != std::end(kModelKeys))
    return "The setup holds no model: it is given beside it.";
  const std::string_view name = name_meant(typed);
  return name.empty() ? "" : did_you_mean(name);
}

}  // namespace peakline
