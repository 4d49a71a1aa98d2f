// peakline fit: does this run fit this card?
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/question.h"
#include "cli/report_text.h"
#include "cli/terminal.h"
#include "cli/why_text.h"
#include "peakline/estimate.h"

namespace peakline::cli {
namespace {

constexpr const char* kDescription =
    "Says whether a fine-tuning run fits a card, how much it needs, and what is alive at the peak.";

constexpr const char* kExamples =
    "# Examples\n"
    "  peakline fit config.json --gpu \"RTX 3060 12GB\" --method qlora --max-length 1024\n"
    "  peakline fit org/name --gpu \"A100 80GB\" --method full --batch 4 --ckpt\n"
    "  peakline fit org/name --gpu \"RTX 4090\" --why activations\n"
    "  peakline fit ./my-model --vram 23.6 --setup setup.json --json\n"
    "\n"
    "Names are taken with dashes or underscores, and the names of other programs are understood:\n"
    "  --per_device_train_batch_size 4, --max_seq_length 2048, --bf16, --load_in_4bit\n"
    "A switch stands alone, takes true or false, or is denied: --ckpt, --ckpt false, --no-ckpt. "
    "An option wins over the --setup file.\n"
    "\n"
    "# Environment\n"
    "  HF_ENDPOINT     another hub than huggingface.co\n"
    "  HF_TOKEN        for gated and private models; sent to that hub alone\n"
    "  HF_HUB_OFFLINE  set to 1 to ask no hub\n"
    "  NO_COLOR        set to anything for no colours\n"
    "\n";

// So that nobody has to guess how a card is called.
std::string known_cards() {
  std::string text;
  for (const GpuCard& card : gpu_catalogue())
    text += (text.empty() ? "" : ", ") + std::string(card.name);
  return "# Cards known by name\n" + text + ".\n\n";
}

struct FitOptions {
  Question question;
  bool json = false;
  std::string why;
  bool without_corrections = false;
};

Errors why_beside_json() {
  return {{ErrorCode::UsageConflict,
           "--why",
           "got --json as well",
           "the JSON has every reason already: origins, provenance and the rule of each tensor"}};
}

Result<std::string> text_of(const FitOptions& options, const Report& report, const Asked& asked) {
  const Terminal terminal = terminal_of(Stream::Out);
  if (options.why.empty()) return report_text(report, asked.model.name, terminal);
  return why_text(report, {options.why, !options.without_corrections}, terminal);
}

ExitCode fail_fit(const FitOptions& options, const Errors& errors) {
  return options.json ? fail_with_json(errors) : fail(errors, options.question.excerpt());
}

ExitCode fit(FitOptions& options) {
  if (options.json && !options.why.empty()) return fail_fit(options, why_beside_json());
  const Result<Asked> asked = options.question.read();
  if (!asked) return fail_fit(options, asked.error());
  Result<Report> report = estimate(asked->model.config, asked->setup);
  if (!report) return fail_fit(options, options.question.named(report.error(), asked->model));
  add_advice(*report, asked->model.config, asked->setup);
  if (options.json)
    return print_json(to_json(*report)) ? exit_code_of(report->verdict.answer) : ExitCode::OurFault;
  const Result<std::string> text = text_of(options, *report, *asked);
  if (!text) return fail_fit(options, text.error());
  const bool printed = print(*text);
  return printed ? exit_code_of(report->verdict.answer) : ExitCode::OurFault;
}

std::function<ExitCode()> attach(CLI::App& app) {
  auto options = std::make_shared<FitOptions>();
  app.description(kDescription);
  app.footer(kExamples + known_cards() + exit_code_help());
  options->question.attach(app);
  add_switch(app, "--json", options->json, "Print the whole report as JSON.")->group("Output");
  add_optional_word(app,
                    "--why",
                    options->why,
                    "Explain the answer: alone all of it, or one value: verdict, interval, peak, "
                    "model, setup, rules, a category (activations), a setting (optim), a rule "
                    "(R040).")
      ->option_text("--why [VALUE]")
      ->group("Output");
  add_switch(app,
             "--no-corrections",
             options->without_corrections,
             "Leave out what was measured on this machine. Nothing is measured yet.")
      ->group("Output");
  app.set_help_all_flag("--help-all", "Every option.")->group("");
  return [options] { return fit(*options); };
}

}  // namespace

const Command kFitCommand = {"fit", "Does a fine-tuning run fit a card?", attach};

}  // namespace peakline::cli
