// peakline timeline: the simulated step as an event list, and the first event in which two of them
// differ.
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/question.h"
#include "peakline/estimate.h"
#include "peakline/rules.h"
#include "timeline/diff.h"
#include "timeline/timeline.h"

namespace peakline::cli {
namespace {

constexpr const char* kDescription =
    "Writes loading and two training steps as a list of allocations and frees, or compares two "
    "such lists.";

constexpr const char* kExamples =
    "# Examples\n"
    "  peakline timeline config.json --method lora --length 1024 --output step.json.gz\n"
    "  peakline timeline diff recorded.json.gz step.json.gz\n"
    "\n"
    "diff exits 0 where every event agrees and 1 where one differs. Allocations above 4 KiB are "
    "compared in\n"
    "order by size, shape, type and operation, frees between two allocations as sets, smaller "
    "tensors by\n"
    "the bytes of them that live.\n";

struct TimelineOptions {
  Question question;
  std::string output;
  std::string first;
  std::string second;
};

ExitCode write(TimelineOptions& options) {
  const Result<Asked> asked = options.question.read();
  if (!asked) return fail(asked.error(), options.question.excerpt());
  const Result<ModelConfig> config = parse_model_config(asked->model.config);
  if (!config) return fail(options.question.named(config.error(), asked->model));
  const Result<Architecture> architecture = build_architecture(*config);
  if (!architecture) return fail(options.question.named(architecture.error(), asked->model));
  const Result<TrainSetup> setup = parse_train_setup(asked->setup);
  if (!setup) return fail(options.question.named(setup.error(), asked->model));
  const Result<Events> events = simulate(*architecture, *setup);
  if (!events) return fail(options.question.named(events.error(), asked->model));
  const timeline::Timeline timeline = timeline::from_events(*events);
  if (options.output.empty()) {
    return print(timeline::to_json(timeline) + "\n") ? ExitCode::Fits : ExitCode::OurFault;
  }
  const Result<bool> written = timeline::write_timeline(timeline, options.output);
  if (!written) return fail(written.error());
  return print(std::to_string(timeline.events.size()) + " events of " +
               std::to_string(timeline.tensors.size()) + " tensors written to " + options.output +
               "\n")
             ? ExitCode::Fits
             : ExitCode::OurFault;
}

std::string rules_text(const std::string& difference) {
  std::string text;
  for (const Rule& rule : rules()) {
    if (difference.find("by " + std::string(rule.id)) == std::string::npos) continue;
    text += std::string(rule.id) + ": " + std::string(rule.sentence) + "\n      " +
            std::string(rule.source) + ", " + std::string(rule.versions) + "\n";
  }
  return text;
}

ExitCode compare_files(const TimelineOptions& options) {
  const Result<timeline::Timeline> first = timeline::read_timeline(options.first);
  const Result<timeline::Timeline> second = timeline::read_timeline(options.second);
  Errors errors;
  if (!first) errors.insert(errors.end(), first.error().begin(), first.error().end());
  if (!second) errors.insert(errors.end(), second.error().begin(), second.error().end());
  if (!errors.empty()) return fail(errors);
  const timeline::Comparison comparison = timeline::compare(*first, *second);
  if (!comparison.first) {
    return print("Event-equal: all " + std::to_string(comparison.compared_events) +
                 " events above 4 KiB agree.\n")
               ? ExitCode::Fits
               : ExitCode::OurFault;
  }
  const timeline::Difference& difference = *comparison.first;
  const std::string text = std::to_string(comparison.compared_events) +
                           " events agree; then, in phase " + difference.phase + " (event " +
                           std::to_string(difference.event_a) + " of A, " +
                           std::to_string(difference.event_b) + " of B), " + difference.what +
                           "\n\n" + difference.context + rules_text(difference.what);
  return print(text) ? ExitCode::DoesNotFit : ExitCode::OurFault;
}

std::function<ExitCode()> attach(CLI::App& app) {
  auto options = std::make_shared<TimelineOptions>();
  app.description(kDescription);
  app.footer(kExamples);
  options->question.attach(app);
  app.add_option("-o,--output",
                 options->output,
                 "File to write; gzipped where it ends in .gz. Default: to the terminal.")
      ->group("Output");
  CLI::App* diff =
      app.add_subcommand("diff", "Names the first event in which two timelines differ.");
  diff->add_option("A", options->first, "A timeline, JSON or gzipped.")->required();
  diff->add_option("B", options->second, "Another.")->required();
  // Asked for where there is no diff; the parser cannot know.
  CLI::Option* model = app.get_option("MODEL")->required(false);
  return [options, diff, model] {
    if (diff->parsed()) return compare_files(*options);
    if (model->count() > 0) return write(*options);
    return fail({{ErrorCode::UsageMissing,
                  "MODEL",
                  "got no model, expected a config.json, a folder or a hub id",
                  "see peakline timeline --help"}});
  };
}

}  // namespace

const Command kTimelineCommand = {"timeline", "The step as a list of events; diff of two", attach};

}  // namespace peakline::cli
