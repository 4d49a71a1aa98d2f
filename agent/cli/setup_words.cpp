#include "cli/setup_words.h"

#include <cstdio>

namespace peakline::cli {
namespace {

std::string text_at(const TrainSetup& setup, const char* key) {
  const json::Value* value = setup.document.find(key);
  const std::string* text = value == nullptr ? nullptr : value->as_string();
  return text == nullptr ? std::string() : *text;
}

void append(std::string& list, const std::string& word) {
  if (!word.empty()) list += (list.empty() ? "" : ", ") + word;
}

}  // namespace

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
  if (report.num_parameters > Elements(0)) {
    append(words, count_words(report.num_parameters) + " parameters");
    const bool counted = report.num_trainable_parameters > Elements(0);
    if (counted) append(words, count_words(report.num_trainable_parameters) + " trained");
  }
  return name + (words.empty() ? "" : ": ") + words;
}

std::string card_words(const GpuSetup& gpu) {
  const std::string name = gpu.name == "custom" ? "this card" : gpu.name;
  return gpu.count > 1 ? std::to_string(gpu.count) + " x " + name : name;
}

std::string setup_words(const TrainSetup& setup) {
  std::string words = text_at(setup, "method");
  if (setup.method == Method::Lora || setup.method == Method::Qlora) {
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
