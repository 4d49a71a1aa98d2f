// peakline fit: does this run fit this card?
#include <memory>
#include <string>
#include <utility>

#include "cli/command.h"
#include "cli/error_text.h"
#include "cli/file.h"
#include "cli/help.h"
#include "cli/model_source.h"
#include "cli/output.h"
#include "cli/report_text.h"
#include "cli/setup_options.h"
#include "cli/terminal.h"
#include "peakline/estimate.h"

namespace peakline::cli {
namespace {

constexpr const char* kDescription =
    "Says whether a fine-tuning run fits a card, how much it needs, and what is alive at the peak.";

constexpr const char* kExamples =
    "# Examples\n"
    "  peakline fit config.json --gpu \"RTX 3060 12GB\" --method qlora --length 1024\n"
    "  peakline fit org/name --gpu \"A100 80GB\" --method full --batch 4 --ckpt\n"
    "  peakline fit ./my-model --vram 23.6 --setup setup.json --json\n"
    "\n"
    "Names are taken with dashes or underscores, and the names of other programs are understood:\n"
    "  --per_device_train_batch_size 4, --max_seq_length 2048, --bf16, --load_in_4bit\n"
    "A switch stands alone, takes true or false, or is denied: --ckpt, --ckpt false, --no-ckpt. "
    "An option wins over the --setup file.\n"
    "\n"
    "# Environment\n"
    "  HF_ENDPOINT  another hub; HF_TOKEN  for gated models, sent to that hub alone;\n"
    "  HF_HUB_OFFLINE  ask no hub; NO_COLOR  no colours\n"
    "\n";

struct FitOptions {
  std::string model;
  std::string revision;
  std::string setup_file;
  bool json = false;
  SetupOptions setup;
};

ExitCode fail_fit(const FitOptions& options, const Errors& errors) {
  return options.json ? fail_with_json(errors) : fail(errors);
}

Result<json::Value> read_setup_file(const std::string& path) {
  if (path.empty()) return json::Value{json::Object{}};
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  Result<json::Value> document = json::parse(*text);
  if (!document) {
    for (Error& error : document.error())
      error.where = path + (error.where.empty() ? "" : ": ") + error.where;
    return document;
  }
  if (document->as_object() == nullptr) {
    return Error{ErrorCode::JsonNotAnObject,
                 path,
                 "got " + document->describe() + ", expected an object of settings",
                 "write {\"method\": \"qlora\"}"};
  }
  return document;
}

std::string unknown_card_hint(const std::string& name) {
  const std::string_view near = nearest_gpu(name);
  const std::string other = "for a card that is not listed give its memory: --vram GiB";
  return near.empty() ? other : "did you mean \"" + std::string(near) + "\"? Or, " + other;
}

// The core names a place in the setup; a person knows the option or the file it came from.
void name_places(Errors& errors, const FitOptions& options, const std::string& model) {
  constexpr std::string_view kConfig = "config:";
  for (Error& error : errors) {
    if (error.where.starts_with(kConfig)) {
      const std::string rest = error.where.substr(kConfig.size());
      error.where = model + (rest.starts_with(' ') ? ":" : ": ") + rest;
    } else if (error.where.starts_with('/')) {
      const bool from_options = options.setup_file.empty();
      const std::string option = from_options ? options.setup.option_at(error.where)
                                              : options.setup.given_option_at(error.where);
      if (!option.empty()) {
        error.where = option;
        if (error.code == ErrorCode::SetupUnknownGpu)
          error.hint = unknown_card_hint(options.setup.card_name());
      } else if (!from_options) {
        error.where = options.setup_file + ": " + error.where;
      }
    }
  }
}

ExitCode fail_estimate(const FitOptions& options, const ModelSource& model, const Errors& errors) {
  if (options.json) print(errors_json(errors) + "\n");
  Errors named = errors;
  name_places(named, options, model.name);
  const ExitCode code = fail(named);
  for (const Error& error : errors) {
    const std::string lines =
        error.where.starts_with("config:") ? excerpt(model.config, error.where) : "";
    if (lines.empty()) continue;
    std::fputs(lines.c_str(), stderr);
    break;
  }
  return code;
}

// Mistakes of options and file, with those the core would find in what is left of them.
Result<std::string> setup_document(const FitOptions& options) {
  Result<json::Value> base = read_setup_file(options.setup_file);
  Errors errors;
  if (!base) errors = base.error();
  Result<json::Value> document =
      options.setup.over(base ? std::move(*base) : json::Value{json::Object{}});
  if (!document) errors.insert(errors.end(), document.error().begin(), document.error().end());
  if (!errors.empty()) return errors;
  std::string text = json::dump(*document);
  Result<TrainSetup> checked = parse_train_setup(text);
  if (checked) return text;
  name_places(checked.error(), options, "");
  return checked.error();
}

ExitCode fit(const FitOptions& options) {
  if (options.model == "-" && options.setup_file == "-") {
    return fail_fit(options,
                    {{ErrorCode::UsageConflict,
                      "--setup",
                      "got - for the model as well, expected one reader of standard input",
                      "give one of them as a file"}});
  }
  const Result<std::string> setup = setup_document(options);
  if (!setup) return fail_fit(options, setup.error());
  const Result<ModelSource> model = read_model(options.model, options.revision);
  if (!model) return fail_fit(options, model.error());
  const Result<Report> report = estimate(model->config, *setup);
  if (!report) return fail_estimate(options, *model, report.error());
  const std::string text = options.json
                               ? to_json(*report) + "\n"
                               : report_text(*report, model->name, terminal_of(Stream::Out));
  return print(text) ? exit_code_of(report->verdict.answer) : ExitCode::OurFault;
}

std::function<ExitCode()> attach(CLI::App& app) {
  auto options = std::make_shared<FitOptions>();
  app.description(kDescription);
  app.footer(kExamples + exit_code_help());
  app.add_option(
         "MODEL",
         options->model,
         "A config.json, a folder that holds one, - for standard input, a hub id (org/name or "
         "org/name@revision) or any address of the model on the hub.")
      ->required()
      ->group("The model");
  app.add_option(
         "--revision", options->revision, "Branch, tag or commit of a hub model; main otherwise.")
      ->option_text("--revision WORD")
      ->group("The model");
  app.add_option(
         "-s,--setup", options->setup_file, "A JSON file of settings, as in a report's \"setup\".")
      ->option_text("-s, --setup FILE")
      ->group("Input and output");
  add_switch(app, "--json", options->json, "Print the whole report as JSON.")
      ->group("Input and output");
  options->setup.attach(app);
  app.set_help_all_flag("--help-all", "Every option.")->group("");
  return [options] { return fit(*options); };
}

}  // namespace

const Command kFitCommand = {"fit", "Does a fine-tuning run fit a card?", attach};

}  // namespace peakline::cli
