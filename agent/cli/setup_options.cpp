#include "cli/setup_options.h"

#include <algorithm>

#include "cli/card_names.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/setup_values.h"
#include "peakline/gpu_catalogue.h"

namespace peakline::cli {
namespace {

constexpr const char* kCardGroup = "The card";

// An option whose words are read later, all at once with their mistakes.
CLI::Option* add_raw_option(CLI::App& app, const std::string& names, const std::string& meaning) {
  return app
      .add_option(
          names, [](const CLI::results_t&) { return true; }, meaning)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

std::string label_of(const SetupKey& key) {
  if (key.kind == "boolean") return "";
  if (key.kind == "integer" || key.kind == "number") return " N";
  if (key.kind == "list") return " A,B";
  if (key.kind == "object") return " A=1,B=2";
  return " WORD";
}

std::string choices_of(const SetupKey& key) {
  constexpr std::size_t kMaxChoices = 90;
  if (key.choices.empty()) return "";
  if (key.choices.size() <= kMaxChoices) return " [" + std::string(key.choices) + "]";
  const std::size_t end = key.choices.rfind(" | ", kMaxChoices);
  return " [" + std::string(key.choices.substr(0, end)) + " | ...]";
}

// What holds where nothing is given, as the core resolves it: of a 4-bit base, because only that
// one has all settings. The facts of the card are the card's own.
class Defaults {
 public:
  Defaults() {
    const Result<TrainSetup> setup = parse_train_setup("{}");
    const Result<TrainSetup> qlora = parse_train_setup("{\"method\": \"qlora\"}");
    if (setup) plain_ = setup->document;
    if (qlora) qlora_ = qlora->document;
  }

  // " Default: 2048." or nothing.
  [[nodiscard]] std::string of(std::string_view key) const {
    if (key.starts_with("gpu.") && key != "gpu.name") return "";
    const std::string qlora = word_at(qlora_, key);
    const std::string plain = key.starts_with("quantization.") ? qlora : word_at(plain_, key);
    if (plain.empty()) return "";
    const bool differs = plain != qlora && key != "method";
    return " Default: " + plain + (differs ? " (with qlora " + qlora + ")." : ".");
  }

 private:
  static std::string word_at(const json::Value& document, std::string_view key) {
    const json::Value* value = value_at(document, key);
    if (value == nullptr || value->as_array() != nullptr || value->as_object() != nullptr)
      return "";
    return value->as_string() != nullptr ? *value->as_string() : json::dump(*value);
  }

  json::Value plain_;
  json::Value qlora_;
};

// The one value of an option that may be given several times as long as it says the same.
Result<std::string> single_value(const CLI::Option& option, const std::string& name) {
  const std::vector<std::string>& words = option.results();
  for (const std::string& word : words) {
    if (word != words.front()) {
      return Error{ErrorCode::UsageConflict,
                   name,
                   "got \"" + words.front() + "\" and \"" + word + "\", expected one value",
                   "give it once"};
    }
  }
  return words.front();
}

Error both_given(const std::string& name, const std::string& other) {
  return {ErrorCode::UsageConflict, name, "got " + other + " as well", "give one of them"};
}

// The word a key of the top has once defaults are added; the given one where other mistakes keep
// them away.
std::string resolved_word(const json::Value& document, std::string_view key) {
  const Result<TrainSetup> setup = parse_train_setup(json::dump(document));
  const json::Value* value = (setup ? setup->document : document).find(key);
  return value == nullptr || value->as_string() == nullptr ? "" : *value->as_string();
}

// "/lora/target_modules/0" is inside "lora.target_modules".
bool is_at(std::string_view pointer, std::string_view key) {
  if (!pointer.starts_with('/')) return false;
  std::string path(pointer.substr(1));
  std::replace(path.begin(), path.end(), '/', '.');
  return path == key || path.starts_with(std::string(key) + ".");
}

}  // namespace

void SetupOptions::attach(CLI::App& app) {
  attach_card(app);
  attach_keys(app);
  attach_shorthands(app);
}

void SetupOptions::attach_card(CLI::App& app) {
  CLI::Option* gpu = add_raw_option(
      app,
      "-g,--gpu",
      "A card by name: \"RTX 4090\". Several (\"A100 80GBx4\") are read and not modelled yet." +
          Defaults().of("gpu.name"));
  gpu->option_text("-g, --gpu NAME[xN]")->group(kCardGroup);
  gpu_ = gpu;
  CLI::Option* vram = add_raw_option(
      app,
      "--vram",
      "Any other card: its memory in GiB as the driver reports it (nvidia-smi), or as 24564MiB.");
  vram->option_text("--vram GiB")->group(kCardGroup);
  vram_ = vram;
}

void SetupOptions::attach_keys(CLI::App& app) {
  const std::vector<SetupKey>& keys = setup_keys();
  std::vector<OptionNames> names = option_names_of(keys);
  const Defaults defaults;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].name == "schema") continue;
    CLI::Option* option = add_raw_option(
        app,
        names[i].all,
        std::string(keys[i].meaning) + choices_of(keys[i]) + defaults.of(keys[i].name));
    option->option_text(names[i].shown + label_of(keys[i]));
    option->group(names[i].common ? names[i].group : std::string(kRareGroup) + names[i].group);
    if (keys[i].kind == "boolean") make_switch(*option);
    rows_.push_back({&keys[i], option, std::move(names[i])});
  }
}

void SetupOptions::attach_shorthands(CLI::App& app) {
  const Shorthand all[] = {
      {nullptr, "--bf16", "autocast", "bf16", true},
      {nullptr, "--fp16", "autocast", "fp16", true},
      {nullptr, "--load-in-4bit", "method", "qlora", false},
  };
  for (Shorthand shorthand : all) {
    CLI::Option* option = add_raw_option(app, shorthand.name, "");
    option->group("");
    make_switch(*option);
    shorthand.option = option;
    shorthands_.push_back(shorthand);
  }
}

json::Value SetupOptions::over(json::Value base, Errors& errors) const {
  apply_card(base, errors);
  apply_keys(base, errors);
  apply_shorthands(base, errors);
  return base;
}

// A card of the command line replaces the file's card as a whole: its bytes belong to another name.
void SetupOptions::apply_card(json::Value& document, Errors& errors) const {
  if (gpu_->count() > 0 && vram_->count() > 0) {
    errors.push_back(
        {ErrorCode::UsageConflict, "--vram", "got --gpu as well", "give the card or its memory"});
    return;
  }
  if (gpu_->count() > 0) {
    const Result<std::string> text = single_value(*gpu_, "--gpu");
    if (!text) {
      errors.push_back(text.error().front());
      return;
    }
    const GpuText card = split_gpu_text(*text);
    set_member(document, "gpu", json::Value{json::Object{}});
    set_member(document, "gpu.name", json::Value{std::string(card.name)});
    if (card.count != 1) set_member(document, "gpu.count", json::Value{card.count});
  }
  if (vram_->count() > 0) {
    const Result<std::string> text = single_value(*vram_, "--vram");
    const std::optional<Bytes> memory = text ? memory_of(*text) : std::nullopt;
    if (!memory) {
      errors.push_back(
          {ErrorCode::UsageBadValue,
           "--vram",
           "got \"" + vram_->results().back() + "\", expected GiB such as 24 or 23.5, or 24564MiB",
           "a card sold with 24 GB has about 24 GiB; nvidia-smi shows its MiB"});
      return;
    }
    set_member(document, "gpu", json::Value{json::Object{}});
    set_member(document, "gpu.name", json::Value{std::string("custom")});
    set_member(document, "gpu.total_bytes", json::Value{memory->count()});
  }
}

void SetupOptions::apply_keys(json::Value& document, Errors& errors) const {
  for (const Row& row : rows_) {
    if (row.option->count() == 0) continue;
    const Result<std::string> text = single_value(*row.option, row.names.main);
    if (!text) {
      errors.push_back(text.error().front());
      continue;
    }
    Result<json::Value> value = value_of(*row.key, row.names.main, *text);
    if (value) {
      set_member(document, row.key->name, std::move(*value));
    } else {
      errors.push_back(value.error().front());
    }
  }
}

// First what is affirmed, then what is denied, so that "--bf16 --fp16 false" says bf16.
void SetupOptions::apply_shorthands(json::Value& document, Errors& errors) const {
  std::vector<const Shorthand*> affirmed;
  std::vector<const Shorthand*> denied;
  for (const Shorthand& shorthand : shorthands_) {
    if (shorthand.option->count() == 0) continue;
    const Result<std::string> word = single_value(*shorthand.option, shorthand.name);
    if (!word) {
      errors.push_back(word.error().front());
    } else {
      (*word == "true" ? affirmed : denied).push_back(&shorthand);
    }
  }
  for (std::size_t i = 0; i < affirmed.size(); ++i) {
    const auto other = std::find_if(affirmed.begin(), affirmed.end(), [&](const Shorthand* before) {
      return before->key == affirmed[i]->key;
    });
    if (*other != affirmed[i]) {
      errors.push_back(both_given(affirmed[i]->name, (*other)->name));
    } else {
      affirm(*affirmed[i], document, errors);
    }
  }
  for (const Shorthand* shorthand : denied) deny(*shorthand, document, errors);
}

void SetupOptions::affirm(const Shorthand& shorthand, json::Value& document, Errors& errors) const {
  const std::string given = given_word(shorthand.key);
  if (!given.empty() && given != shorthand.value) {
    errors.push_back(
        both_given(shorthand.name, option_at("/" + std::string(shorthand.key)) + " " + given));
  }
  set_member(document, shorthand.key, json::Value{std::string(shorthand.value)});
}

// A key that may be null loses the denied value, also where that is only the default. Another has
// no value to fall back to.
void SetupOptions::deny(const Shorthand& shorthand, json::Value& document, Errors& errors) const {
  if (resolved_word(document, shorthand.key) != shorthand.value) return;
  const std::string given = given_word(shorthand.key);
  const std::string option = option_at("/" + std::string(shorthand.key));
  if (!given.empty()) {
    errors.push_back(both_given(shorthand.name + " false", option + " " + given));
  } else if (shorthand.denial_is_null) {
    set_member(document, shorthand.key, json::Value{json::Null{}});
  } else {
    errors.push_back({ErrorCode::UsageConflict,
                      shorthand.name,
                      "got false where the " + std::string(shorthand.key) + " is " +
                          std::string(shorthand.value),
                      "give another with " + option});
  }
}

// The word given with the key's own option; empty without it.
std::string SetupOptions::given_word(std::string_view key) const {
  const Row* row = row_at("/" + std::string(key));
  return row == nullptr || row->option->count() == 0 ? "" : row->option->results().back();
}

const SetupOptions::Row* SetupOptions::row_at(std::string_view pointer) const {
  for (const Row& row : rows_) {
    if (is_at(pointer, row.key->name)) return &row;
  }
  return nullptr;
}

std::string SetupOptions::card_name() const {
  return gpu_->count() > 0 ? gpu_->results().back() : "";
}

std::string SetupOptions::given_option_at(std::string_view pointer) const {
  const Row* row = row_at(pointer);
  if (row != nullptr && row->option->count() > 0) return row->names.main;
  if (is_at(pointer, "gpu")) {
    if (gpu_->count() > 0) return "--gpu";
    if (vram_->count() > 0) return "--vram";
  }
  return {};
}

std::string SetupOptions::option_at(std::string_view pointer) const {
  std::string given = given_option_at(pointer);
  if (!given.empty()) return given;
  const Row* row = row_at(pointer);
  return row == nullptr ? "" : row->names.main;
}

}  // namespace peakline::cli
