// The JSON door: one request envelope, one reply.
#include <string>
#include <utility>

#include "peakline/estimate.h"

namespace peakline {

namespace {

using json::Array;
using json::Object;
using json::Value;

Value text(std::string_view s) {
  return {std::string(s)};
}

std::string ok(std::string_view key, Value value) {
  Object out;
  out.emplace_back("ok", Value{true});
  out.emplace_back(key, std::move(value));
  return json::dump({std::move(out)});
}

std::string fail(ErrorCode code, std::string where, std::string message, std::string hint) {
  return errors_json({Error{code, std::move(where), std::move(message), std::move(hint)}});
}

std::string gpus() {
  Array rows;
  for (const GpuCard& card : gpu_catalogue()) {
    Object row;
    row.emplace_back("name", text(card.name));
    row.emplace_back("compute_capability", text(capability_text(card.compute_capability)));
    row.emplace_back("sm_count", Value{card.sm_count});
    row.emplace_back("marketed_bytes", Value{card.marketed.count()});
    row.emplace_back("total_bytes", Value{});
    if (card.reported > Bytes(0)) row.back().second.data = card.reported.count();
    rows.push_back({std::move(row)});
  }
  return ok("gpus", {std::move(rows)});
}

std::string keys() {
  Array rows;
  for (const SetupKey& key : setup_keys()) {
    Object row;
    row.emplace_back("name", text(key.name));
    row.emplace_back("kind", text(key.kind));
    row.emplace_back("choices", text(key.choices));
    row.emplace_back("meaning", text(key.meaning));
    rows.push_back({std::move(row)});
  }
  return ok("keys", {std::move(rows)});
}

std::string fit(const Value& request) {
  const Value* config = request.find("config");
  if (config == nullptr || config->as_string() == nullptr) {
    return fail(ErrorCode::ConfigWrongType,
                "/config",
                "got " + (config == nullptr ? std::string("nothing") : config->describe()) +
                    ", expected the text of a config.json as a string",
                "send the file's text, not the parsed object, so that places in it can be named");
  }
  const Value* setup = request.find("setup");
  const std::string asked = setup == nullptr ? "{}" : json::dump(*setup);
  Result<Report> report = estimate(*config->as_string(), asked);
  if (!report) return errors_json(report.error());
  const Value* changes = request.find("changes");
  if (changes != nullptr && changes->as_bool() != nullptr && *changes->as_bool())
    add_advice(*report, *config->as_string(), asked);
  return R"({"ok":true,"report":)" + to_json(*report) + "}";
}

}  // namespace

std::string errors_json(const Errors& errors) {
  Array rows;
  for (const Error& error : errors) {
    Object row;
    row.emplace_back("code", text(code_name(error.code)));
    row.emplace_back("where", text(error.where));
    row.emplace_back("message", text(error.message));
    row.emplace_back("hint", text(error.hint));
    rows.push_back({std::move(row)});
  }
  Object out;
  out.emplace_back("ok", Value{false});
  out.emplace_back("errors", Value{std::move(rows)});
  return json::dump({std::move(out)});
}

std::string call(std::string_view request) {
  const Result<Value> parsed = json::parse(request);
  if (!parsed) return errors_json(parsed.error());
  const Value* op = parsed->find("op");
  const std::string name = op != nullptr && op->as_string() != nullptr ? *op->as_string() : "";
  if (name == "fit") return fit(*parsed);
  if (name == "gpus") return gpus();
  if (name == "setup_keys") return keys();
  if (name == "version") return ok("core_version", text(kCoreVersion));
  return fail(
      ErrorCode::RequestUnknownOperation,
      "/op",
      "got " + (op == nullptr ? std::string("nothing") : op->describe()) +
          ", expected fit, gpus, setup_keys or version",
      "the request is {\"schema\": 1, \"op\": \"fit\", \"config\": \"...\", \"setup\": {}}");
}

}  // namespace peakline
