// One option per setup key, the card, and a setup file: together the setup document the core reads.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_names.h"
#include "peakline/json.h"
#include "peakline/result.h"
#include "peakline/train_setup.h"

namespace peakline::cli {

class SetupOptions {
 public:
  // Adds the options; `app` must outlive this object's use.
  void attach(CLI::App& app);

  // What the options say, over `base`, an object. Mistakes are added to `errors` and change
  // nothing.
  [[nodiscard]] json::Value over(json::Value base, Errors& errors) const;

  // The word given with --gpu; empty without one.
  [[nodiscard]] std::string card_name() const;

  // The option a mistake at "/lora/r" belongs to ("--rank"), if it was given; else empty.
  [[nodiscard]] std::string given_option_at(std::string_view pointer) const;
  // The same for any key, given or not.
  [[nodiscard]] std::string option_at(std::string_view pointer) const;

 private:
  struct Row {
    const SetupKey* key = nullptr;
    const CLI::Option* option = nullptr;
    OptionNames names;
  };
  // Another program's switch that stands for one value of a key: --bf16.
  struct Shorthand {
    const CLI::Option* option = nullptr;
    std::string name;
    std::string_view key;
    std::string_view value;
    bool denial_is_null = false;  // --bf16 false: no autocast, where that is what would be
  };

  void attach_card(CLI::App& app);
  void attach_keys(CLI::App& app);
  void attach_shorthands(CLI::App& app);
  void apply_card(json::Value& document, Errors& errors) const;
  void apply_keys(json::Value& document, Errors& errors) const;
  void apply_shorthands(json::Value& document, Errors& errors) const;
  void affirm(const Shorthand& shorthand, json::Value& document, Errors& errors) const;
  void deny(const Shorthand& shorthand, json::Value& document, Errors& errors) const;
  [[nodiscard]] std::string given_word(std::string_view key) const;
  [[nodiscard]] const Row* row_at(std::string_view pointer) const;

  std::vector<Row> rows_;
  std::vector<Shorthand> shorthands_;
  const CLI::Option* gpu_ = nullptr;
  const CLI::Option* vram_ = nullptr;
};

}  // namespace peakline::cli
