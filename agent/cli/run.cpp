#include "cli/run.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/nearest.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "peakline/report.h"

namespace peakline::cli {
namespace {

bool is_help(const std::string& word) {
  return word == "--help" || word == "-h" || word == "help";
}

Error unknown_command(const std::string& word) {
  std::vector<std::string> names;
  for (const Command* command : commands()) names.emplace_back(command->name);
  std::string hint = nearest(word, names);
  if (!hint.empty()) {
    hint = "did you mean peakline " + hint + "?";
  } else if (looks_like_model(word)) {
    hint = "to ask whether it fits: peakline fit " + word;
  } else {
    for (const std::string& name : names)
      hint += (hint.empty() ? "the commands are " : ", ") + name;
  }
  return {ErrorCode::UsageUnknownCommand, word, "there is no such command", hint};
}

const Command* find_command(const std::string& word) {
  for (const Command* command : commands()) {
    if (command->name == word) return command;
  }
  return nullptr;
}

// The nested subcommand that the words lead to, or `app` itself.
const CLI::App& app_named_in(const CLI::App& app, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const auto is_named = [&word](const CLI::App* nested) { return nested->get_name() == word; };
    const std::vector<const CLI::App*> nested = app.get_subcommands(is_named);
    if (!nested.empty()) return *nested.front();
  }
  return app;
}

// Whoever asks for JSON reads mistakes as JSON as well, also those made before options are known.
bool wants_json(const std::vector<std::string>& words) {
  bool wants = false;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string name = canonical_option(words[i].substr(0, equals));
    if (name == "--no-json") wants = false;
    if (name != "--json") continue;
    const bool has_next = equals == std::string::npos && i + 1 < words.size();
    wants = truth_word(equals != std::string::npos ? words[i].substr(equals + 1)
                       : has_next                  ? words[i + 1]
                                                   : "") != "false";
  }
  return wants;
}

ExitCode fail_as_asked(const Errors& errors, const std::vector<std::string>& words) {
  return wants_json(words) ? fail_with_json(errors) : fail(errors);
}

// A word after a switch that is neither true nor false, nor the model: what it was meant for.
std::optional<Error> stray_truth(const CLI::App& app, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size() && words[i] != "--"; ++i) {
    const std::string& next = words[i + 1];
    if (!words[i].starts_with('-') || next.starts_with('-') || looks_like_model(next)) continue;
    const bool is_long = words[i].starts_with("--");
    const CLI::Option* option =
        app.get_option_no_throw(is_long ? canonical_option(words[i]) : words[i]);
    if (option == nullptr || !is_switch(*option) || !truth_word(next).empty()) continue;
    return Error{ErrorCode::UsageBadValue,
                 words[i],
                 "got \"" + next + "\", expected true or false",
                 "alone it means true; see --help"};
  }
  return std::nullopt;
}

// CLI11 explains itself in its own words; only what canonical_arguments cannot see reaches it.
Error usage_error(const CLI::App& app,
                  const CLI::ParseError& error,
                  const std::vector<std::string>& words) {
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    return {ErrorCode::UsageMissing,
            "",
            std::string(error.what()) + ", but was not given",
            "see --help"};
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    if (const std::optional<Error> stray = stray_truth(app_named_in(app, words), words))
      return *stray;
    std::string extra;
    for (const std::string& word : app.remaining(true)) extra += " " + word;
    return {ErrorCode::UsageConflict, "", "got more words than expected:" + extra, "see --help"};
  }
  return {ErrorCode::UsageBadValue, "", error.what(), "see --help"};
}

ExitCode run_command(const Command& command, const std::vector<std::string>& words) {
  CLI::App app{std::string(command.summary), std::string(command.name)};
  const std::function<ExitCode()> action = command.attach(app);
  Errors errors;
  std::vector<std::string> canonical = canonical_arguments(app, words, errors);
  for (const std::string& word : canonical) {
    const bool all = word == "--help-all";
    if (word != "--help" && word != "-h" && !all) continue;
    const std::string text =
        command_help(app_named_in(app, canonical), terminal_of(Stream::Out), all);
    return print(text) ? ExitCode::Fits : ExitCode::OurFault;
  }
  if (!errors.empty()) return fail_as_asked(errors, words);
  try {
    app.parse(std::vector<std::string>(canonical.rbegin(), canonical.rend()));
  } catch (const CLI::ParseError& error) {
    return fail_as_asked({usage_error(app, error, words)}, words);
  }
  return action();
}

}  // namespace

ExitCode run(const std::vector<std::string>& words) {
  const Terminal terminal = terminal_of(Stream::Out);
  if (words.empty()) {
    print(overview(terminal));
    return ExitCode::Usage;
  }
  const std::string& first = words[0];
  if (first == "--version" || first == "-V") {
    return print("peakline " + std::string(kCoreVersion) + "\n") ? ExitCode::Fits
                                                                 : ExitCode::OurFault;
  }
  if (is_help(first)) {
    const Command* about = words.size() > 1 ? find_command(words[1]) : nullptr;
    if (about != nullptr) return run_command(*about, {"--help"});
    return print(overview(terminal)) ? ExitCode::Fits : ExitCode::OurFault;
  }
  const Command* command = find_command(first);
  if (command == nullptr) return fail_as_asked({unknown_command(first)}, words);
  return run_command(*command, {words.begin() + 1, words.end()});
}

}  // namespace peakline::cli
