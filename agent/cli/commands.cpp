#include "cli/command.h"

namespace peakline::cli {
namespace {

// CLI11 keeps a type name for --help, which here tells switches from options with a value.
constexpr const char* kSwitchType = "SWITCH";
constexpr const char* kOptionalType = "OPTIONAL";

}  // namespace

const std::vector<const Command*>& commands() {
  static const std::vector<const Command*> all = {&kFitCommand, &kServeCommand, &kTimelineCommand};
  return all;
}

CLI::Option* add_switch(CLI::App& app,
                        const std::string& names,
                        bool& value,
                        const std::string& meaning) {
  CLI::Option* option = app.add_option(
      names,
      [&value](const CLI::results_t& words) {
        value = words.back() == "true";
        return true;
      },
      meaning);
  make_switch(*option);
  return option;
}

bool is_switch(const CLI::Option& option) {
  return option.get_type_name() == kSwitchType;
}

void make_switch(CLI::Option& option) {
  option.type_name(kSwitchType);
}

CLI::Option* add_optional_word(CLI::App& app,
                               const std::string& names,
                               std::string& value,
                               const std::string& meaning) {
  CLI::Option* option = app.add_option(names, value, meaning);
  option->type_name(kOptionalType);
  return option;
}

bool takes_optional_word(const CLI::Option& option) {
  return option.get_type_name() == kOptionalType;
}

}  // namespace peakline::cli
