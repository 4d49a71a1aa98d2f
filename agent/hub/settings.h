// Where the hub is and who asks: what huggingface_hub reads from the environment, read the same
// way.
#pragma once

#include <string>

#include "hub/url.h"
#include "peakline/result.h"

namespace peakline::hub {

inline constexpr std::string_view kDefaultEndpoint = "https://huggingface.co";

struct Settings {
  std::string endpoint{kDefaultEndpoint};  // HF_ENDPOINT, without a slash at its end
  Url endpoint_url;                        // the same in parts
  std::string token;     // HF_TOKEN; never printed, sent to the endpoint's own origin only
  bool offline = false;  // HF_HUB_OFFLINE
};

// Errors: an HF_ENDPOINT that is no address, an HF_TOKEN that cannot be one.
[[nodiscard]] Result<Settings> settings_from_environment();

}  // namespace peakline::hub
