// The JSON door that the page and the agent call, up to whole simulated steps. The input is a
// request or, where it holds the byte 0x1e, a config, that byte and a setup: mutations then need
// not survive JSON inside a JSON string. A second such byte asks for changes, many steps instead of
// one.
#include <cstddef>
#include <cstdint>
#include <string>

#include "laws.h"

namespace peakline {
namespace {

constexpr char kBetween = '\x1e';
constexpr std::int64_t kMostLayers = 6;
constexpr std::int64_t kMostMicroBatches = 3;

std::string request_of(std::string_view input) {
  const std::size_t between = input.find(kBetween);
  if (between == std::string_view::npos) return std::string(input);
  json::Object request;
  request.emplace_back("op", json::Value{std::string("fit")});
  request.emplace_back("config", json::Value{std::string(input.substr(0, between))});
  input.remove_prefix(between + 1);
  const std::size_t end = input.find(kBetween);
  Result<json::Value> setup = json::parse(input.substr(0, end));
  if (setup) request.emplace_back("setup", std::move(*setup));
  request.emplace_back("changes", json::Value{end != std::string_view::npos});
  return json::dump({std::move(request)});
}

// A step of so many layers is only more of the same, and takes seconds under the sanitizers.
bool takes_long(std::string_view text) {
  const Result<json::Value> request = json::parse(text);
  const json::Value* config = request ? request->find("config") : nullptr;
  if (config == nullptr || config->as_string() == nullptr) return false;
  const json::Value* given = request->find("setup");
  const Result<TrainSetup> setup = parse_train_setup(given ? json::dump(*given) : "{}");
  if (setup && setup->gradient_accumulation_steps > kMostMicroBatches) return true;
  const Result<ModelConfig> parsed = parse_model_config(*config->as_string());
  if (!parsed) return false;
  const Result<Architecture> architecture = build_architecture(*parsed);
  return architecture && architecture->dense &&
         architecture->dense->num_hidden_layers > kMostLayers;
}

void check_reply(const std::string& reply) {
  constexpr std::size_t kLargestReport = 64 << 10;
  const Result<json::Value> parsed = json::parse(reply);
  fuzz::require(parsed.has_value(), "a reply is JSON", reply);
  const json::Value* ok = parsed->find("ok");
  fuzz::require(ok && ok->as_bool(), "a reply says whether it is one", reply);
  if (*ok->as_bool()) {
    fuzz::require(!parsed->find("report") || reply.size() <= kLargestReport,
                  "a report is at most 64 KB",
                  reply);
    return;
  }
  const json::Value* errors = parsed->find("errors");
  fuzz::require(errors && errors->as_array() && !errors->as_array()->empty(),
                "a refusal names a mistake",
                reply);
  for (const json::Value& error : *errors->as_array()) {
    const json::Value* code = error.find("code");
    fuzz::require(code && code->as_string() && *code->as_string() != code_name(ErrorCode::Internal),
                  "no input is an internal error",
                  reply);
  }
}

}  // namespace
}  // namespace peakline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace peakline;
  const std::string request = request_of({reinterpret_cast<const char*>(data), size});
  if (takes_long(request)) return -1;  // not kept in the corpus
  check_reply(call(request));
  return 0;
}
