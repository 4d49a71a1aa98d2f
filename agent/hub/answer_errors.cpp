#include "hub/answer_errors.h"

#include <cctype>
#include <string>
#include <string_view>

#include "peakline/json.h"
#include "peakline/quantity.h"
#include "peakline/report.h"

namespace peakline::hub {
namespace {

struct Asked {
  const HttpAnswer& answer;
  const Reference& reference;
  const Settings& settings;

  [[nodiscard]] std::string page() const { return settings.endpoint + "/" + reference.id; }
  [[nodiscard]] bool with_token() const { return !settings.token.empty(); }
  [[nodiscard]] Error error(ErrorCode code, std::string message, std::string hint) const {
    return {code, reference.id, std::move(message), std::move(hint)};
  }
};

constexpr std::string_view kUseFile = "download its config.json by hand and give the file";

// Text of a stranger goes to a terminal: one line, printable, short.
std::string tame(std::string_view text) {
  constexpr std::size_t kMaxLength = 200;
  std::string out;
  for (const char c : text.substr(0, kMaxLength)) {
    out += std::isprint(static_cast<unsigned char>(c)) != 0 ? c : '?';
  }
  return out;
}

Error gated(const Asked& asked) {
  if (asked.with_token()) {
    return asked.error(ErrorCode::HubGated,
                       "this model is gated and the token in HF_TOKEN has no access to it",
                       "accept its terms at " + asked.page() +
                           " with the account of that token; a fine-grained token also needs the "
                           "permission to read gated repositories");
  }
  return asked.error(
      ErrorCode::HubGated,
      "this model is gated: its files are given only to people who accepted its terms",
      "accept them at " + asked.page() + " and set HF_TOKEN, or " + std::string(kUseFile));
}

Error not_found(const Asked& asked) {
  if (asked.with_token()) {
    return asked.error(ErrorCode::HubNotFound,
                       "there is no such model on " + asked.settings.endpoint +
                           ", or the token in HF_TOKEN may not see it",
                       "check the spelling at " + asked.page());
  }
  return asked.error(
      ErrorCode::HubNotFound,
      "there is no such model on " + asked.settings.endpoint + ", or it is private",
      "check the spelling at " + asked.page() + "; for a private model set HF_TOKEN");
}

Error entry_missing(const Asked& asked) {
  return asked.error(
      ErrorCode::HubEntryMissing,
      "the model exists but has no " + asked.reference.file + " at revision " +
          asked.reference.revision,
      "look at " + asked.page() + "/tree/" + asked.reference.revision +
          ": an adapter names its base model in adapter_config.json; repositories with "
          "only GGUF or original weights belong to a model that has a config.json");
}

Error revision_missing(const Asked& asked) {
  return asked.error(ErrorCode::HubRevisionMissing,
                     "the model has no revision \"" + asked.reference.revision + "\"",
                     "leave the revision out to read main; branches and tags are listed at " +
                         asked.page() + "/tree/main");
}

Error disabled(const Asked& asked) {
  return asked.error(ErrorCode::HubDisabled,
                     "access to this model has been disabled on " + asked.settings.endpoint,
                     "use another copy of the model, or a config.json you already have");
}

Error bad_token(const Asked& asked) {
  return asked.error(
      ErrorCode::HubBadToken,
      "the hub does not accept the token in HF_TOKEN",
      "make a new one in the settings of your account, or unset HF_TOKEN for a public model");
}

Error too_many(const Asked& asked) {
  const std::optional<int> seconds = seconds_asked(asked.answer);
  const std::string when =
      seconds ? "in " + std::to_string(*seconds) + " seconds" : std::string("in a few minutes");
  return asked.error(ErrorCode::HubTooManyRequests,
                     "the hub has had too many requests from this address",
                     "try again " + when +
                         (asked.with_token() ? "" : "; with HF_TOKEN set the limit is higher") +
                         ", or " + std::string(kUseFile));
}

Error unexpected(const Asked& asked) {
  std::string message = "the hub answered " + std::to_string(asked.answer.status);
  if (!asked.answer.error_message.empty()) message += " (" + tame(asked.answer.error_message) + ")";
  const bool server = asked.answer.status >= 500;
  return asked.error(
      server ? ErrorCode::HubUnreachable : ErrorCode::HubUnexpectedAnswer,
      message + ", expected the file " + asked.reference.file,
      server ? "the hub has trouble of its own: try again later, or " + std::string(kUseFile)
             : "open " + asked.page() + " to see what is there");
}

Error unreachable(const Asked& asked) {
  return asked.error(
      ErrorCode::HubUnreachable,
      asked.settings.endpoint + " could not be reached: " + tame(asked.answer.failure),
      "check the network, proxy and HF_ENDPOINT, or give a config.json file");
}

bool mentions(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

Error refused(const Asked& asked) {
  const bool credentials = mentions(asked.answer.error_message, "Invalid credentials");
  if (credentials && asked.with_token()) return bad_token(asked);
  if (asked.answer.status != 401) return unexpected(asked);
  // Without a code 401 means a typo, a private or a missing model; a good token would have got 404.
  return asked.with_token() ? bad_token(asked) : not_found(asked);
}

std::optional<Error> error_of_body(const Asked& asked) {
  const std::string& body = asked.answer.body;
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  const bool is_markup = first != std::string::npos && body[first] == '<';
  const bool is_html = asked.answer.content_type == "text/html";
  if (!is_markup && !is_html) return std::nullopt;
  return asked.error(ErrorCode::HubUnexpectedAnswer,
                     "got a web page, expected the JSON of " + asked.reference.file,
                     "a proxy or a sign-in page of the network may have answered instead of " +
                         asked.settings.endpoint);
}

}  // namespace

std::optional<int> seconds_asked(const HttpAnswer& answer) {
  constexpr std::size_t kMaxDigits = 6;
  const std::string& text = answer.retry_after;
  if (text.empty() || text.size() > kMaxDigits) return std::nullopt;
  int seconds = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    seconds = seconds * 10 + (c - '0');
  }
  return seconds;
}

Error offline_error(const Reference& reference) {
  return {ErrorCode::HubUnreachable,
          reference.id,
          "HF_HUB_OFFLINE is set, so the hub was not asked",
          "unset it, or give a config.json file or a folder that holds one"};
}

// The code comes first, the status second: 401 alone means four things.
std::optional<Error> error_of(const HttpAnswer& answer,
                              const Reference& reference,
                              const Settings& settings) {
  const Asked asked{answer, reference, settings};
  if (answer.too_large) {
    const Bytes limit(static_cast<std::int64_t>(json::kMaxDocumentBytes));
    return asked.error(
        ErrorCode::JsonTooLarge,
        reference.file + " is larger than " + format_bytes(limit) + ", expected a config",
        "check that the address names the model's config.json");
  }
  if (!answer.failure.empty()) return unreachable(asked);
  if (answer.status == 200) return error_of_body(asked);
  if (mentions(answer.error_message, "is disabled")) return disabled(asked);
  if (answer.error_code == "GatedRepo") return gated(asked);
  if (answer.error_code == "EntryNotFound") return entry_missing(asked);
  if (answer.error_code == "RevisionNotFound") return revision_missing(asked);
  if (answer.error_code == "RepoNotFound") return not_found(asked);
  if (answer.status == 429) return too_many(asked);
  if (answer.status == 401 || answer.status == 403) return refused(asked);
  if (answer.status == 404) return not_found(asked);
  return unexpected(asked);
}

}  // namespace peakline::hub
