// One HTTP GET with bounds. Redirects are reported, not followed: who may see a token is the
// caller's matter.
#pragma once

#include <cstddef>
#include <string>

namespace peakline::hub {

struct HttpRequest {
  std::string address;
  std::string token;           // sent as a bearer token where not empty
  std::size_t max_bytes = 0;   // of the decoded body
  bool without_proxy = false;  // for loopback
};

struct HttpAnswer {
  // "" where an answer came; else what went wrong on the way, in words.
  std::string failure;
  bool too_large = false;

  long status = 0;
  std::string body;
  std::string redirect;       // absolute address of a 3xx answer
  std::string content_type;   // without parameters, lower case
  std::string error_code;     // X-Error-Code
  std::string error_message;  // X-Error-Message
  std::string commit;         // X-Repo-Commit
  std::string retry_after;    // Retry-After, or the seconds until the window of RateLimit resets
};

[[nodiscard]] HttpAnswer http_get(const HttpRequest& request);

}  // namespace peakline::hub
