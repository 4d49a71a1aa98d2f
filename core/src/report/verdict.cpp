#include "report/verdict.h"

#include <string>

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

std::string sentence_of(Answer answer, const Report& report, const Term& usable) {
  const std::string needs = range_text(report.memory.interval.low, report.memory.interval.high);
  const std::string has = range_text(usable.low, usable.high);
  const std::string card = report.setup.gpu.name.empty() ? "this card" : report.setup.gpu.name;
  switch (answer) {
    case Answer::Fits:
      return "Fits: needs " + needs + " of the " + has + " that " + card + " can use.";
    case Answer::TooClose:
      return "Too close to call: needs " + needs + ", and " + card + " can use " + has + ".";
    case Answer::DoesNotFit:
      return "Does not fit: needs " + needs + ", but " + card + " can use only " + has + ".";
    case Answer::NotModelled:
      break;
  }
  return "Not modelled yet.";
}

void explain(Report& report, const Term& term) {
  const bool known = term.low == term.high;
  report.provenance.push_back({std::string(term.name), known ? "measured" : "assumed",
                               range_text(term.low, term.high) + ": " + std::string(term.source) + "."});
}

}  // namespace

void judge(Report& report) {
  Memory& memory = report.memory;
  const Term context = context_term(report.setup.gpu);
  const Term workspace = workspace_term(report.setup.gpu);
  const Term allocator = allocator_term(memory.tensor_peak);
  const Term usable = usable_term(report.setup.gpu);
  memory.context = scaled(context.low + context.high, 1, 2);
  memory.workspace = workspace.high;
  memory.interval.low = memory.tensor_peak + context.low + workspace.low + allocator.low;
  memory.interval.high = memory.tensor_peak + context.high + workspace.high + allocator.high;
  memory.interval.why = "live tensors plus CUDA context, cuBLAS workspaces and the allocator's overhead, each at its low and high end";
  memory.process_peak = scaled(memory.interval.low + memory.interval.high, 1, 2);
  Verdict& verdict = report.verdict;
  verdict.usable = usable.low;
  verdict.margin = usable.low - memory.interval.high;
  verdict.risk = risk_of(memory.interval.high, usable.low);
  if (memory.interval.high <= usable.low) {
    verdict.answer = Answer::Fits;
  } else {
    verdict.answer = memory.interval.low > usable.high ? Answer::DoesNotFit : Answer::TooClose;
  }
  verdict.sentence = sentence_of(verdict.answer, report, usable);
  for (const Term* term : {&context, &workspace, &allocator, &usable}) explain(report, *term);
}

}  // namespace peakline
