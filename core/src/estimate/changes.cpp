// The cheapest changes that make a run smaller. Nothing is guessed: every one is simulated.
#include <algorithm>
#include <string>
#include <utility>

#include "estimate/patch.h"
#include "estimate/streaming.h"
#include "peakline/estimate.h"
#include "peakline/small_sort.h"
#include "report/verdict.h"

namespace peakline {

namespace {

using json::Object;
using json::Value;

struct Candidate {
  Value patch;
  Cost cost = Cost::None;
  std::string what;
};

Value object(std::string_view key, Value value) {
  Object members;
  members.emplace_back(key, std::move(value));
  return {std::move(members)};
}
Value yes() {
  return Value{true};
}
Value word(std::string_view text) {
  return Value{std::string(text)};
}

// What leaves the model as it learns: other kernels and another way to hold memory.
void add_free(const Report& asked, std::vector<Candidate>& all) {
  const TrainSetup& setup = asked.setup;
  if (setup.attn_implementation == Attention::Eager) {
    all.push_back({object("attn_implementation", word("sdpa")), Cost::None, "sdpa attention"});
  }
  const bool has_liger = asked.architecture.dense && asked.architecture.dense->liger_kernels;
  if (!setup.use_liger_kernel && has_liger)
    all.push_back({object("use_liger_kernel", yes()), Cost::None, "Liger's kernels"});
  if (!setup.allocator.expandable_segments) {
    all.push_back({object("allocator", object("expandable_segments", yes())),
                   Cost::None,
                   "PYTORCH_ALLOC_CONF=expandable_segments:True"});
  }
}

void add_slower(const TrainSetup& setup, std::vector<Candidate>& all) {
  if (!setup.gradient_checkpointing) {
    all.push_back(
        {object("gradient_checkpointing", yes()), Cost::Slower, "gradient checkpointing"});
  }
  const std::int64_t batch = setup.per_device_train_batch_size;
  if (batch > 1) {
    Value patch = object("per_device_train_batch_size", Value{std::int64_t{1}});
    const std::int64_t steps = setup.gradient_accumulation_steps * batch;
    lay_over(patch, object("gradient_accumulation_steps", Value{steps}));
    all.push_back({std::move(patch),
                   Cost::Slower,
                   "batch 1 with " + std::to_string(steps) + " accumulation steps"});
  }
}

void add_other_training(const TrainSetup& setup, std::vector<Candidate>& all) {
  if (setup.optim.starts_with("adamw_torch"))
    all.push_back({object("optim", word("adamw_bnb_8bit")), Cost::Quality, "8-bit AdamW"});
  if (setup.method == Method::Full)
    all.push_back({object("method", word("lora")), Cost::Quality, "LoRA"});
  if (setup.method != Method::Qlora) {
    Value patch = object("method", word("qlora"));
    lay_over(patch, object("gradient_checkpointing", Value{setup.gradient_checkpointing}));
    all.push_back({std::move(patch), Cost::Quality, "QLoRA"});
  } else if (setup.quantization.prepare_model_for_kbit_training) {
    Value patch = object("quantization", object("prepare_model_for_kbit_training", Value{false}));
    lay_over(patch, object("gradient_checkpointing", Value{setup.gradient_checkpointing}));
    all.push_back({std::move(patch),
                   Cost::Quality,
                   "no k-bit preparation, so that norms and embeddings stay 16-bit"});
  }
  constexpr std::int64_t kShortest = 256;
  if (setup.max_length >= 2 * kShortest) {
    const std::int64_t half = setup.max_length / 2;
    all.push_back({object("max_length", Value{half}),
                   Cost::Quality,
                   "sequences of at most " + std::to_string(half) + " tokens"});
  }
}

class Search {
 public:
  Search(const Report& asked, std::string_view config, Value setup)
      : asked_(asked), config_(config), setup_(std::move(setup)) {}

  std::vector<Change> run() {
    std::vector<Candidate> all;
    add_free(asked_, all);
    add_slower(asked_.setup, all);
    add_other_training(asked_.setup, all);
    std::vector<Change> smaller;
    for (const Candidate& candidate : all) {
      Change change = tried(candidate);
      // A change of no more than the allocator's rounding is no help.
      if (change.saves <= scaled(asked_.memory.process_peak, 1, 100)) continue;
      smaller.push_back(std::move(change));
      useful_.push_back(candidate);
    }
    std::vector<Change> found;
    for (Change& change : smaller) {
      if (change.answer == Answer::Fits && found.size() < kMaxChanges) found.push_back(change);
    }
    if (found.empty()) add_together(found);
    small_sort(smaller.begin(), smaller.end(), [](const Change& a, const Change& b) {
      return a.saves > b.saves;
    });
    for (Change& change : smaller) {
      if (found.size() < kMaxChanges && change.answer != Answer::Fits)
        found.push_back(std::move(change));
    }
    return found;
  }

 private:
  Change tried(const Candidate& candidate) const {
    Change change;
    change.patch = candidate.patch;
    change.cost = candidate.cost;
    Value setup = setup_;
    lay_over(setup, candidate.patch);
    const Result<Report> report = estimate(config_, json::dump(setup));
    if (!report || !report->has_memory) return change;
    const Memory& memory = report->memory;
    change.saves = asked_.memory.process_peak - memory.process_peak;
    change.answer = report->verdict.answer;
    change.sentence = candidate.what + ": saves " + format_bytes(change.saves) + ", needs " +
                      format_bytes(memory.interval.low) + " to " +
                      format_bytes(memory.interval.high) + ending(change.answer);
    return change;
  }

  static std::string ending(Answer answer) {
    if (answer == Answer::Fits) return ": fits.";
    return answer == Answer::TooClose ? ": too close to call." : ": still does not fit.";
  }

  static Candidate together(const std::vector<Candidate>& parts) {
    Candidate sum;
    sum.patch = Value{Object{}};
    for (const Candidate& part : parts) {
      lay_over(sum.patch, part.patch);
      sum.cost = std::max(sum.cost, part.cost);
      sum.what += (sum.what.empty() ? "" : " + ") + part.what;
    }
    return sum;
  }

  // The cheapest first until it fits; then those are left out again that it fits without, the most
  // expensive first.
  void add_together(std::vector<Change>& found) const {
    std::vector<Candidate> parts;
    Change joined;
    for (const Candidate& candidate : useful_) {
      parts.push_back(candidate);
      if (parts.size() == 1) continue;  // tried alone already
      joined = tried(together(parts));
      if (joined.answer == Answer::Fits) break;
    }
    if (joined.answer != Answer::Fits) return;
    for (std::size_t i = parts.size(); i-- > 0 && parts.size() > 2;) {
      std::vector<Candidate> fewer = parts;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      Change without = tried(together(fewer));
      if (without.answer != Answer::Fits) continue;
      parts = std::move(fewer);
      joined = std::move(without);
    }
    found.push_back(std::move(joined));
  }

  const Report& asked_;
  std::string_view config_;
  Value setup_;
  std::vector<Candidate> useful_;
};

}  // namespace

std::vector<Change> cheapest_changes(const Report& asked,
                                     std::string_view config_json,
                                     std::string_view setup_json) {
  const bool in_question = asked.has_memory && asked.verdict.answer != Answer::Fits;
  Result<Value> setup = json::parse(setup_json);
  if (!in_question || !setup || setup->as_object() == nullptr) return {};
  return Search(asked, config_json, std::move(*setup)).run();
}

void add_advice(Report& asked, std::string_view config_json, std::string_view setup_json) {
  if (!asked.has_memory) return;
  asked.changes = cheapest_changes(asked, config_json, setup_json);
  add_streaming(asked, config_json, setup_json);
  const Result<Events> events = simulate_steady_step(asked.architecture, asked.setup);
  if (events) add_allocator_saving(asked, *events);
}

}  // namespace peakline
