#include "hub/settings.h"

#include <cstdlib>
#include <string_view>

namespace peakline::hub {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// Anything else would let the value end the header it is sent in.
bool is_visible_ascii(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c > '~') return false;
  }
  return true;
}

}  // namespace

Result<Settings> settings_from_environment() {
  Settings settings;
  Errors errors;
  if (const std::string endpoint = environment("HF_ENDPOINT"); !endpoint.empty()) {
    settings.endpoint = endpoint;
    while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  }
  if (const auto url = parse_url(settings.endpoint)) {
    settings.endpoint_url = *url;
  } else {
    errors.push_back({ErrorCode::HubReference,
                      "HF_ENDPOINT",
                      "got \"" + settings.endpoint + "\", expected the address of a hub",
                      "write it as https://host, or unset HF_ENDPOINT to ask huggingface.co"});
  }
  settings.token = environment("HF_TOKEN");
  if (!is_visible_ascii(settings.token)) {
    settings.token.clear();
    errors.push_back(
        {ErrorCode::HubBadToken,
         "HF_TOKEN",
         "the value holds spaces, line breaks or letters outside ASCII, so it is no token",
         "copy the token again, or unset HF_TOKEN to ask without one"});
  }
  const bool in_clear =
      settings.endpoint_url.scheme == "http" && !settings.endpoint_url.is_loopback();
  if (in_clear && !settings.token.empty()) {
    errors.push_back({ErrorCode::HubBadToken,
                      "HF_TOKEN",
                      "the token would be sent to " + settings.endpoint + " unencrypted",
                      "use an https address in HF_ENDPOINT, or unset HF_TOKEN"});
  }
  const std::string offline = environment("HF_HUB_OFFLINE");
  settings.offline = offline == "1" || offline == "true" || offline == "TRUE" || offline == "YES" ||
                     offline == "yes" || offline == "ON" || offline == "on";
  if (!errors.empty()) return errors;
  return settings;
}

}  // namespace peakline::hub
