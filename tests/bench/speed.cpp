// How long one full report takes: config text and setup text in, JSON out.
//   speed [--runs N] [--target MS]
// The heap is kept between reports, as the program and the page's module keep theirs.
// Exit 1 when the slowest median is above the target. The questions are in tests/bench/data. The
// allocator's replay, which a report does once where the card is large, is timed on its own and
// taken off for a second number.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "peakline/allocator.h"
#include "peakline/estimate.h"
#include "process/heap.h"
#include "support/truth_row.h"

namespace peakline::test {
namespace {

using nlohmann::json;

constexpr int kWarmUp = 5;
constexpr int kDefaultRuns = 100;

struct Options {
  int runs = kDefaultRuns;
  double target_ms = 0.0;  // 0: only measure
};

struct Times {
  double min = 0.0;
  double median = 0.0;
  double p95 = 0.0;
};

Times times_of(std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  const auto at = [&](double q) {
    const double rank = std::ceil(q * static_cast<double>(ms.size()));
    return ms[std::max<std::size_t>(static_cast<std::size_t>(rank), 1) - 1];
  };
  return {ms.front(), at(0.5), at(0.95)};
}

// The size of the report in bytes, 0 where there is no peak to report.
std::size_t answer(const std::string& config, const std::string& setup) {
  const Result<Report> report = estimate(config, setup);
  if (!report || !report->has_memory) return 0;
  return to_json(*report).size();
}

// In ms, after some runs that warm up.
template <class Work>
Times measured(int runs, Work work) {
  std::vector<double> ms;
  for (int run = -kWarmUp; run < runs; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    if (run >= 0) ms.push_back(took.count());
  }
  return times_of(std::move(ms));
}

// The replay that the report holds, alone. Nothing where it is not the same.
std::optional<Times> replay_times(const std::string& config,
                                  const std::string& setup,
                                  const Options& options) {
  const Result<Report> report = estimate(config, setup);
  if (!report || report->verdict.answer != Answer::Fits) return std::nullopt;
  const Result<Events> events = simulate_steady_step(report->architecture, report->setup);
  if (!events) return std::nullopt;
  AllocatorPeaks peaks;
  const Times times = measured(options.runs, [&] { peaks = replay(*events, {}); });
  if (peaks.reserved != report->memory.reserved_peak) return std::nullopt;
  return times;
}

int measure(const Options& options) {
  const std::string config = read_text("tests/bench/data/decoder_32_layers.json");
  const json questions = json::parse(read_text("tests/bench/data/questions.json"));
  double slowest = 0.0;
  double slowest_without = 0.0;
  for (const json& question : questions) {
    const std::string name = question.at("name");
    const std::string setup = question.at("setup").dump();
    std::size_t size = 0;
    const Times times = measured(options.runs, [&] { size = answer(config, setup); });
    const std::optional<Times> replayed = replay_times(config, setup, options);
    if (size == 0 || !replayed) {
      std::printf("%s: no report, or one whose replay is another\n", name.c_str());
      return 2;
    }
    slowest = std::max(slowest, times.median);
    slowest_without = std::max(slowest_without, times.median - replayed->median);
    std::printf(
        "%-22s min %6.2f  median %6.2f  p95 %6.2f ms, of it replay %5.2f  (%d runs, %zu bytes of "
        "JSON)\n",
        name.c_str(),
        times.min,
        times.median,
        times.p95,
        replayed->median,
        options.runs,
        size);
  }
  std::printf("slowest median %.2f ms\n", slowest);
  std::printf("slowest median without replay %.2f ms\n", slowest_without);
  return options.target_ms > 0.0 && slowest > options.target_ms ? 1 : 0;
}

int run(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--runs") options.runs = std::max(1, std::atoi(argv[i + 1]));
    if (name == "--target") options.target_ms = std::atof(argv[i + 1]);
  }
  return measure(options);
}

}  // namespace
}  // namespace peakline::test

int main(int argc, char** argv) {
  peakline::keep_freed_memory();
  return peakline::test::run(argc, argv);
}
