#include "hub/http_get.h"

#include <curl/curl.h>

#include <cctype>
#include <memory>
#include <string_view>

#include "peakline/report.h"

namespace peakline::hub {
namespace {

constexpr long kConnectSeconds = 10;
constexpr long kTotalSeconds = 60;
// A connection slower than this for kStallSeconds has died.
constexpr long kStallBytesPerSecond = 64;
constexpr long kStallSeconds = 15;
constexpr std::size_t kMaxHeaderValue = 1024;

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};

struct Transfer {
  HttpAnswer answer;
  std::size_t max_bytes = 0;
};

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t bytes = size * count;
  if (bytes > transfer.max_bytes - transfer.answer.body.size()) {
    transfer.answer.too_large = true;
    return 0;
  }
  transfer.answer.body.append(data, bytes);
  return bytes;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// The hub's own header, "resolvers";r=0;t=137: `t` is the seconds until requests are free again.
std::string seconds_of_rate_limit(std::string_view value) {
  const std::size_t at = value.find(";t=");
  if (at == std::string_view::npos) return {};
  value.remove_prefix(at + 3);
  return std::string(value.substr(0, value.find_first_not_of("0123456789")));
}

bool is_commit(std::string_view text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  HttpAnswer& answer = static_cast<Transfer*>(user)->answer;
  const std::string_view line(data, size * count);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return line.size();
  const std::string name = lower(line.substr(0, colon));
  const std::string value(trimmed(line.substr(colon + 1)).substr(0, kMaxHeaderValue));
  if (name == "x-error-code") answer.error_code = value;
  if (name == "x-error-message") answer.error_message = value;
  if (name == "x-repo-commit" && is_commit(value)) answer.commit = value;
  if (name == "retry-after") answer.retry_after = value;
  if (name == "ratelimit" && answer.retry_after.empty())
    answer.retry_after = seconds_of_rate_limit(value);
  if (name == "content-type")
    answer.content_type = lower(trimmed(value.substr(0, value.find(';'))));
  return line.size();
}

// curl wants one global start; it costs milliseconds, so a run that asks no hub never pays it.
bool curl_is_ready() {
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return ready;
}

void set_options(CURL* easy, const HttpRequest& request, Transfer& transfer, char* error_text) {
  curl_easy_setopt(easy, CURLOPT_URL, request.address.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT, kTotalSeconds);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, kStallBytesPerSecond);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
  const std::string agent = "peakline/" + std::string(kCoreVersion);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, agent.c_str());
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_text);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  if (request.without_proxy) curl_easy_setopt(easy, CURLOPT_PROXY, "");
  if (!request.token.empty()) {
    curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, request.token.c_str());
  }
}

void read_outcome(CURL* easy, CURLcode code, const char* error_text, HttpAnswer& answer) {
  if (code != CURLE_OK && !answer.too_large) {
    answer.failure = error_text[0] != '\0' ? error_text : curl_easy_strerror(code);
  }
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer.status);
  char* redirect = nullptr;
  curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &redirect);
  if (redirect != nullptr) answer.redirect = redirect;
}

}  // namespace

HttpAnswer http_get(const HttpRequest& request) {
  Transfer transfer;
  transfer.max_bytes = request.max_bytes;
  const std::unique_ptr<CURL, EasyDeleter> easy(curl_is_ready() ? curl_easy_init() : nullptr);
  if (!easy) {
    transfer.answer.failure = "the HTTP library could not be started";
    return transfer.answer;
  }
  char error_text[CURL_ERROR_SIZE] = {};
  set_options(easy.get(), request, transfer, error_text);
  const CURLcode code = curl_easy_perform(easy.get());
  read_outcome(easy.get(), code, error_text, transfer.answer);
  return transfer.answer;
}

}  // namespace peakline::hub
