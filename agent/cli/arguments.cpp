#include "cli/arguments.h"

#include <cctype>
#include <cstddef>
#include <filesystem>
#include <map>
#include <system_error>

#include "cli/command.h"
#include "cli/nearest.h"
#include "cli/option_names.h"
#include "hub/reference.h"

namespace peakline::cli {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Walks the words once; `app` moves to a nested subcommand where one is named.
class Canonicalizer {
 public:
  Canonicalizer(const CLI::App& app, const std::vector<std::string>& words, Errors& errors)
      : app_(&app), words_(words), errors_(errors) {}

  std::vector<std::string> run() {
    while (next_ < words_.size()) {
      const std::string& word = words_[next_];
      if (word == "--") break;
      ++next_;
      if (word.starts_with("--")) {
        long_option(word);
      } else if (word.size() > 1 && word[0] == '-') {
        short_option(word);
      } else {
        enter(word);
        out_.push_back(word);
      }
    }
    for (; next_ < words_.size(); ++next_) out_.push_back(words_[next_]);
    return std::move(out_);
  }

 private:
  void enter(const std::string& word) {
    const auto is_named = [&word](const CLI::App* nested) { return nested->get_name() == word; };
    const std::vector<const CLI::App*> nested = app_->get_subcommands(is_named);
    if (!nested.empty()) app_ = nested.front();
  }

  void long_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string typed = word.substr(0, equals);
    const std::string name = canonical_option(typed);
    const CLI::Option* option = app_->get_option_no_throw(name);
    if (option == nullptr && name.starts_with("--no-")) {
      const std::string denied = "--" + name.substr(5);
      const CLI::Option* base = app_->get_option_no_throw(denied);
      if (base != nullptr && is_switch(*base) && equals == std::string::npos) {
        return push(*base, denied, "false");
      }
    }
    if (option == nullptr) return unknown(typed, name);
    if (equals != std::string::npos && equals + 1 == word.size()) {
      missing(typed, "nothing");
    } else if (equals != std::string::npos && is_switch(*option)) {
      take_truth(*option, name, typed, word.substr(equals + 1));
    } else if (equals != std::string::npos) {
      push(*option, name, word.substr(equals + 1));
    } else {
      take_value(*option, name, typed);
    }
  }

  void short_option(const std::string& word) {
    const std::string name = word.substr(0, 2);
    const CLI::Option* option = app_->get_option_no_throw(name);
    if (option == nullptr) return unknown(word, word);
    // "-b4" and "-b=4" say the same.
    const std::size_t value = word.size() > 2 && word[2] == '=' ? 3 : 2;
    if (option->get_items_expected_max() == 0 || word.size() == 2) {
      take_value(*option, name, name);
    } else if (is_switch(*option)) {
      take_truth(*option, name, name, word.substr(value));
    } else {
      push(*option, name, word.substr(value));
    }
  }

  // CLI11 reads "--name=value" whatever the value looks like. An option may be repeated as long as
  // it says the same; those of setup keys are compared later, as values.
  void push(const CLI::Option& option, const std::string& name, const std::string& value) {
    const std::string long_name =
        option.get_lnames().empty() ? name : "--" + option.get_lnames()[0];
    if (option.get_multi_option_policy() == CLI::MultiOptionPolicy::Throw) {
      const auto [first, is_new] = single_.emplace(long_name, value);
      if (!is_new && first->second != value) {
        errors_.push_back(
            {ErrorCode::UsageConflict,
             long_name,
             "got \"" + first->second + "\" and \"" + value + "\", expected one value",
             "give it once"});
      }
      if (!is_new) return;
    }
    out_.push_back(long_name + "=" + value);
  }

  // "--ckpt=false". Null is a value of some keys that are switches.
  void take_truth(const CLI::Option& option,
                  const std::string& name,
                  const std::string& typed,
                  const std::string& value) {
    const std::string_view truth = truth_word(value);
    const bool is_null = value == "null" || value == "None";
    if (truth.empty() && !is_null) {
      errors_.push_back({ErrorCode::UsageBadValue,
                         typed,
                         "got \"" + value + "\", expected true or false",
                         "alone it means true; see --help"});
      return;
    }
    push(option, name, is_null ? value : std::string(truth));
  }

  void take_value(const CLI::Option& option, const std::string& name, const std::string& typed) {
    const bool has_next = next_ < words_.size();
    if (is_switch(option)) {
      const std::string_view truth = has_next ? truth_word(words_[next_]) : std::string_view();
      if (!truth.empty()) ++next_;
      push(option, name, truth.empty() ? "true" : std::string(truth));
    } else if (takes_optional_word(option)) {
      const bool takes = has_next && !words_[next_].empty() && !words_[next_].starts_with('-') &&
                         !looks_like_model(words_[next_]);
      push(option, name, takes ? words_[next_++] : "all");
    } else if (option.get_items_expected_max() == 0) {
      out_.push_back(name);
    } else if (has_next && words_[next_].empty()) {
      ++next_;
      missing(typed, "an empty word");
    } else if (!has_next || is_known_option(words_[next_])) {
      missing(typed, has_next ? "the option " + words_[next_] : "nothing");
    } else {
      push(option, name, words_[next_++]);
    }
  }

  void missing(const std::string& typed, const std::string& got) {
    errors_.push_back({ErrorCode::UsageMissing,
                       typed,
                       "got " + got + ", expected a value",
                       "write " + typed + " VALUE; see --help"});
  }

  [[nodiscard]] bool is_known_option(const std::string& word) const {
    if (!word.starts_with("--")) return false;
    return app_->get_option_no_throw(canonical_option(word.substr(0, word.find('=')))) != nullptr;
  }

  void unknown(const std::string& typed, const std::string& name) {
    const std::string near = nearest(name, option_names(*app_));
    std::string hint = "see --help for all options";
    if (changes_no_memory(name)) {
      hint = "it changes no memory: leave it out";
    } else if (!near.empty()) {
      hint = "did you mean " + near + "?";
    }
    errors_.push_back({ErrorCode::UsageUnknownOption, typed, "there is no such option", hint});
  }

  const CLI::App* app_;
  const std::vector<std::string>& words_;
  Errors& errors_;
  std::size_t next_ = 0;
  std::map<std::string, std::string> single_;  // option -> its one value
  std::vector<std::string> out_;
};

}  // namespace

bool looks_like_model(const std::string& word) {
  std::error_code ignored;
  const bool has_shape =
      word.find('/') != std::string::npos && (hub::is_id(word) || hub::is_address(word));
  return has_shape || word.ends_with(".json") || std::filesystem::exists(word, ignored);
}

std::string canonical_option(std::string_view typed) {
  std::string name = lower(typed);
  for (char& c : name) {
    if (c == '_' || c == '.') c = '-';
  }
  return name;
}

std::string_view truth_word(std::string_view text) {
  const std::string word = lower(text);
  if (word == "true" || word == "on" || word == "yes" || word == "1") return "true";
  if (word == "false" || word == "off" || word == "no" || word == "0") return "false";
  return {};
}

std::vector<std::string> canonical_arguments(const CLI::App& app,
                                             const std::vector<std::string>& words,
                                             Errors& errors) {
  return Canonicalizer(app, words, errors).run();
}

}  // namespace peakline::cli
