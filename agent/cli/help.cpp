#include "cli/help.h"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <vector>

namespace peakline::cli {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kMaxLeft = 26;  // names longer than this stand on a line of their own

std::string heading(std::string_view text, const Terminal& terminal) {
  return terminal.paint(Tone::Strong, text) + "\n";
}

// "  left      right, wrapped under itself"
std::string row(std::string_view left,
                std::string_view right,
                std::size_t column,
                const Terminal& terminal) {
  std::string text = std::string(kIndent, ' ') + std::string(left);
  if (columns_of(text) + 2 > column) {
    text += "\n" + std::string(column, ' ');
  } else {
    text = padded(text, column);
  }
  return text + wrapped(right, terminal.width, column, column) + "\n";
}

std::string left_of(const CLI::Option& option) {
  if (!option.get_option_text().empty()) return option.get_option_text();
  if (option.get_positional()) return option.get_name(true);
  std::string text;
  if (!option.get_snames().empty()) text = "-" + option.get_snames()[0];
  if (!option.get_lnames().empty()) text += (text.empty() ? "--" : ", --") + option.get_lnames()[0];
  return text;
}

std::size_t right_column(const std::vector<const CLI::Option*>& options, const Terminal& terminal) {
  std::size_t left = 0;
  for (const CLI::Option* option : options) {
    const std::size_t columns = columns_of(left_of(*option));
    if (columns <= kMaxLeft) left = std::max(left, columns);
  }
  const std::size_t column = kIndent + left + 2;
  return terminal.width < 60 ? std::min(column, kIndent * 4) : column;
}

std::vector<const CLI::Option*> options_of(const CLI::App& app, const std::string& group) {
  return app.get_options([&](const CLI::Option* option) {
    return option->get_group() == group && option != app.get_help_ptr();
  });
}

std::string option_group(const CLI::App& app,
                         const std::string& group,
                         const std::vector<const CLI::Option*>& options,
                         const Terminal& terminal) {
  if (options.empty()) return {};
  const std::size_t column = right_column(app.get_options(), terminal);
  std::string text = "\n" + heading(group, terminal);
  for (const CLI::Option* option : options) {
    text += row(left_of(*option), option->get_description(), column, terminal);
  }
  return text;
}

// The groups in order of appearance, rare ones under the name of the group they belong to.
std::vector<std::string> headings(const CLI::App& app) {
  std::vector<std::string> names;
  for (std::string group : app.get_groups()) {
    if (group.starts_with(kRareGroup)) group.erase(0, kRareGroup.size());
    if (!group.empty() && std::find(names.begin(), names.end(), group) == names.end())
      names.push_back(group);
  }
  return names;
}

// Prose is joined and wrapped; lines that start with spaces are kept as they are: examples and
// tables. "# " starts a heading.
std::string paragraphs(const std::string& text, const Terminal& terminal) {
  std::istringstream stream(text);
  std::string out;
  std::string prose;
  const auto end_prose = [&] {
    if (!prose.empty()) out += wrapped(prose, terminal.width, 0) + "\n";
    prose.clear();
  };
  for (std::string line; std::getline(stream, line);) {
    const bool is_prose = !line.empty() && !line.starts_with(' ') && !line.starts_with("# ");
    if (is_prose) {
      prose += line + " ";
      continue;
    }
    end_prose();
    out += line.starts_with("# ") ? heading(line.substr(2), terminal) : line + "\n";
  }
  end_prose();
  return out;
}

}  // namespace

std::string overview(const Terminal& terminal) {
  std::string text = paragraphs(
      "Peakline says before the run whether a fine-tuning run fits a GPU, and what is alive at the "
      "peak.\n"
      "\n",
      terminal);
  text += heading("Usage", terminal) + "  peakline COMMAND [options]\n\n" +
          heading("Commands", terminal);
  for (const Command* command : commands())
    text += row(command->name, command->summary, 12, terminal);
  text += "\n" + heading("Try", terminal) +
          "  peakline fit config.json --gpu \"RTX 3060 12GB\" --method qlora --max-length 1024\n"
          "  peakline COMMAND --help\n"
          "  peakline --version\n\n";
  return text + paragraphs(exit_code_help(), terminal);
}

std::string command_help(const CLI::App& app, const Terminal& terminal, bool all) {
  const std::string parent = app.get_parent() == nullptr ? "" : app.get_parent()->get_name() + " ";
  std::string usage = "peakline " + parent + app.get_name();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      const std::string name = option->get_name(true);
      usage += option->get_required() ? " " + name : " [" + name + "]";
    }
  }
  const std::vector<const CLI::App*> nested =
      app.get_subcommands([](const CLI::App*) { return true; });
  if (!nested.empty()) usage += " [COMMAND]";
  std::string text = heading("Usage", terminal) + "  " + usage + " [options]\n\n";
  text += paragraphs(app.get_description(), terminal);
  if (!nested.empty()) {
    text += "\n" + heading("Commands", terminal);
    for (const CLI::App* sub : nested) {
      const std::string description = sub->get_description();
      text += row(sub->get_name(), description.substr(0, description.find('\n')), 12, terminal);
    }
  }
  std::size_t num_left_out = 0;
  for (const std::string& group : headings(app)) {
    const std::string rare = std::string(kRareGroup) + group;
    std::vector<const CLI::Option*> options = options_of(app, group);
    const std::vector<const CLI::Option*> more = options_of(app, rare);
    if (all) options.insert(options.end(), more.begin(), more.end());
    if (!all) num_left_out += more.size();
    text += option_group(app, group, options, terminal);
  }
  if (num_left_out > 0) {
    text += "\n" + std::to_string(num_left_out) + " rarer options: --help-all\n";
  }
  const std::string footer = app.get_footer();
  return footer.empty() ? text : text + "\n" + paragraphs(footer, terminal);
}

std::string exit_code_help() {
  return "# Exit codes\n"
         "  0   it fits, or: done            64  wrong use of the command line\n"
         "  1   it does not fit              65  bad data: config, setup or file\n"
         "  2   too close to call, or the    69  the hub cannot be reached or refuses\n"
         "      model is not modelled yet    70  a fault of peakline itself\n";
}

}  // namespace peakline::cli
