#include "cli/why_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "cli/bars.h"
#include "cli/memory_words.h"
#include "cli/nearest.h"
#include "cli/setup_values.h"
#include "cli/setup_words.h"
#include "peakline/json.h"
#include "peakline/rules.h"

namespace peakline::cli {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::string_view kSetupPlace = "/setup/";

std::string lower_dashless(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    out += lower == '-' || lower == ' ' ? '_' : lower;
  }
  return out;
}

// "/setup/lora/r" -> "lora.r"; "" where it is no setting.
std::string key_at(std::string_view pointer) {
  if (!pointer.starts_with(kSetupPlace)) return {};
  std::string key(pointer.substr(kSetupPlace.size()));
  std::replace(key.begin(), key.end(), '/', '.');
  return key;
}

std::string proof_words(const Rule& rule) {
  const bool is_file = rule.test.find('/') != std::string_view::npos;
  return (is_file ? "" : "the recorded timeline ") + std::string(rule.test);
}

// What is no setting, no category and no rule.
struct Topic {
  std::string_view name;
  std::string_view others;  // the report's words for it, between spaces
};
constexpr std::array kTopics = {
    Topic{"verdict", " answer sentence risk margin usable limits host_ram pinned disk "},
    Topic{"interval", " needs process process_peak context workspace reserved allocated "},
    Topic{"peak", " tensors tensor_peak at_peak peak_phase peak_op "},
    Topic{"model", " parameters num_parameters num_trainable_parameters counts alternative "},
    Topic{"setup", " settings origins "},
    Topic{"rules", ""},
    Topic{"streaming", ""},
    Topic{"corrections", ""},
};

class Explainer {
 public:
  Explainer(const Report& report, const WhyQuestion& question, const Terminal& terminal)
      : report_(report), question_(question), terminal_(terminal) {}

  Result<std::string> answer() {
    out_ =
        terminal_.paint(Tone::Strong, wrapped(tame(report_.verdict.sentence), terminal_.width, 0)) +
        "\n";
    const bool all = question_.value == kWhyAll;
    if (!all && !one(wanted())) return unknown();
    if (all) everything();
    return std::move(out_);
  }

 private:
  // "--why tensor_peak_bytes", "--why Logits", "--why /setup/optim" ask by other spellings.
  [[nodiscard]] std::string wanted() const {
    std::string name = question_.value;
    if (const std::string key = key_at(name); !key.empty()) return key;
    name = lower_dashless(name.substr(name.rfind('/') + 1));
    constexpr std::string_view kUnit = "_bytes";
    if (name.ends_with(kUnit)) name.resize(name.size() - kUnit.size());
    return name;
  }

  bool one(const std::string& name) {
    for (const Topic& topic : kTopics) {
      if (name == topic.name || topic.others.find(" " + name + " ") != std::string_view::npos) {
        explain(topic.name);
        return true;
      }
    }
    for (int i = 0; i < kNumCategories; ++i) {
      const auto category = static_cast<Category>(i);
      if (name != name_of(category) && name != lower_dashless(category_words(category))) continue;
      explain_category(category, true);
      return true;
    }
    std::string id = name;
    if (id.starts_with('r')) id[0] = 'R';
    if (const Rule* rule = find_rule(id)) {
      heading(std::string(rule->id));
      explain_rule(*rule, true);
      return true;
    }
    for (const SetupKey& key : setup_keys()) {
      const std::string_view leaf = key.name.substr(key.name.rfind('.') + 1);
      if (name != key.name && name != leaf) continue;
      explain_setting(key);
      return true;
    }
    return false;
  }

  void explain(std::string_view topic) {
    if (topic == "verdict") return explain_verdict();
    if (topic == "interval") return explain_interval();
    if (topic == "peak") return explain_peak();
    if (topic == "model") return explain_model();
    if (topic == "setup") return explain_setup();
    if (topic == "rules") return explain_rules();
    if (topic == "streaming") return explain_streaming();
    explain_corrections();
  }

  void everything() {
    explain_verdict();
    if (report_.has_memory) {
      explain_interval();
      explain_peak();
      for (const PeakCategory& row : report_.memory.at_peak) {
        if (row.bytes * 100 >= report_.memory.tensor_peak) explain_category(row.category, false);
      }
    }
    if (report_.verdict.streaming) explain_streaming();
    explain_model();
    explain_setup();
    explain_rules();
    explain_corrections();
  }

  [[nodiscard]] Error unknown() const {
    std::vector<std::string> names;
    for (const Topic& topic : kTopics) names.emplace_back(topic.name);
    for (int i = 0; i < kNumCategories; ++i) names.emplace_back(name_of(static_cast<Category>(i)));
    for (const SetupKey& key : setup_keys()) {
      names.emplace_back(key.name);
      names.emplace_back(key.name.substr(key.name.rfind('.') + 1));
    }
    for (const Rule& rule : rules()) names.emplace_back(rule.id);
    const std::string near = nearest(question_.value, names);
    return {ErrorCode::UsageBadValue,
            "--why",
            "got \"" + question_.value +
                "\", expected verdict, interval, peak, model, setup, rules, a category such as "
                "activations, a setting such as optim or a rule such as R040",
            near.empty() ? "alone it explains everything" : "did you mean " + near + "?"};
  }

  void line(std::string_view text) { out_ += std::string(kIndent, ' ') + std::string(text) + "\n"; }
  void heading(std::string_view text) {
    out_ += "\n" + terminal_.paint(Tone::Strong, wrapped(tame(text), terminal_.width, 0)) + "\n";
  }
  void prose(std::string_view text) {
    line(wrapped(tame(text), terminal_.width, kIndent, kIndent));
  }
  void item(std::string_view text) {
    line("- " + wrapped(tame(text), terminal_.width, kIndent + 2, kIndent + 2));
  }
  // Under an item, quieter.
  void detail(std::string_view text) {
    line("  " + terminal_.paint(Tone::Quiet,
                                wrapped(tame(text), terminal_.width, kIndent + 2, kIndent + 2)));
  }

  // What the report says of a place, each with its kind.
  int provenance(std::string_view value) {
    int num = 0;
    for (const Provenance& row : report_.provenance) {
      if (row.value != value) continue;
      item(row.sentence + " (" + row.kind + ")");
      ++num;
    }
    return num;
  }

  void term(std::string_view name) {
    for (const Provenance& row : report_.provenance) {
      if (row.value == name) item(row.value + ", " + row.sentence + " (" + row.kind + ")");
    }
  }

  void explain_verdict() {
    heading("The verdict: " + std::string(name_of(report_.verdict.answer)));
    if (report_.verdict.answer == Answer::NotModelled) {
      prose("The step of this run has no rules here yet, so no peak is guessed.");
      return;
    }
    if (report_.has_memory) {
      prose(
          "The step's allocations are replayed through PyTorch's caching allocator under the "
          "card's limit. It fits where they pass with every uncertain term at its high end, does "
          "not fit where they fail with every one at its low end, and is too close to call in "
          "between.");
    }
    const std::string usable = format_bytes(report_.verdict.usable);
    prose("Risk " + std::string(name_of(report_.verdict.risk)) + ": the high end is " +
          (report_.verdict.risk == Risk::Low      ? "at most 90 % of the "
           : report_.verdict.risk == Risk::Medium ? "above 90 % of the "
                                                  : "above the ") +
          usable + " that the card can use: " +
          (report_.verdict.margin < Bytes(0)
               ? format_bytes(Bytes(0) - report_.verdict.margin) + " short."
               : format_bytes(report_.verdict.margin) + " to spare."));
    term("usable memory");
    for (const Limit& limit : report_.verdict.limits) {
      if (limit.resource == Resource::Gpu) continue;
      item(limit.sentence + ": " +
           (limit.answer ? std::string(name_of(*limit.answer)) : "nobody said how much there is"));
    }
    for (const char* place : {"/memory/host_bytes", "/memory/pinned_bytes", "/memory/disk_bytes"})
      provenance(place);
  }

  void explain_interval() {
    if (!report_.has_memory) return nothing_simulated();
    const Memory& memory = report_.memory;
    heading("The interval: " + format_bytes(memory.interval.low) + " to " +
            format_bytes(memory.interval.high) + " for the whole process");
    prose(format_bytes(memory.tensor_peak) +
          " of tensors live at once; with the allocator's "
          "rounding that is " +
          format_bytes(memory.allocated_peak) + " allocated, and its segments hold " +
          format_bytes(memory.reserved_peak) +
          ". Those are computed. What follows is not, and makes the ends:");
    for (const char* name :
         {"CUDA context and modules", "cuBLAS workspaces", "allocator history against the replay"})
      term(name);
    prose("Nine runs of ten are meant to end between both.");
    if (!memory.saving_sentence.empty()) prose(memory.saving_sentence + ".");
  }

  void explain_peak() {
    if (!report_.has_memory) return nothing_simulated();
    const Memory& memory = report_.memory;
    heading("The peak: " + format_bytes(memory.tensor_peak) + " in " +
            phase_words(memory.peak_phase));
    prose("It is reached when " + memory.peak_op +
          " allocates its result. Nothing is added that does not live at that moment: the groups "
          "below sum to it.");
    provenance("/memory/tensor_peak_bytes");
  }

  void nothing_simulated() {
    heading("No peak");
    prose("No step of a resident run was simulated: " + report_.verdict.sentence);
  }

  void explain_category(Category category, bool with_rules) {
    if (!report_.has_memory) return nothing_simulated();
    const Memory& memory = report_.memory;
    const auto row = std::find_if(
        memory.at_peak.begin(), memory.at_peak.end(), [category](const PeakCategory& it) {
          return it.category == category;
        });
    const std::string words = category_words(category);
    if (row == memory.at_peak.end()) {
      heading(words + ": nothing");
      prose("None of them live when the peak is reached.");
      return;
    }
    heading(words + ": " + format_bytes(row->bytes) + ", " +
            percent(row->bytes, memory.tensor_peak) + " of the peak");
    std::vector<const Rule*> cited;
    Bytes shown;
    for (const PeakTensor& tensor : row->tensors) {
      shown += tensor.bytes;
      const Rule* rule = find_rule(tensor.rule);
      item(format_bytes(tensor.bytes) + "  " + tensor.name + "  " + tensor_shape(tensor) +
           (rule == nullptr ? "" : ", " + std::string(rule->id)));
      if (rule != nullptr && std::find(cited.begin(), cited.end(), rule) == cited.end())
        cited.push_back(rule);
    }
    if (shown < row->bytes) item(format_bytes(row->bytes - shown) + "  in smaller ones");
    for (const Rule* rule : with_rules ? cited : std::vector<const Rule*>{})
      explain_rule(*rule, false);
  }

  void explain_rule(const Rule& rule, bool alone) {
    prose((alone ? "" : std::string(rule.id) + ": ") + std::string(rule.sentence));
    detail("read in " + std::string(rule.source) + ", " + std::string(rule.versions) +
           "; proved by " + proof_words(rule));
    if (!alone) return;
    int num = 0;
    for (const PeakCategory& row : report_.memory.at_peak) {
      for (const PeakTensor& tensor : row.tensors) {
        if (tensor.rule != rule.id) continue;
        item(format_bytes(tensor.bytes) + "  " + tensor.name + ", " + category_words(row.category));
        ++num;
      }
    }
    for (const SettingRule& applied : rules_of(report_.setup)) {
      if (applied.rule->id != rule.id) continue;
      item("brought about by " + key_at(applied.setting));
      ++num;
    }
    if (num == 0) prose("It moves none of the largest tensors of this run's peak.");
  }

  // Those behind the largest tensors and those that a setting brings about.
  void explain_rules() {
    std::vector<const Rule*> applied;
    for (const Rule& rule : rules()) {
      const auto is_cited = [&rule](const PeakTensor& tensor) { return tensor.rule == rule.id; };
      bool cited =
          std::any_of(report_.memory.at_peak.begin(),
                      report_.memory.at_peak.end(),
                      [&](const PeakCategory& row) {
                        return std::any_of(row.tensors.begin(), row.tensors.end(), is_cited);
                      });
      for (const SettingRule& of_setting : rules_of(report_.setup))
        cited = cited || of_setting.rule->id == rule.id;
      if (cited) applied.push_back(&rule);
    }
    heading("The rules at work: " + std::to_string(applied.size()) + " of " +
            std::to_string(rules().size()));
    for (const Rule* rule : applied) explain_rule(*rule, false);
  }

  void explain_model() {
    heading("The model: " + report_.architecture.model_type);
    if (report_.num_parameters > Elements(0))
      prose(std::to_string(report_.num_parameters.count()) + " parameters, adapters included; " +
            std::to_string(report_.num_trainable_parameters.count()) + " are trained.");
    provenance("/model/num_parameters");
    provenance("/model");
    if (report_.alternative) item("The other reading. " + report_.alternative->sentence);
  }

  [[nodiscard]] std::string value_words(std::string_view key) const {
    const json::Value* value = value_at(report_.setup.document, key);
    if (value == nullptr) return "?";
    return value->as_string() != nullptr ? *value->as_string() : json::dump(*value);
  }

  [[nodiscard]] std::string origin_words(std::string_view key) const {
    for (const ResolvedValue& value : report_.setup.origins) {
      if (value.key != key) continue;
      switch (value.origin) {
        case Origin::Given:
          return "given";
        case Origin::TrainerDefault:
          return "the default of " + value_words("trainer");
        case Origin::Card:
          return "because of the card, " + card_words(report_.setup.gpu);
        case Origin::Derived:
          return "not given: assumed, or follows from what was";
      }
    }
    return "not set";
  }

  void explain_setting(const SetupKey& key) {
    heading(std::string(key.name) + ": " + value_words(key.name));
    prose(std::string(key.meaning));
    item("Where it comes from: " + origin_words(key.name) + ".");
    if (!key.choices.empty()) item("What it may be: " + std::string(key.choices) + ".");
    std::string place = std::string(kSetupPlace) + std::string(key.name);
    std::replace(
        place.begin() + static_cast<std::ptrdiff_t>(kSetupPlace.size()), place.end(), '.', '/');
    bool ruled = false;
    for (const SettingRule& applied : rules_of(report_.setup)) {
      if (applied.setting != place) continue;
      explain_rule(*applied.rule, false);
      ruled = true;
    }
    if (!ruled) provenance(place);
  }

  void explain_setup() {
    heading("The setup: where its values come from");
    const std::vector<std::string> sentences = default_words(report_.setup);
    std::string given;
    for (const ResolvedValue& value : report_.setup.origins) {
      if (value.origin != Origin::Given) continue;
      given += (given.empty() ? "" : ", ") + value.key + " " + value_words(value.key);
    }
    if (!given.empty()) item("Given: " + given);
    for (const std::string& sentence : sentences) item(sentence);
    for (const std::string& note : report_.notes) item(note);
  }

  void explain_streaming() {
    heading("Streaming");
    if (!report_.verdict.streaming) {
      prose(
          "Not needed: it is looked at where even the smallest resident run does not fit, or "
          "with --placement-kind streaming.");
      return;
    }
    prose(report_.verdict.streaming->sentence);
    for (const char* what : {"gpu", "host", "disk"})
      provenance("/verdict/streaming/" + std::string(what) + "_bytes");
  }

  void explain_corrections() {
    heading("Corrections");
    prose(question_.corrections
              ? "None: no measurement of this machine is known, so no number was corrected."
              : "None, as asked with --no-corrections. There was nothing to correct either: no "
                "measurement of this machine is known.");
  }

  const Report& report_;
  const WhyQuestion& question_;
  const Terminal& terminal_;
  std::string out_;
};

}  // namespace

Result<std::string> why_text(const Report& report,
                             const WhyQuestion& question,
                             const Terminal& terminal) {
  return Explainer(report, question, terminal).answer();
}

}  // namespace peakline::cli
