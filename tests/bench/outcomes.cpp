// The verdict against runs whose end is known: tests/bench/data/outcomes.json.
//   outcomes [--brief | --markdown]
// Exit 1 above no "fits" of a run that ran out of memory, one "does_not_fit" of a run that ran,
// four "too_close".
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "peakline/estimate.h"
#include "support/truth_row.h"

namespace peakline::test {
namespace {

using nlohmann::json;

struct Row {
  std::string model;
  std::int64_t batch = 0;
  bool ran = false;
  double measured_mib = 0;  // 0: not known
  double low_mib = 0;
  double high_mib = 0;
  Answer answer = Answer::NotModelled;
};

constexpr double kMiB = 1024.0 * 1024.0;

double mib(Bytes bytes) {
  return static_cast<double>(bytes.count()) / kMiB;
}

std::string_view word(Answer answer) {
  switch (answer) {
    case Answer::Fits:
      return "fits";
    case Answer::TooClose:
      return "too close";
    case Answer::DoesNotFit:
      return "does not fit";
    case Answer::NotModelled:
      break;
  }
  return "not modelled";
}

std::vector<Row> answered() {
  const json data = json::parse(read_text("tests/bench/data/outcomes.json"));
  std::vector<Row> rows;
  for (const json& run : data.at("runs")) {
    Row row;
    row.model = run.at("config");
    row.batch = run.at("per_device_train_batch_size");
    row.ran = run.at("outcome") == "ok";
    row.measured_mib = run.value("process_mib", 0.0);
    json setup = data.at("setup");
    setup["per_device_train_batch_size"] = row.batch;
    const Result<Report> report = estimate(data.at("configs").at(row.model).dump(), setup.dump());
    if (report && report->has_memory) {
      row.answer = report->verdict.answer;
      row.low_mib = mib(report->memory.interval.low);
      row.high_mib = mib(report->memory.interval.high);
    }
    rows.push_back(row);
  }
  return rows;
}

void print_markdown(const std::vector<Row>& rows) {
  std::printf("| model | batch | the run | nvidia-smi, MiB | predicted, MiB | verdict |\n");
  std::printf("|---|---|---|---|---|---|\n");
  for (const Row& row : rows) {
    const std::string measured =
        row.measured_mib > 0 ? std::to_string(std::lround(row.measured_mib)) : "";
    std::printf("| %s | %lld | %s | %s | %ld to %ld | %s |\n",
                row.model.c_str(),
                static_cast<long long>(row.batch),
                row.ran ? "ran" : "out of memory",
                measured.c_str(),
                std::lround(row.low_mib),
                std::lround(row.high_mib),
                std::string(word(row.answer)).c_str());
  }
}

int score(std::string_view option) {
  const std::vector<Row> rows = answered();
  int false_fits = 0;
  int false_refusals = 0;
  int too_close = 0;
  int inside = 0;
  int measured = 0;
  bool all = true;
  for (const Row& row : rows) {
    false_fits += row.answer == Answer::Fits && !row.ran ? 1 : 0;
    false_refusals += row.answer == Answer::DoesNotFit && row.ran ? 1 : 0;
    too_close += row.answer == Answer::TooClose ? 1 : 0;
    all = all && row.answer != Answer::NotModelled;
    if (row.measured_mib <= 0) continue;
    ++measured;
    inside += row.low_mib <= row.measured_mib && row.measured_mib <= row.high_mib ? 1 : 0;
  }
  if (option != "--brief") print_markdown(rows);
  if (option != "--markdown") {
    std::printf(
        "%zu runs: %d false \"fits\", %d false \"does not fit\", %d \"too close\"; nvidia-smi's "
        "number inside the interval in %d of %d\n",
        rows.size(),
        false_fits,
        false_refusals,
        too_close,
        inside,
        measured);
  }
  return all && false_fits == 0 && false_refusals <= 1 && too_close <= 4 ? 0 : 1;
}

}  // namespace
}  // namespace peakline::test

int main(int argc, char** argv) {
  return peakline::test::score(argc > 1 ? argv[1] : "");
}
