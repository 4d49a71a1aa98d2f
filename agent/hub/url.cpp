#include "hub/url.h"

#include <arpa/inet.h>
#include <curl/curl.h>

#include <cctype>
#include <memory>

namespace peakline::hub {
namespace {

struct UrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using UrlHandle = std::unique_ptr<CURLU, UrlDeleter>;

// An absent part is an empty string.
std::string part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, flags) != CURLUE_OK) return {};
  std::string copy(text);
  curl_free(text);
  return copy;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high >= 0 && low >= 0) {
        out += static_cast<char>(high * 16 + low);
        i += 2;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

std::vector<std::string> decoded_segments(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    if (!segment.empty()) segments.push_back(decode(segment));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return segments;
}

int default_port(std::string_view scheme) {
  return scheme == "https" ? 443 : 80;
}

}  // namespace

std::string Url::origin() const {
  std::string text = scheme + "://" + host;
  if (port != default_port(scheme)) text += ":" + std::to_string(port);
  return text;
}

// Only an address of four numbers: a name such as 127.example.org may lead anywhere.
bool Url::is_loopback() const {
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) == 1) return ntohl(address.s_addr) >> 24 == 127;
  return host == "localhost" || host == "[::1]";
}

std::optional<Url> parse_url(std::string_view text) {
  const UrlHandle handle(curl_url());
  if (!handle) return std::nullopt;
  const std::string copy(text);
  if (curl_url_set(handle.get(), CURLUPART_URL, copy.c_str(), 0) != CURLUE_OK) return std::nullopt;
  Url url;
  url.scheme = part(handle.get(), CURLUPART_SCHEME);
  if (url.scheme != "http" && url.scheme != "https") return std::nullopt;
  if (!part(handle.get(), CURLUPART_USER).empty()) return std::nullopt;
  if (!part(handle.get(), CURLUPART_PASSWORD).empty()) return std::nullopt;
  url.host = part(handle.get(), CURLUPART_HOST);
  for (char& c : url.host) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::string port = part(handle.get(), CURLUPART_PORT);
  url.port = port.empty() ? default_port(url.scheme) : std::stoi(port);
  url.path = decoded_segments(part(handle.get(), CURLUPART_PATH));
  return url;
}

std::string encode_segment(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

}  // namespace peakline::hub
