#include "cli/question.h"

#include <utility>
#include <vector>

#include "cli/card_names.h"
#include "cli/error_text.h"
#include "cli/file.h"
#include "cli/report_setup.h"
#include "cli/setup_values.h"
#include "peakline/estimate.h"
#include "peakline/train_setup.h"

namespace peakline::cli {
namespace {

constexpr std::string_view kConfig = "config";  // the whole of it, in an error's place
constexpr std::string_view kConfigPlace = "config:";

void append(Errors& errors, const Errors& more) {
  errors.insert(errors.end(), more.begin(), more.end());
}

bool is_in_config(const Error& error) {
  return error.where == kConfig || error.where.starts_with(kConfigPlace);
}

// The config's own mistakes, beside those already found in the setup.
Errors config_errors(const Asked& asked) {
  Result<Report> report = estimate(asked.model.config, asked.setup);
  Errors errors;
  if (report) return errors;
  for (Error& error : report.error()) {
    if (is_in_config(error)) errors.push_back(std::move(error));
  }
  return errors;
}

}  // namespace

void Question::attach(CLI::App& app) {
  app.add_option(
         "MODEL",
         model_,
         "A config.json, a folder that holds one, - for standard input, a hub id (org/name or "
         "org/name@revision) or any address of the model on the hub.")
      ->required()
      ->group("The model");
  app.add_option("--revision", revision_, "Branch, tag or commit of a hub model; main otherwise.")
      ->option_text("--revision WORD")
      ->group("The model");
  app.add_option("-s,--setup",
                 setup_file_,
                 "A JSON file of settings, or a report: its settings without the defaults.")
      ->option_text("-s, --setup FILE")
      ->group("The model");
  setup_.attach(app);
}

// An object, empty where there is no file or a wrong one.
json::Value Question::setup_file(Errors& errors) {
  json::Value nothing{json::Object{}};
  if (setup_file_.empty()) return nothing;
  if (setup_file_ == "-" && model_ == "-") {
    errors.push_back({ErrorCode::UsageConflict,
                      "--setup",
                      "got - for the model as well, expected one reader of standard input",
                      "give one of them as a file"});
    return nothing;
  }
  const Result<std::string> text = read_file(setup_file_);
  if (!text) {
    append(errors, text.error());
    return nothing;
  }
  Result<json::Value> document = json::parse(*text);
  if (!document) {
    for (Error& error : document.error()) {
      error.where = setup_file_ + (error.where.empty() ? "" : ": ") + error.where;
    }
    append(errors, document.error());
    return nothing;
  }
  if (document->as_object() == nullptr) {
    errors.push_back({ErrorCode::JsonNotAnObject,
                      setup_file_,
                      "got " + document->describe() + ", expected an object of settings",
                      "write {\"method\": \"qlora\"}"});
    return nothing;
  }
  GivenSetup given = given_setup(std::move(*document));
  setup_place_ = setup_file_ + ": " + given.place;
  return std::move(given.document);
}

Result<Asked> Question::read() {
  Errors errors;
  json::Value base = setup_file(errors);
  Asked asked;
  asked.setup = json::dump(setup_.over(std::move(base), errors));
  const Result<TrainSetup> checked = parse_train_setup(asked.setup);
  if (!checked) append(errors, named(checked.error(), {}));
  // A hub is not bothered for a question that has no answer.
  if (!errors.empty() && is_on_hub(model_)) return errors;
  Result<ModelSource> model = model_ == "-" && setup_file_ == "-" ? Result<ModelSource>(Errors{})
                                                                  : read_model(model_, revision_);
  if (!model) {
    append(errors, model.error());
    return errors;
  }
  asked.model = std::move(*model);
  if (errors.empty()) return asked;
  append(errors, named(config_errors(asked), asked.model));
  return errors;
}

// With a setup file a place may be in the file; without one it can only be an option's.
std::string Question::place_in_setup(const std::string& pointer) const {
  std::string given = setup_.given_option_at(pointer);
  if (!given.empty()) return given;
  if (!setup_file_.empty()) return setup_place_ + pointer;
  const std::string option = setup_.option_at(pointer);
  return option.empty() ? pointer : option;
}

Errors Question::named(Errors errors, const ModelSource& model) {
  for (Error& error : errors) {
    if (error.where == kConfig) {
      error.where = model.name;
    } else if (error.where.starts_with(kConfigPlace)) {
      if (excerpt_.empty()) excerpt_ = cli::excerpt(model.config, error.where);
      const std::string rest = error.where.substr(kConfigPlace.size());
      error.where = model.name + (rest.starts_with('/') ? ": " : ":") + rest;
    } else if (error.where.starts_with('/')) {
      error.where = place_in_setup(error.where);
    }
    if (error.where != "--gpu") continue;
    if (error.code == ErrorCode::SetupUnknownGpu)
      error.hint = unknown_card_hint(setup_.card_name());
    if (error.code == ErrorCode::SetupInconsistent)
      error.hint = "give it with --vram GiB instead of --gpu";
  }
  return errors;
}

}  // namespace peakline::cli
