#include "cli/option_names.h"

#include <algorithm>
#include <set>

#include "cli/arguments.h"

namespace peakline::cli {
namespace {

// `shown` comes before the name made from the key; `hidden` are names other programs use for the
// same thing.
struct Extra {
  std::string_view key;
  std::string_view shown;
  std::string_view hidden;
};
constexpr Extra kExtras[] = {
    {"method", "-m,--method", ""},
    {"trainer", "", ""},
    {"dtype", "--dtype", "--torch-dtype,--precision"},
    {"autocast", "--autocast", "--amp,--mixed-precision"},
    {"per_device_train_batch_size",
     "-b,--batch",
     "--batch-size,--micro-batch-size,--train-batch-size,--per-device-batch-size,"
     "--per-gpu-train-batch-size"},
    {"gradient_accumulation_steps", "--accum", "--grad-accum,--accumulation-steps"},
    {"max_length",
     "-l,--length",
     "--seq,--seq-len,--seq-length,--max-seq-length,--max-seq-len,--sequence-len,--sequence-length,"
     "--cutoff-len,--model-max-length,--context-length,--block-size"},
    {"attention_mask", "", ""},
    {"gradient_checkpointing", "-c,--ckpt", "--checkpointing,--activation-checkpointing"},
    {"use_reentrant", "", ""},
    {"attn_implementation", "--attn", "--attention"},
    {"optim", "--optim", "--optimizer"},
    {"max_grad_norm", "--clip", "--grad-clip"},
    {"use_liger_kernel", "--liger", ""},
    {"lora.r", "-r,--rank", "--lora-rank"},
    {"lora.lora_alpha", "", "--alpha"},
    {"lora.lora_dropout", "", "--dropout"},
    {"lora.target_modules", "--targets", "--lora-target"},
    {"lora.modules_to_save", "", ""},
    {"lora.autocast_adapter_dtype", "", ""},
    {"quantization.bnb_4bit_quant_type", "", ""},
    {"quantization.bnb_4bit_use_double_quant", "", "--double-quant"},
    {"quantization.bnb_4bit_compute_dtype", "", ""},
    {"quantization.prepare_model_for_kbit_training", "--kbit-prep", ""},
    {"gpu.total_bytes", "", ""},
    {"gpu.used_by_others_bytes", "", ""},
    {"gpu.compute_capability", "", "--cc"},
};

// A last part shorter than this says too little on its own ("kind", "tp").
constexpr std::size_t kMinLeafLength = 6;

constexpr std::string_view kNoMemory[] = {
    "--learning-rate",
    "--lr",
    "--num-train-epochs",
    "--epochs",
    "--max-steps",
    "--warmup-steps",
    "--warmup-ratio",
    "--weight-decay",
    "--seed",
    "--lr-scheduler-type",
    "--logging-steps",
    "--save-steps",
    "--output-dir",
    "--report-to",
    "--run-name",
    "--save-strategy",
    "--do-train",
    "--overwrite-output-dir",
};

const Extra* find_extra(std::string_view key) {
  const auto* found = std::find_if(std::begin(kExtras),
                                   std::end(kExtras),
                                   [key](const Extra& extra) { return extra.key == key; });
  return found == std::end(kExtras) ? nullptr : found;
}

std::string_view group_of(std::string_view key) {
  const std::size_t dot = key.find('.');
  return dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
}

std::string_view leaf_of(std::string_view key) {
  return key.substr(key.rfind('.') + 1);
}

std::string heading_of(std::string_view key) {
  const std::string_view group = group_of(key);
  if (group.empty()) return "The run";
  if (group == "lora") return "Adapters (PEFT)";
  if (group == "quantization") return "Quantised weights (bitsandbytes)";
  if (group == "gpu") return "The card in detail";
  if (group == "stack") return "Library versions";
  if (group == "objective") return "What is learnt (not modelled yet)";
  if (group == "placement") return "Where the weights live";
  if (group == "parallel") return "Several cards (not modelled yet)";
  if (group == "vision") return "Images (not modelled yet)";
  if (group == "allocator") return "The caching allocator";
  if (group == "host") return "The host";
  return std::string(group);
}

bool leaf_is_unique(std::string_view leaf, const std::vector<SetupKey>& keys) {
  return std::count_if(keys.begin(), keys.end(), [leaf](const SetupKey& key) {
           return leaf_of(key.name) == leaf;
         }) == 1;
}

// The name that speaks for the key: --lora-alpha for "lora.lora_alpha", --lora-r for "lora.r".
std::string own_name(std::string_view key) {
  const std::string_view group = group_of(key);
  const std::string_view leaf = leaf_of(key);
  const bool leaf_suffices = leaf.starts_with(group) || group == "quantization";
  return canonical_option("--" + std::string(leaf_suffices ? leaf : key));
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    names.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

std::string joined(const std::vector<std::string>& names, std::string_view separator) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : std::string(separator)) + name;
  return text;
}

class Namer {
 public:
  explicit Namer(const std::vector<SetupKey>& keys) : keys_(keys) {}

  OptionNames name(const SetupKey& key) {
    const Extra* extra = find_extra(key.name);
    std::vector<std::string> names;
    for (const std::string& shown : split(extra == nullptr ? "" : extra->shown)) add(names, shown);
    add(names, own_name(key.name));
    OptionNames result;
    result.shown = joined(names, ", ");
    const auto first_long = std::find_if(
        names.begin(), names.end(), [](const std::string& name) { return name.starts_with("--"); });
    if (first_long != names.end()) result.main = *first_long;
    add(names, canonical_option("--" + std::string(key.name)));
    const std::string_view leaf = leaf_of(key.name);
    if (leaf.size() >= kMinLeafLength && leaf_is_unique(leaf, keys_)) {
      add(names, canonical_option("--" + std::string(leaf)));
    }
    for (const std::string& hidden : split(extra == nullptr ? "" : extra->hidden))
      add(names, hidden);
    result.all = joined(names, ",");
    result.group = heading_of(key.name);
    result.common = extra != nullptr;
    return result;
  }

 private:
  void add(std::vector<std::string>& names, const std::string& name) {
    if (taken_.insert(name).second) names.push_back(name);
  }

  const std::vector<SetupKey>& keys_;
  std::set<std::string> taken_;
};

}  // namespace

std::vector<OptionNames> option_names_of(const std::vector<SetupKey>& keys) {
  Namer namer(keys);
  std::vector<OptionNames> names;
  names.reserve(keys.size());
  for (const SetupKey& key : keys) names.push_back(namer.name(key));
  return names;
}

bool changes_no_memory(std::string_view canonical_option) {
  return std::find(std::begin(kNoMemory), std::end(kNoMemory), canonical_option) !=
         std::end(kNoMemory);
}

}  // namespace peakline::cli
