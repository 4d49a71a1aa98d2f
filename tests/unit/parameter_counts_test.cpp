// Parameter counts against the recorded truth: published totals, own counts, and what transformers
// built. The records lie outside the repository; where they are not, the test says so and is
// skipped.
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "peakline/architecture.h"
#include "peakline/json.h"

namespace peakline {
namespace {

namespace fs = std::filesystem;

fs::path shared_data() {
  const char* named = std::getenv("PEAKLINE_SHARED");
  return fs::path(named ? named : "../shared") / "data";
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// One line of a CSV file whose cells may be quoted.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

struct Truth {
  std::string file;
  std::string model_type;
  std::string total;
  bool published = false;
};

std::vector<Truth> truths() {
  std::istringstream lines(contents(shared_data() / "configs.csv"));
  std::vector<Truth> rows;
  std::string line;
  std::getline(lines, line);
  REQUIRE(line.rfind("file,hf_id,model_type,true_params,params_exact", 0) == 0);
  while (std::getline(lines, line)) {
    const std::vector<std::string> cells = cells_of(line);
    REQUIRE(cells.size() >= 5);
    rows.push_back({cells[0], cells[2], cells[3], cells[4] == "yes"});
  }
  return rows;
}

Result<Architecture> architecture_of(const std::string& file) {
  const Result<ModelConfig> config = parse_model_config(contents(shared_data() / "configs" / file));
  if (!config) return config.error();
  return build_architecture(*config);
}

std::string reason_of(const Result<Architecture>& architecture) {
  if (!architecture)
    return architecture.error().front().where + " " + architecture.error().front().message;
  return architecture->notes.empty() ? "no reason given" : architecture->notes.back();
}

#define SKIP_WITHOUT_RECORDS()                    \
  if (!fs::exists(shared_data() / "configs.csv")) \
  SKIP("no records at " << shared_data() << ": set PEAKLINE_SHARED")

TEST_CASE("every counted config has the true number of parameters", "[counts]") {
  SKIP_WITHOUT_RECORDS();
  int exact = 0, published = 0, refused = 0, wrong = 0, without_truth = 0, decoders = 0;
  int all_published = 0, all_others = 0, all_without_truth = 0;
  std::string table;
  for (const Truth& truth : truths()) {
    const Result<Architecture> architecture = architecture_of(truth.file);
    if (architecture && architecture->dense) ++decoders;
    const bool counted = architecture && architecture->parameters;
    ++(truth.total.empty() ? all_without_truth : truth.published ? all_published : all_others);
    if (!counted) {
      ++refused;
      CHECK(truth.total.empty());
      CHECK(reason_of(architecture) != "no reason given");
      table += "  refused  " + truth.file + ": " + reason_of(architecture) + "\n";
      continue;
    }
    const std::string got = std::to_string(architecture->parameters->total.count());
    if (truth.total.empty()) {
      ++without_truth;
      table += "  no truth " + truth.file + ": " + got + "\n";
    } else if (got == truth.total) {
      ++exact;
      published += truth.published ? 1 : 0;
    } else {
      ++wrong;
      table += "  WRONG    " + truth.file + ": " + got + ", true " + truth.total + "\n";
    }
    const Parameters& p = *architecture->parameters;
    CHECK(p.total == p.embedding + p.head + p.linear + p.other);
  }
  WARN("parameter counts: " << published << " of " << all_published << " published ones exact, "
                            << exact - published << " of " << all_others << " others equal; of "
                            << all_without_truth << " without truth " << without_truth
                            << " answered and " << refused << " refused with a reason; " << decoders
                            << " configs whose step is modelled\n"
                            << table);
  CHECK(wrong == 0);
  CHECK(exact >= 151);
  CHECK(published == all_published);
  CHECK(published >= 85);
  CHECK(refused <= 9);
  CHECK(decoders >= 39);
}

std::int64_t integer(const json::Value& row, std::string_view key) {
  const json::Value* value = row.find(key);
  const std::int64_t* number = value ? value->as_integer() : nullptr;
  return number ? *number : 0;
}

std::string text(const json::Value& row, std::string_view key) {
  const json::Value* value = row.find(key);
  return value && value->as_string() ? *value->as_string() : std::string();
}

// What a truth row must be compared with: a causal run on a decoder gets a head even where the
// class of the config has none; any other model counts as the class its config names, and only
// that.
std::optional<Elements> expected_total(const json::Value& row) {
  const std::string file = text(row, "config");
  const Result<ModelConfig> config = parse_model_config(contents(shared_data() / "configs" / file));
  if (!config) return std::nullopt;
  const Result<Architecture> a = build_architecture(*config);
  if (!a || !a->parameters) return std::nullopt;
  if (a->dense) return a->alternative ? a->alternative->total : a->parameters->total;
  const bool same_class =
      !config->architectures.empty() && config->architectures.front() == text(row, "model_class");
  // transformers 5.24 ties this model's head although its config and its checkpoint do not.
  const bool tied_regardless = file == "google__flan-t5-base.json";
  return same_class && !tied_regardless ? std::optional(a->parameters->total) : std::nullopt;
}

TEST_CASE("models have as many parameters as transformers built for the truth rows", "[counts]") {
  SKIP_WITHOUT_RECORDS();
  int compared = 0;
  for (const char* records : {"truth.jsonl", "truth_more.jsonl"}) {
    std::istringstream lines(contents(shared_data() / records));
    std::string line;
    while (std::getline(lines, line)) {
      const Result<json::Value> row = json::parse(line);
      REQUIRE(row.has_value());
      const json::Value* settings = row->find("settings");
      REQUIRE(settings);
      const json::Value* tied = settings->find("tied");
      if ((tied && !tied->is_null()) || !text(*settings, "modules_to_save").empty()) continue;
      const bool other_head = text(*settings, "objective") == "seqcls";
      const std::optional<Elements> total = expected_total(*row);
      if (!total || other_head) continue;
      INFO(text(*row, "key") << " " << text(*row, "config"));
      CHECK(total->count() == integer(*row, "params_total"));
      ++compared;
    }
  }
  WARN(compared << " truth rows compared");
  CHECK(compared > 400);
}

}  // namespace
}  // namespace peakline
