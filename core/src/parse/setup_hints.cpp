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

std::string_view last_part(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

std::string did_you_mean(std::string_view name) {
  return "Did you mean \"" + std::string(name) + "\"?";
}

// The field whose last part is, contains or nearly is the last part of what was typed; one of the
// same group is preferred.
const SetupField* field_meant(std::string_view typed) {
  const std::string_view leaf = last_part(typed);
  std::vector<const SetupField*> fields;
  std::vector<std::string_view> leaves;
  for (const SetupField& field : setup_fields()) {
    const bool same_group =
        typed.size() > leaf.size() && field.name.substr(0, typed.size() - leaf.size()) ==
                                          typed.substr(0, typed.size() - leaf.size());
    const auto at = same_group ? 0 : static_cast<std::ptrdiff_t>(fields.size());
    fields.insert(fields.begin() + at, &field);
    leaves.insert(leaves.begin() + at, last_part(field.name));
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (leaves[i] == leaf) return fields[i];
  }
  for (std::size_t i = 0; i < fields.size() && leaf.size() >= kShortestWord; ++i) {
    if (leaves[i].find(leaf) != std::string_view::npos) return fields[i];
  }
  const std::size_t near = nearest_index(leaf, leaves);
  return near < fields.size() ? fields[near] : nullptr;
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
  const SetupField* field = field_meant(typed);
  return field ? did_you_mean(field->name) : "";
}

}  // namespace peakline
