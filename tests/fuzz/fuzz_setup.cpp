// The setup reader: defaults, checks, and that a resolved setup resolves to itself.
#include <cstddef>
#include <cstdint>

#include "laws.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace peakline;
  const Result<TrainSetup> setup = parse_train_setup({reinterpret_cast<const char*>(data), size});
  if (!setup) {
    fuzz::check_errors(setup.error());
    return 0;
  }
  const std::string resolved = json::dump(setup->document);
  const Result<TrainSetup> again = parse_train_setup(resolved);
  if (!again) {
    fuzz::require(false, "a resolved setup is a setup", resolved + errors_json(again.error()));
  }
  fuzz::require(json::dump(again->document) == resolved,
                "a resolved setup resolves to itself",
                resolved + "\n" + json::dump(again->document));
  return 0;
}
