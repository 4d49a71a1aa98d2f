// The config reader, the architecture and the parameter count.
#include <cstddef>
#include <cstdint>

#include "laws.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace peakline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<json::Value> value = json::parse(text);
  if (value) {
    const std::string written = json::dump(*value);
    const Result<json::Value> again = json::parse(written);
    fuzz::require(again.has_value(), "what was read can be written and read again", written);
    fuzz::require(json::dump(*again) == written, "written twice it is the same", written);
  }
  const Result<ModelConfig> config = parse_model_config(text);
  if (!config) {
    fuzz::check_errors(config.error());
    return 0;
  }
  const Result<Architecture> architecture = build_architecture(*config);
  if (!architecture) {
    fuzz::check_errors(architecture.error());
    return 0;
  }
  fuzz::require(architecture->dense.has_value() || !architecture->not_modelled.empty(),
                "a model is understood or a reason is given");
  if (architecture->parameters) {
    fuzz::require(architecture->parameters->total.count() >= 0, "a count is not negative");
  }
  return 0;
}
