#include "report/verdict.h"

#include <algorithm>
#include <string>

#include "peakline/allocator.h"
#include "report/limits.h"
#include "report/terms.h"

namespace peakline {

namespace {

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

std::string sentence_of(const Report& report, const Terms& terms) {
  const Interval& interval = report.memory.interval;
  const Term& usable = terms.usable;
  const std::string needs = range_text(interval.low, interval.high);
  const std::string has = range_text(usable.low, usable.high);
  const std::string card = card_name(report.setup.gpu);
  const std::string others = others_text(report.setup.gpu);
  const std::string headline(headline_of(report.verdict.answer));
  const std::string replayed = "its tensors need " + format_bytes(report.memory.tensor_peak) +
                               " at once, PyTorch would hold " + needs + " if it could, and " +
                               card + " can use " + has + others + ". ";
  switch (report.verdict.answer) {
    case Answer::Fits:
      if (interval.high > usable.low) {
        const Bytes room = terms.least_capacity() - report.memory.allocated_peak;
        return headline + ", but only just: " + replayed +
               "The run passes in the replay because PyTorch gives back what it only caches when "
               "the card is full; with " +
               format_bytes(room) + " more lost to fragmentation it fails.";
      }
      return headline + ": needs " + needs + " of the " + has + " that " + card + " can use.";
    case Answer::TooClose:
      if (interval.low > usable.high) {
        return headline + ": " + replayed +
               "Whether PyTorch can give back enough of what it only caches is open.";
      }
      return headline + ": needs " + needs + ", and " + card + " can use " + has + others + ".";
    case Answer::DoesNotFit:
    case Answer::NotModelled:
      break;
  }
  return headline + ": needs " + needs + ", but " + card + " can use only " + has + others + ".";
}

void explain(Report& report, const Term& term) {
  report.provenance.push_back(
      {std::string(term.name),
       std::string(term.kind),
       range_text(term.low, term.high) + ": " + std::string(term.source) + "."});
}

std::int32_t last_step_begin(const Events& events) {
  std::int32_t begin = 0;
  for (const PhaseMark& mark : events.phases) {
    if (mark.phase == Phase::Data) begin = mark.event;
  }
  return begin;
}

void fill_timeline(Memory& memory, const AllocatorPeaks& peaks, std::int32_t begin) {
  std::size_t next = 0;
  Bytes reserved;
  for (TimelinePoint& point : memory.timeline) {
    for (; next < peaks.levels.size() && peaks.levels[next].event <= begin + point.t; ++next)
      reserved = peaks.levels[next].reserved;
    point.reserved = reserved;
  }
}

void replay_without_limit(Report& report, const Events& events) {
  Memory& memory = report.memory;
  const AllocatorPeaks peaks = replay(events, options_of(report.setup));
  memory.allocated_peak = peaks.allocated;
  memory.reserved_peak = peaks.reserved;
  fill_timeline(memory, peaks, last_step_begin(events));
}

}  // namespace

Risk risk_of(Bytes high, Bytes usable) {
  if (high <= scaled(usable, 90, 100)) return Risk::Low;
  return high <= usable ? Risk::Medium : Risk::High;
}

std::string card_name(const GpuSetup& gpu) {
  return gpu.name.empty() || gpu.name == "custom" ? "this card" : gpu.name;
}

void add_allocator_saving(Report& report, const Events& events) {
  AllocatorOptions options = options_of(report.setup);
  if (options.expandable_segments) return;
  options.expandable_segments = true;
  Memory& memory = report.memory;
  const Bytes saving = memory.reserved_peak - replay(events, options).reserved;
  const bool saves = saving >= Bytes(0);
  memory.expandable_saving = saving;
  memory.saving_sentence = "PYTORCH_ALLOC_CONF=expandable_segments:True would reserve " +
                           format_bytes(saves ? saving : Bytes(0) - saving) +
                           (saves ? " less" : " more");
}

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
  verdict.sentence = sentence_of(report, terms);
  Limit gpu =
      limit_of(Resource::Gpu, memory.interval.high, terms.usable.low, Answer::TooClose, "it");
  gpu.answer = verdict.answer;
  verdict.limits.insert(verdict.limits.begin(), std::move(gpu));
  weigh_limits(report);
  for (const Term* term : {&terms.context, &terms.workspace, &terms.history, &terms.usable})
    explain(report, *term);
  if (report.setup.allocator.garbage_collection_threshold) {
    report.notes.push_back(
        "allocator.garbage_collection_threshold has no effect without "
        "torch.cuda.set_per_process_memory_fraction, which no trainer calls.");
  }
}

}  // namespace peakline
