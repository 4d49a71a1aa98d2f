#include "hub/fetch.h"

#include <chrono>
#include <optional>
#include <string_view>
#include <thread>

#include "hub/answer_errors.h"
#include "hub/http_get.h"
#include "peakline/json.h"

namespace peakline::hub {
namespace {

constexpr int kMaxRedirects = 8;
constexpr int kMaxAttempts = 3;
constexpr int kMaxWaitSeconds = 5;

// The token goes to the endpoint itself, and in the clear only on this machine.
bool may_see_token(const Url& url, const Settings& settings) {
  if (url.origin() != settings.endpoint_url.origin()) return false;
  return url.scheme == "https" || url.is_loopback();
}

bool is_redirect(const HttpAnswer& answer) {
  return answer.status >= 300 && answer.status < 400 && !answer.redirect.empty();
}

// Follows redirects by hand: each target is judged anew.
HttpAnswer get_following(std::string address, const Settings& settings) {
  HttpAnswer answer;
  std::string commit;  // named by the hub's own answer, not by the server it sends on to
  for (int hop = 0; hop <= kMaxRedirects; ++hop) {
    const std::optional<Url> url = parse_url(address);
    if (!url) {
      answer.failure = "it sent on to an address that is not http or https";
      return answer;
    }
    if (url->scheme == "http" && settings.endpoint_url.scheme == "https") {
      answer.failure = "it sent on to " + url->origin() + ", which is not encrypted";
      return answer;
    }
    HttpRequest request;
    request.address = address;
    request.max_bytes = json::kMaxDocumentBytes;
    request.without_proxy = url->is_loopback();
    if (may_see_token(*url, settings)) request.token = settings.token;
    answer = http_get(request);
    if (commit.empty()) commit = answer.commit;
    answer.commit = commit;
    if (!answer.failure.empty() || !is_redirect(answer)) return answer;
    address = answer.redirect;
  }
  answer.failure = "it sent on more than " + std::to_string(kMaxRedirects) + " times";
  return answer;
}

// Seconds to wait before the next attempt; nothing where another attempt would not help.
std::optional<int> wait_before_retry(const HttpAnswer& answer, int attempt) {
  const bool busy = answer.status == 429 || answer.status >= 500;
  if (!answer.failure.empty() || !busy || attempt + 1 >= kMaxAttempts) return std::nullopt;
  const std::optional<int> asked = seconds_asked(answer);
  const int wait = asked.value_or(1 << attempt);
  if (wait > kMaxWaitSeconds) return std::nullopt;
  return wait;
}

}  // namespace

Result<File> fetch(const Reference& reference, const Settings& settings) {
  if (settings.offline) return offline_error(reference);
  const std::string address = resolve_address(reference, settings);
  HttpAnswer answer;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    answer = get_following(address, settings);
    const std::optional<int> wait = wait_before_retry(answer, attempt);
    if (!wait) break;
    std::this_thread::sleep_for(std::chrono::seconds(*wait));
  }
  if (std::optional<Error> error = error_of(answer, reference, settings)) return *std::move(error);
  return File{std::move(answer.body), std::move(answer.commit)};
}

}  // namespace peakline::hub
