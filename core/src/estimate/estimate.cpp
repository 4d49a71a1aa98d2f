#include "peakline/estimate.h"

#include <algorithm>
#include <string>
#include <utility>

#include "estimate/lora_targets.h"
#include "estimate/streaming.h"
#include "estimate/trainable.h"
#include "peakline/rules.h"
#include "report/analyse.h"
#include "report/limits.h"
#include "report/terms.h"
#include "report/verdict.h"

namespace peakline {

namespace {

void append(Errors& all, Errors more, std::string_view prefix) {
  for (Error& error : more) {
    if (!prefix.empty()) {
      const bool pointer = error.where.starts_with("/");
      error.where = error.where.empty()
                        ? std::string(prefix)
                        : std::string(prefix) + (pointer ? ":" : ": ") + error.where;
    }
    all.push_back(std::move(error));
  }
}

// sdp_utils.cpp (torch 2.13): from compute capability 9.0 on, cuDNN's kernel comes before flash
// attention where the build has one new enough.
bool may_take_cudnn_attention(const TrainSetup& setup) {
  const int major = setup.gpu.compute_capability / 10;
  const bool by_choice = setup.attn_implementation == Attention::LibraryChoice ||
                         setup.attn_implementation == Attention::Sdpa;
  return by_choice && (major == 9 || major == 10);
}

void fill_memory(Report& report, const Events& events) {
  Analysis analysis = analyse(events, report.architecture.vocab_size);
  Memory& memory = report.memory;
  memory.tensor_peak = analysis.peak.bytes;
  memory.static_bytes = analysis.static_bytes;
  memory.peak_phase = analysis.peak_phase;
  memory.peak_op = analysis.peak_op;
  memory.phases = std::move(analysis.phases);
  memory.at_peak = std::move(analysis.at_peak);
  memory.timeline = std::move(analysis.timeline);
  report.has_memory = true;
  report.provenance.push_back(
      {"/memory/tensor_peak_bytes",
       "derived",
       "One training step simulated allocation by allocation, as transformers 5.24, PEFT 0.21 "
       "and torch 2.13 make them; the peak is the second step's."});
  if (may_take_cudnn_attention(report.setup)) {
    report.provenance.push_back(
        {"/setup/attn_implementation",
         "assumed",
         "torch may choose cuDNN's attention on this card; what it needs is taken to be what flash "
         "attention needs, and its workspace is not counted."});
  }
  if (report.setup.quantization.load_in_8bit) {
    report.provenance.push_back(
        {"/setup/quantization/load_in_8bit",
         "assumed",
         "No input has values above bitsandbytes' threshold of 6.0; columns that do are copied and "
         "multiplied in 16 bit, which takes more the more of them there are."});
  }
  for (const SettingRule& applied : rules_of(report.setup)) {
    report.provenance.push_back(
        {std::string(applied.setting),
         "derived",
         std::string(applied.rule->id) + ": " + std::string(applied.rule->sentence)});
  }
  add_beside_the_card(report, events);
  judge(report, events);
}

// The bytes of the weights alone: all that is said of a model whose step is not modelled.
void weights_only(Report& report, const std::string& reason) {
  report.verdict.limits.clear();
  report.verdict.answer = Answer::NotModelled;
  report.verdict.usable = usable_term(report.setup.gpu).low;
  std::string sentence = "Not modelled yet: " + reason + ".";
  if (report.architecture.parameters) {
    const Parameters& parameters = *report.architecture.parameters;
    Bytes weights = size_of(parameters.total, report.setup.dtype);
    if (report.setup.method == Method::Qlora) {
      // Half a byte a packed weight, or one. Statistics, and what is kept in float32, come on top.
      weights = size_of(parameters.total - parameters.linear, report.setup.dtype) +
                scaled(size_of(parameters.linear, DType::UInt8),
                       1,
                       report.setup.quantization.load_in_8bit ? 1 : 2);
    }
    sentence += " Its weights alone take at least " + format_bytes(weights) + ".";
  }
  report.verdict.sentence = sentence;
}

// "DoRA is not modelled yet" after the headline that says so.
std::string without_headline(std::string_view sentence) {
  for (const std::string_view end :
       {".", " yet", " is not modelled", " are not modelled", ": its step"}) {
    if (sentence.ends_with(end)) sentence.remove_suffix(end.size());
  }
  return std::string(sentence);
}

std::string reasons(const Architecture& architecture,
                    const TrainSetup& setup,
                    const Errors& errors) {
  constexpr std::size_t kMaxReasons = 3;
  if (!architecture.dense) return without_headline(architecture.not_modelled);
  if (setup.not_modelled.empty()) return without_headline(errors.front().message);
  std::string text;
  const std::size_t count = setup.not_modelled.size();
  for (std::size_t i = 0; i < count && i < kMaxReasons; ++i)
    text += (text.empty() ? "" : "; ") + without_headline(setup.not_modelled[i]);
  return count > kMaxReasons ? text + "; and " + std::to_string(count - kMaxReasons) + " more"
                             : text;
}

// Scripts load weights in the type the config states unless told otherwise; here a type is assumed.
void note_dtype(Report& report) {
  const std::string& stated = report.architecture.stated_dtype;
  const std::string_view used = name_of(report.setup.dtype);
  const std::vector<ResolvedValue>& origins = report.setup.origins;
  const bool given = std::any_of(origins.begin(), origins.end(), [](const ResolvedValue& value) {
    return value.key == "dtype" && value.origin == Origin::Given;
  });
  if (given || stated.empty() || stated == used) return;
  report.notes.push_back("The config states " + stated + " weights; they are taken as " +
                         std::string(used) + " here: give dtype for another.");
}

// A tie flag that is absent, a class without the head that a causal run adds.
void add_alternative(Report& report, Elements adapters) {
  const Architecture& architecture = report.architecture;
  if (!architecture.alternative || !architecture.parameters) return;
  const Elements base = report.num_parameters - adapters;
  const bool own_class = base == architecture.alternative->total;
  const Elements other =
      own_class ? architecture.parameters->total : architecture.alternative->total;
  const std::string total = std::to_string((other + adapters).count());
  report.alternative = {
      other + adapters,
      own_class ? "As the class that the config names, without a language-model head: " + total +
                      " parameters."
                : "tie_word_embeddings is absent: with one weight for embedding and head, " +
                      total + " parameters."};
}

void explain_model(Report& report) {
  const Architecture& architecture = report.architecture;
  if (architecture.parameters) {
    const bool exact = architecture.parameters->exact;
    report.provenance.push_back({"/model/num_parameters",
                                 exact ? "exact" : "derived",
                                 exact ? "Counted from the shapes that config.json gives."
                                       : "Counted from config.json with the assumptions listed."});
  }
  for (const std::string& sentence : architecture.assumptions) {
    report.provenance.push_back({"/model", "assumed", sentence});
  }
  for (const std::string& note : architecture.notes) report.notes.push_back(note);
  for (const std::string& note : report.setup.notes) report.notes.push_back(note);
  for (const std::string& note : report.setup.not_modelled) report.notes.push_back(note);
  if (report.setup.use_liger_kernel && architecture.dense && !architecture.dense->liger_kernels)
    report.notes.push_back(
        "use_liger_kernel has no effect: Liger has no kernels for this model type.");
  // transformers 5.24, integrations/bitsandbytes.py, replace_with_bnb_linear.
  if (report.setup.method == Method::Qlora && architecture.dense &&
      architecture.dense->written_out_linears)
    report.notes.push_back(
        "Nothing is packed: transformers quantises plain linear layers alone, and this model's are "
        "a class of its own. All of its weights stay as they are loaded.");
  note_dtype(report);
  if (architecture.max_position_embeddings > 0 &&
      report.setup.max_length > architecture.max_position_embeddings) {
    report.notes.push_back("max_length " + std::to_string(report.setup.max_length) +
                           " is longer than the model's " +
                           std::to_string(architecture.max_position_embeddings) + " positions.");
  }
}

}  // namespace

Result<Report> estimate(std::string_view config_json, std::string_view setup_json) {
  Errors errors;
  Result<ModelConfig> config = parse_model_config(config_json);
  Result<Architecture> architecture =
      config ? build_architecture(*config) : Result<Architecture>(std::move(config.error()));
  if (!architecture) append(errors, std::move(architecture.error()), "config");
  Result<TrainSetup> setup = parse_train_setup(setup_json);
  if (!setup) append(errors, std::move(setup.error()), "");
  if (architecture && setup) append(errors, apply_lora_targets(*architecture, *setup), "");
  if (!errors.empty()) return errors;
  Report report;
  report.architecture = std::move(*architecture);
  report.setup = std::move(*setup);
  const ParameterCounts counts = count_parameters(report.architecture, report.setup);
  report.num_parameters = counts.total;
  report.num_trainable_parameters = counts.trainable;
  add_alternative(
      report, report.setup.method == Method::Full ? Elements(0) : report.num_trainable_parameters);
  explain_model(report);
  if (report.setup.placement.streaming && report.setup.not_modelled.empty()) {
    Result<StreamingNeed> need = streaming_need(report.architecture, report.setup);
    if (need) {
      judge_streaming(report, std::move(*need));
      return report;
    }
    if (need.error().front().code == ErrorCode::TooLarge) return need.error();
    weights_only(report, reasons(report.architecture, report.setup, need.error()));
    return report;
  }
  const Result<Events> events = simulate_steady_step(report.architecture, report.setup);
  if (events) {
    fill_memory(report, *events);
    return report;
  }
  if (events.error().front().code == ErrorCode::TooLarge) return events.error();
  weights_only(report, reasons(report.architecture, report.setup, events.error()));
  return report;
}

}  // namespace peakline
