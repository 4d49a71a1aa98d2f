// The verdict: what a process adds to its tensors, and what a card can give.
#include "report/verdict.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "peakline/symbolic.h"
#include "report/terms.h"
#include "support/print.h"

namespace peakline {
namespace {

GpuSetup card(int compute_capability, Bytes total, bool reported = true) {
  GpuSetup gpu;
  gpu.name = "test card";
  gpu.compute_capability = compute_capability;
  gpu.sm_count = compute_capability == 75 ? 40 : 108;  // T4, A100
  gpu.total = total;
  gpu.total_is_reported = reported;
  return gpu;
}

// One storage in the second step: what the allocator reserves is what is asked for, in 2 MiB.
Events one_storage(Bytes bytes) {
  Events events;
  events.phases = {{0, Phase::Load}, {0, Phase::Data}, {0, Phase::Data}, {0, Phase::Forward}};
  EventTensor tensor;
  tensor.bytes = bytes;
  tensor.died = 1;
  events.tensors = {tensor};
  events.events = {0, -1};
  return events;
}

// A smaller storage is freed before: its segment stays cached and cannot serve the larger one.
Events freed_before(Bytes smaller, Bytes bytes) {
  Events events = one_storage(smaller);
  EventTensor tensor;
  tensor.bytes = bytes;
  tensor.born = 2;
  tensor.died = 3;
  events.tensors.push_back(tensor);
  events.events = {0, -1, 1, -2};
  return events;
}

// `tensors` at the peak, `cached` beside them.
Report judged(Bytes tensors, const GpuSetup& gpu, Bytes cached = Bytes(0)) {
  Report report;
  report.setup.gpu = gpu;
  report.memory.tensor_peak = tensors;
  report.has_memory = true;
  judge(report, cached > Bytes(0) ? freed_before(cached, tensors) : one_storage(tensors));
  return report;
}

TEST_CASE("a process takes its segments, a context, workspaces and the allocator's history",
          "[report][verdict]") {
  struct Row {
    int capability;
    Bytes tensors;
    Bytes low;  // above the tensors
    Bytes high;
  };
  const Bytes floor = scaled(gibibytes(1), 3, 10);
  const Bytes two = Bytes(2 * 8 * 1024 * 1024 + 2 * 128 * 1024);  // 2 x 8.125 MiB
  for (const Row& row :
       {Row{75, gibibytes(1), mebibytes(133) + two, mebibytes(147) + two + floor},
        Row{80, gibibytes(1), mebibytes(300) + two, mebibytes(600) + two + floor},
        Row{86, gibibytes(20), mebibytes(300) + two, mebibytes(600) + two + gibibytes(2)},
        Row{90, gibibytes(20), mebibytes(364), mebibytes(664) + gibibytes(2)}}) {
    INFO("sm" << row.capability);
    const Report report = judged(row.tensors, card(row.capability, gibibytes(80)));
    CHECK(report.memory.allocated_peak == row.tensors);
    CHECK(report.memory.reserved_peak == row.tensors);
    // The replay may overshoot, but live tensors are a floor.
    CHECK(report.memory.interval.low == row.tensors + row.low);
    CHECK(report.memory.interval.high == row.tensors + row.high);
    CHECK(report.memory.process_peak >= report.memory.interval.low);
    CHECK(report.memory.process_peak <= report.memory.interval.high);
  }
}

TEST_CASE("usable memory is what the driver reports, else 90 to 100 % of the box, minus others",
          "[report][verdict]") {
  GpuSetup gpu = card(80, gibibytes(10));
  gpu.used_by_others = gibibytes(1);
  CHECK(usable_term(gpu).low == gibibytes(9));
  CHECK(usable_term(gpu).high == gibibytes(9));
  gpu.total_is_reported = false;
  CHECK(usable_term(gpu).low == gibibytes(8));
  CHECK(usable_term(gpu).high == gibibytes(9));
  CHECK(judged(gibibytes(1), gpu).verdict.usable == gibibytes(8));
}

TEST_CASE("answer, risk and margin at the borders", "[report][verdict]") {
  // 10 GiB of tensors on an A100: the interval is known, so the card is put around it.
  const Bytes tensors = gibibytes(10);
  const Report any = judged(tensors, card(80, gibibytes(80)));
  const Bytes low = any.memory.interval.low;
  const Bytes high = any.memory.interval.high;
  struct Row {
    Bytes total;
    Answer answer;
    Risk risk;
  };
  const Bytes roomy = scaled(high, 100, 90) + Bytes(2);
  for (const Row& row : {Row{roomy, Answer::Fits, Risk::Low},
                         Row{roomy - Bytes(4), Answer::Fits, Risk::Medium},
                         Row{high, Answer::Fits, Risk::Medium},
                         Row{high - Bytes(1), Answer::TooClose, Risk::High},
                         Row{low, Answer::TooClose, Risk::High}}) {
    const Report report = judged(tensors, card(80, row.total));
    INFO(row.total.count());
    CHECK(report.verdict.answer == row.answer);
    CHECK(report.verdict.risk == row.risk);
    CHECK(report.verdict.margin == row.total - high);
  }
}

TEST_CASE("what needs more than the card has even at its low end does not fit",
          "[report][verdict]") {
  const Bytes tensors = gibibytes(10);
  const Bytes low = judged(tensors, card(80, gibibytes(80))).memory.interval.low;
  const Report report = judged(tensors, card(80, low - Bytes(1)));
  INFO(report.verdict.sentence);
  CHECK(report.verdict.answer == Answer::DoesNotFit);
  // What the replay may overshoot by makes cached segments smaller, but no tensor.
  const Report cached = judged(tensors, card(80, low - Bytes(1)), gibibytes(1));
  CHECK(cached.verdict.answer == Answer::DoesNotFit);
}

TEST_CASE("cached segments that could be given back leave the answer open", "[report][verdict]") {
  const Bytes tensors = gibibytes(10);
  const Bytes cached = gibibytes(1);
  const Report any = judged(tensors, card(80, gibibytes(80)), cached);
  CHECK(any.memory.reserved_peak == tensors + cached);
  const Report report = judged(tensors, card(80, any.memory.interval.low - mebibytes(64)), cached);
  INFO(report.verdict.sentence);
  CHECK(report.verdict.answer == Answer::TooClose);
  CHECK(report.verdict.sentence.find("Whether PyTorch can give back enough") != std::string::npos);
}

TEST_CASE("a card that others hold has nothing left, never less than nothing",
          "[report][verdict]") {
  GpuSetup gpu = card(80, gibibytes(10), false);
  gpu.used_by_others = gibibytes(10) - Bytes(1);
  CHECK(usable_term(gpu).low == Bytes(0));
  CHECK(usable_term(gpu).high == Bytes(1));
  const Report report = judged(gibibytes(1), gpu);
  CHECK(report.verdict.answer == Answer::DoesNotFit);
  CHECK(report.verdict.usable == Bytes(0));
  CHECK(report.verdict.margin == Bytes(0) - report.memory.interval.high);
  INFO(report.verdict.sentence);
  CHECK(report.verdict.sentence.ends_with(
      "test card can use only 0 B to 1 B; other programs hold 10.0 GiB of its 10.0 GiB."));
  gpu.used_by_others = Bytes(0);
  const Report alone = judged(gibibytes(40), gpu);
  CHECK(alone.verdict.sentence.find("other programs") == std::string::npos);
}

TEST_CASE("an unreported size is too close where only the whole box would do",
          "[report][verdict]") {
  const Bytes tensors = gibibytes(10);
  const Bytes high = judged(tensors, card(80, gibibytes(80))).memory.interval.high;
  const Bytes box = high + Bytes(100);  // 90 % of it is less than the interval's high end
  CHECK(judged(tensors, card(80, box, true)).verdict.answer == Answer::Fits);
  CHECK(judged(tensors, card(80, box, false)).verdict.answer == Answer::TooClose);
}

TEST_CASE("the sentence says what is needed, what there is, and on which card",
          "[report][verdict]") {
  struct Row {
    Bytes tensors;
    const char* begin;
  };
  for (const Row& row : {Row{gibibytes(1), "Fits: needs "},
                         Row{gibibytes(15), "Too close to call: needs "},
                         Row{gibibytes(40), "Does not fit: needs "}}) {
    const Verdict verdict = judged(row.tensors, card(80, gibibytes(16))).verdict;
    INFO(verdict.sentence);
    CHECK(verdict.sentence.starts_with(row.begin));
    CHECK(verdict.sentence.ends_with("."));
    CHECK(verdict.sentence.find("test card") != std::string::npos);
    CHECK(verdict.sentence.find("16.0 GiB") != std::string::npos);
  }
}

TEST_CASE("a term is called measured only on the cards where it was", "[report][verdict]") {
  struct Row {
    const char* card;
    int compute_capability;
    std::int64_t sm_count;
    Bytes context;
    const char* context_kind;
    const char* workspace_kind;
  };
  for (const Row& row : {Row{"T4", 75, 40, mebibytes(133), "measured", "measured"},
                         Row{"RTX 2080 Ti", 75, 68, mebibytes(300), "assumed", "assumed"},
                         Row{"A100", 80, 108, mebibytes(300), "assumed", "measured"},
                         Row{"A30", 80, 56, mebibytes(300), "assumed", "assumed"},
                         Row{"RTX 4090", 89, 128, mebibytes(300), "assumed", "assumed"},
                         Row{"H100", 90, 132, mebibytes(300), "assumed", "derived"}}) {
    INFO(row.card);
    GpuSetup gpu = card(row.compute_capability, gibibytes(11));
    gpu.sm_count = row.sm_count;
    CHECK(context_term(gpu).low == row.context);
    CHECK(context_term(gpu).kind == row.context_kind);
    CHECK(workspace_term(gpu).kind == row.workspace_kind);
    CHECK(usable_term(gpu).kind == "measured");
    gpu.total_is_reported = false;
    CHECK(usable_term(gpu).kind == "assumed");
  }
}

TEST_CASE("a collection threshold changes no number, and the report says so", "[report][verdict]") {
  Report report;
  report.setup.gpu = card(80, gibibytes(16));
  report.setup.allocator.garbage_collection_threshold = 0.5;
  report.memory.tensor_peak = gibibytes(1);
  judge(report, one_storage(gibibytes(1)));
  const Report plain = judged(gibibytes(1), card(80, gibibytes(16)));
  CHECK(report.memory.reserved_peak == plain.memory.reserved_peak);
  REQUIRE(report.notes.size() == 1);
  CHECK(report.notes.front().starts_with("allocator.garbage_collection_threshold has no effect"));
  CHECK(plain.notes.empty());
}

TEST_CASE("every uncertain term is explained with its source", "[report][verdict]") {
  const Report report = judged(gibibytes(1), card(80, gibibytes(16), false));
  for (const Term& term : {context_term(report.setup.gpu),
                           workspace_term(report.setup.gpu),
                           history_term(gibibytes(1)),
                           usable_term(report.setup.gpu)}) {
    bool found = false;
    for (const Provenance& entry : report.provenance) {
      if (entry.value != term.name) continue;
      found = true;
      CHECK(entry.kind == term.kind);
      CHECK(entry.sentence.find(term.source) != std::string::npos);
    }
    INFO(term.name);
    CHECK(found);
  }
}

}  // namespace
}  // namespace peakline
