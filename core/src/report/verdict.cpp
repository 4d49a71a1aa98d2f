#include "report/verdict.h"

#include <algorithm>
#include <string>

#include "peakline/allocator.h"
#include "report/terms.h"

namespace peakline {

namespace {

Risk risk_of(Bytes high, Bytes usable) {
  if (high <= scaled(usable, 90, 100)) return Risk::Low;
  return high <= usable ? Risk::Medium : Risk::High;
}

std::string range_text(Bytes low, Bytes high) {
  const std::string first = format_bytes(low);
  const std::string second = format_bytes(high);
  return first == second ? first : first + " to " + second;
}

AllocatorOptions options_of(const TrainSetup& setup) {
  AllocatorOptions options;
  options.expandable_segments = setup.allocator.expandable_segments;
  if (setup.allocator.max_split_size_mb)
    options.max_split_size = mebibytes(*setup.allocator.max_split_size_mb);
  return options;
}

// The uncertain terms of one report.
struct Terms {
  Term context;
  Term workspace;
  Term history;
  Term usable;

  // What the allocator's segments may take in all.
  [[nodiscard]] Bytes least_capacity() const {
    return usable.low - context.high - workspace.high - history.high;
  }
  [[nodiscard]] Bytes most_capacity() const { return most_for_tensors() - history.low; }
  // What live tensors may take in all: no history makes them smaller.
  [[nodiscard]] Bytes most_for_tensors() const { return usable.high - context.low - workspace.low; }
};

bool passes(const Report& report, const Events& events, Bytes capacity) {
  if (report.memory.reserved_peak <= capacity) return true;
  // Live blocks are a floor no allocator gets under.
  if (report.memory.tensor_peak > capacity) return false;
  AllocatorOptions options = options_of(report.setup);
  options.capacity = capacity;
  return !replay(events, options).out_of_memory;
}

Answer answer_of(const Report& report, const Events& events, const Terms& terms) {
  if (report.memory.tensor_peak > terms.most_for_tensors()) return Answer::DoesNotFit;
  if (passes(report, events, terms.least_capacity())) return Answer::Fits;
  return passes(report, events, terms.most_capacity()) ? Answer::TooClose : Answer::DoesNotFit;
}

// Why a card can use less than it has; nothing where nobody else is on it.
std::string others_text(const GpuSetup& gpu) {
  if (gpu.used_by_others <= Bytes(0)) return "";
  return "; other programs hold " + format_bytes(gpu.used_by_others) + " of its " +
         format_bytes(gpu.total);
}

std::string sentence_of(const Report& report, const Term& usable) {
  const Interval& interval = report.memory.interval;
  const std::string needs = range_text(interval.low, interval.high);
  const std::string has = range_text(usable.low, usable.high);
  const std::string card = report.setup.gpu.name.empty() || report.setup.gpu.name == "custom"
                               ? "this card"
                               : report.setup.gpu.name;
  const std::string others = others_text(report.setup.gpu);
  const std::string tensors = format_bytes(report.memory.tensor_peak);
  switch (report.verdict.answer) {
    case Answer::Fits:
      if (interval.high > usable.low) {
        return "Fits, but only just: its tensors need " + tensors +
               " at once; PyTorch would hold " + needs +
               " if it could, and gives what it only caches back at the " + has + " of " + card +
               others + ".";
      }
      return "Fits: needs " + needs + " of the " + has + " that " + card + " can use.";
    case Answer::TooClose:
      if (interval.low > usable.high) {
        return "Too close to call: its tensors need " + tensors + " at once; PyTorch would hold " +
               needs + " if it could, and may not be able to give enough of it back at the " + has +
               " of " + card + others + ".";
      }
      return "Too close to call: needs " + needs + ", and " + card + " can use " + has + others +
             ".";
    case Answer::DoesNotFit:
      return "Does not fit: needs " + needs + ", but " + card + " can use only " + has + others +
             ".";
    case Answer::NotModelled:
      break;
  }
  return "Not modelled yet.";
}

void explain(Report& report, const Term& term) {
  report.provenance.push_back(
      {std::string(term.name),
       std::string(term.kind),
       range_text(term.low, term.high) + ": " + std::string(term.source) + "."});
}

void replay_without_limit(Report& report, const Events& events) {
  const AllocatorPeaks peaks = replay(events, options_of(report.setup));
  report.memory.allocated_peak = peaks.allocated;
  report.memory.reserved_peak = peaks.reserved;
}

}  // namespace

void judge(Report& report, const Events& events) {
  Memory& memory = report.memory;
  replay_without_limit(report, events);
  const Terms terms{context_term(report.setup.gpu),
                    workspace_term(report.setup.gpu),
                    history_term(memory.reserved_peak),
                    usable_term(report.setup.gpu)};
  memory.context = scaled(terms.context.low + terms.context.high, 1, 2);
  memory.workspace = terms.workspace.high;
  // Live tensors are a floor.
  const Bytes least = std::max(memory.reserved_peak + terms.history.low, memory.tensor_peak);
  memory.interval.low = least + terms.context.low + terms.workspace.low;
  memory.interval.high =
      memory.reserved_peak + terms.history.high + terms.context.high + terms.workspace.high;
  memory.interval.why =
      "replayed segments plus CUDA context, cuBLAS workspaces and the allocator's history, each at "
      "its low and high end";
  memory.process_peak = scaled(memory.interval.low + memory.interval.high, 1, 2);
  Verdict& verdict = report.verdict;
  verdict.usable = terms.usable.low;
  verdict.margin = terms.usable.low - memory.interval.high;
  verdict.answer = answer_of(report, events, terms);
  verdict.risk = risk_of(memory.interval.high, terms.usable.low);
  verdict.sentence = sentence_of(report, terms.usable);
  for (const Term* term : {&terms.context, &terms.workspace, &terms.history, &terms.usable})
    explain(report, *term);
  if (report.setup.allocator.garbage_collection_threshold) {
    report.notes.push_back(
        "allocator.garbage_collection_threshold has no effect without "
        "torch.cuda.set_per_process_memory_fraction, which no trainer calls.");
  }
}

}  // namespace peakline
