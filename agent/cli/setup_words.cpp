#include "cli/setup_words.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "cli/setup_values.h"

namespace peakline::cli {
namespace {

std::string text_at(const TrainSetup& setup, const char* key) {
  const json::Value* value = setup.document.find(key);
  const std::string* text = value == nullptr ? nullptr : value->as_string();
  return text == nullptr ? std::string() : *text;
}

// Settings that move memory in every run of their method; the report's JSON has the others.
constexpr std::string_view kTold[] = {
    "method",
    "dtype",
    "autocast",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "max_length",
    "attention_mask",
    "gradient_checkpointing",
    "attn_implementation",
    "optim",
    "max_grad_norm",
    "use_liger_kernel",
    "lora.r",
    "lora.target_modules",
    "lora.lora_dropout",
    "quantization.bnb_4bit_quant_type",
    "quantization.bnb_4bit_use_double_quant",
    "quantization.bnb_4bit_compute_dtype",
    "quantization.prepare_model_for_kbit_training",
};

bool has_adapters(const TrainSetup& setup) {
  return setup.method == Method::Lora || setup.method == Method::Qlora;
}

bool is_told(const TrainSetup& setup, std::string_view key) {
  if (key.starts_with("lora.") && !has_adapters(setup)) return false;
  if (key.starts_with("quantization.") && setup.method != Method::Qlora) return false;
  return std::find(std::begin(kTold), std::end(kTold), key) != std::end(kTold);
}

// The value at "lora.r" as a word.
std::string value_words(const TrainSetup& setup, std::string_view key) {
  const json::Value* value = value_at(setup.document, key);
  if (value == nullptr) return "?";
  return value->as_string() != nullptr ? *value->as_string() : json::dump(*value);
}

void append(std::string& list, const std::string& word) {
  if (!word.empty()) list += (list.empty() ? "" : ", ") + word;
}

// The report counts adapters among the parameters; people know a model by the size of its base.
std::string parameter_words(const Report& report) {
  const Elements all = report.num_parameters;
  const Elements trainable = report.num_trainable_parameters;
  if (!(all > Elements(0))) return {};
  if (!(trainable > Elements(0))) return count_words(all) + " parameters";
  if (trainable == all) return count_words(all) + " parameters, all trained";
  if (!has_adapters(report.setup))
    return count_words(all) + " parameters, " + count_words(trainable) + " trained";
  return count_words(all - trainable) + " parameters and " + count_words(trainable) +
         " in adapters";
}

}  // namespace

bool card_is_assumed(const TrainSetup& setup) {
  return setup.gpu.name != "custom" &&
         std::any_of(setup.origins.begin(), setup.origins.end(), [](const ResolvedValue& value) {
           return value.key == "gpu.name" && value.origin == Origin::Derived;
         });
}

std::string count_words(Elements count) {
  const auto number = static_cast<double>(count.count());
  char text[32];
  if (number >= 1e9) {
    std::snprintf(text, sizeof text, "%.2f billion", number / 1e9);
  } else if (number >= 1e6) {
    std::snprintf(text, sizeof text, "%.1f million", number / 1e6);
  } else {
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(count.count()));
  }
  return text;
}

std::string model_words(const Report& report, const std::string& name) {
  std::string words = report.architecture.model_type;
  if (report.architecture.num_layers > 0) {
    append(words, std::to_string(report.architecture.num_layers) + " layers");
  }
  append(words, parameter_words(report));
  return name + (words.empty() ? "" : ": ") + words;
}

std::vector<std::string> default_words(const TrainSetup& setup) {
  std::string trainer;
  std::string card;
  std::string assumed;
  for (const ResolvedValue& value : setup.origins) {
    if (!is_told(setup, value.key)) continue;
    const std::string words = value.key + " " + value_words(setup, value.key);
    switch (value.origin) {
      case Origin::Given:
        break;
      case Origin::TrainerDefault:
        append(trainer, words);
        break;
      case Origin::Card:
        append(card, words);
        break;
      case Origin::Derived:
        append(assumed, words);
        break;
    }
  }
  const std::string loop =
      setup.trainer == Trainer::None ? "a plain PyTorch loop" : text_at(setup, "trainer");
  std::vector<std::string> sentences;
  if (!assumed.empty()) sentences.push_back("Not given, so assumed: " + assumed);
  if (!trainer.empty()) sentences.push_back("Defaults of " + loop + ": " + trainer);
  if (!card.empty()) sentences.push_back("Because of the card: " + card);
  return sentences;
}

std::string card_words(const GpuSetup& gpu) {
  const std::string name = gpu.name == "custom" ? "this card" : gpu.name;
  return gpu.count > 1 ? std::to_string(gpu.count) + " x " + name : name;
}

std::string setup_words(const TrainSetup& setup) {
  std::string words = text_at(setup, "method");
  if (has_adapters(setup)) {
    append(words, "rank " + std::to_string(setup.lora.r));
  }
  append(words, "batch " + std::to_string(setup.per_device_train_batch_size));
  append(words, "length " + std::to_string(setup.max_length));
  append(words, setup.gradient_checkpointing ? "checkpointing" : "no checkpointing");
  if (setup.gradient_accumulation_steps > 1) {
    append(words, std::to_string(setup.gradient_accumulation_steps) + " accumulation steps");
  }
  append(words, text_at(setup, "dtype"));
  const std::string autocast = text_at(setup, "autocast");
  append(words, autocast.empty() ? "no autocast" : autocast + " autocast");
  append(words, setup.optim);
  if (setup.use_liger_kernel) append(words, "liger");
  return words;
}

}  // namespace peakline::cli
