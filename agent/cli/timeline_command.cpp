// peakline timeline: the simulated step as an event list, and the first event in which two of them
// differ.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/question.h"
#include "cli/terminal.h"
#include "peakline/estimate.h"
#include "peakline/json.h"
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
    "  peakline timeline config.json --method lora --max-length 1024 --output step.json.gz\n"
    "  peakline timeline diff recorded.json.gz step.json.gz --json\n"
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
  bool json = false;
};

ExitCode fail_timeline(const TimelineOptions& options,
                       const Errors& errors,
                       std::string_view excerpt = {}) {
  return options.json ? fail_with_json(errors) : fail(errors, excerpt);
}

json::Value count(std::size_t number) {
  return json::Value{static_cast<std::int64_t>(number)};
}

bool print_written(const TimelineOptions& options, const timeline::Timeline& timeline) {
  if (options.json) {
    json::Object out;
    out.emplace_back("schema", count(1));
    out.emplace_back("output", json::Value{options.output});
    out.emplace_back("num_events", count(timeline.events.size()));
    out.emplace_back("num_tensors", count(timeline.tensors.size()));
    return print_json(json::dump({std::move(out)}));
  }
  return print(std::to_string(timeline.events.size()) + " events of " +
               std::to_string(timeline.tensors.size()) + " tensors written to " +
               tame(options.output) + "\n");
}

// Megabytes in one line are of no use on a screen.
Error needs_a_file() {
  return {ErrorCode::UsageMissing,
          "--output",
          "got a terminal to write the list to, expected a file or a pipe",
          "write --output step.json.gz, or redirect it: > step.json"};
}

ExitCode write(TimelineOptions& options) {
  if (options.output.empty() && is_terminal(Stream::Out))
    return fail_timeline(options, {needs_a_file()});
  const Result<Asked> asked = options.question.read();
  if (!asked) return fail_timeline(options, asked.error(), options.question.excerpt());
  const auto refuse = [&](const Errors& errors) {
    return fail_timeline(options, options.question.named(errors, asked->model));
  };
  const Result<ModelConfig> config = parse_model_config(asked->model.config);
  if (!config) return refuse(config.error());
  const Result<Architecture> architecture = build_architecture(*config);
  if (!architecture) return refuse(architecture.error());
  const Result<TrainSetup> setup = parse_train_setup(asked->setup);
  if (!setup) return refuse(setup.error());
  const Result<Events> events = simulate(*architecture, *setup);
  if (!events) return refuse(events.error());
  const timeline::Timeline timeline = timeline::from_events(*events);
  if (options.output.empty()) {
    return print_json(timeline::to_json(timeline)) ? ExitCode::Fits : ExitCode::OurFault;
  }
  const Result<bool> written = timeline::write_timeline(timeline, options.output);
  if (!written) return fail_timeline(options, written.error());
  return print_written(options, timeline) ? ExitCode::Fits : ExitCode::OurFault;
}

// The rules that a difference names.
std::vector<const Rule*> cited_rules(const timeline::Difference& difference) {
  std::vector<const Rule*> cited;
  for (const Rule& rule : rules()) {
    const bool is_cited = difference.what.find("by " + std::string(rule.id)) != std::string::npos;
    if (is_cited) cited.push_back(&rule);
  }
  return cited;
}

std::string comparison_text(const timeline::Comparison& comparison) {
  const std::string agreeing = std::to_string(comparison.compared_events);
  if (!comparison.first) return "Event-equal: all " + agreeing + " events above 4 KiB agree.\n";
  const timeline::Difference& difference = *comparison.first;
  const std::string phase =
      difference.phase.empty() ? "before the first phase" : "in phase " + difference.phase;
  std::string text = agreeing + " events agree; then, " + phase + " (event " +
                     std::to_string(difference.event_a) + " of A, " +
                     std::to_string(difference.event_b) + " of B), " + difference.what + "\n\n" +
                     difference.context;
  for (const Rule* rule : cited_rules(difference)) {
    text += std::string(rule->id) + ": " + std::string(rule->sentence) + "\n      " +
            std::string(rule->source) + ", " + std::string(rule->versions) + "\n";
  }
  return text;
}

std::string comparison_json(const timeline::Comparison& comparison) {
  json::Object out;
  out.emplace_back("schema", count(1));
  out.emplace_back("equal", json::Value{!comparison.first.has_value()});
  out.emplace_back("compared_events", json::Value{comparison.compared_events});
  json::Value difference;
  if (comparison.first) {
    json::Object members;
    members.emplace_back("phase", json::Value{comparison.first->phase});
    members.emplace_back("event_a", json::Value{comparison.first->event_a});
    members.emplace_back("event_b", json::Value{comparison.first->event_b});
    members.emplace_back("what", json::Value{comparison.first->what});
    members.emplace_back("context", json::Value{comparison.first->context});
    json::Array rules;
    for (const Rule* rule : cited_rules(*comparison.first))
      rules.push_back(json::Value{std::string(rule->id)});
    members.emplace_back("rules", json::Value{std::move(rules)});
    difference = json::Value{std::move(members)};
  }
  out.emplace_back("difference", std::move(difference));
  return json::dump({std::move(out)});
}

ExitCode compare_files(const TimelineOptions& options) {
  const Result<timeline::Timeline> first = timeline::read_timeline(options.first);
  const Result<timeline::Timeline> second = timeline::read_timeline(options.second);
  Errors errors;
  if (!first) errors.insert(errors.end(), first.error().begin(), first.error().end());
  if (!second) errors.insert(errors.end(), second.error().begin(), second.error().end());
  if (!errors.empty()) return fail_timeline(options, errors);
  const timeline::Comparison comparison = timeline::compare(*first, *second);
  const bool printed =
      options.json ? print_json(comparison_json(comparison)) : print(comparison_text(comparison));
  if (!printed) return ExitCode::OurFault;
  return comparison.first ? ExitCode::DoesNotFit : ExitCode::Fits;
}

std::function<ExitCode()> attach(CLI::App& app) {
  auto options = std::make_shared<TimelineOptions>();
  app.description(kDescription);
  app.footer(kExamples);
  options->question.attach(app);
  app.add_option("-o,--output",
                 options->output,
                 "File to write; gzipped where it ends in .gz. Default: standard output, where "
                 "that is no terminal.")
      ->group("Output");
  CLI::App* diff =
      app.add_subcommand("diff", "Names the first event in which two timelines differ.");
  diff->add_option("A", options->first, "A timeline, JSON or gzipped.")->required();
  diff->add_option("B", options->second, "Another.")->required();
  constexpr const char* kJsonMeaning = "Say what was found, or what went wrong, as JSON.";
  add_switch(*diff, "--json", options->json, kJsonMeaning);
  add_switch(app, "--json", options->json, kJsonMeaning)->group("Output");
  // Asked for where there is no diff; the parser cannot know.
  CLI::Option* model = app.get_option("MODEL")->required(false);
  return [options, diff, model] {
    if (diff->parsed()) return compare_files(*options);
    if (model->count() > 0) return write(*options);
    return fail_timeline(*options,
                         {{ErrorCode::UsageMissing,
                           "MODEL",
                           "got no model, expected a config.json, a folder or a hub id",
                           "see peakline timeline --help"}});
  };
}

}  // namespace

const Command kTimelineCommand = {"timeline", "The step as a list of events; diff of two", attach};

}  // namespace peakline::cli
