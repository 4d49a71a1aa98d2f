// A web address in parts. Everything is decoded except `host`, which is lower case.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace peakline::hub {

struct Url {
  std::string scheme;             // "http" or "https"
  std::string host;               // "huggingface.co", "[::1]"
  int port = 0;                   // the scheme's own where the address names none
  std::vector<std::string> path;  // segments, without empty ones

  [[nodiscard]] std::string origin() const;  // "https://huggingface.co", "http://127.0.0.1:8000"
  [[nodiscard]] bool is_loopback() const;
};

// Empty where `text` is not an http or https address, or carries a user name or password.
[[nodiscard]] std::optional<Url> parse_url(std::string_view text);

// Percent-encodes everything that is not a letter, a digit or one of "-._~".
[[nodiscard]] std::string encode_segment(std::string_view text);

}  // namespace peakline::hub
