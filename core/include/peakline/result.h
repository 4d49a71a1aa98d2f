// Failure as a value. Names follow std::expected, so that a later switch is one alias.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace peakline {

// Every way an input can be wrong. The number is permanent and shown as E0101; the message is
// written where the mistake is found. 01xx JSON, 02xx config.json, 03xx setup, 04xx size, 05xx
// files, 06xx the hub, 07xx the command line, 09xx our own fault. Core itself reports none of 05xx
// to 07xx: the program does.
enum class ErrorCode : std::uint16_t {
  JsonSyntax = 101,
  JsonEmpty = 102,
  JsonDuplicateKey = 103,
  JsonTooDeep = 104,
  JsonTooLarge = 105,
  JsonEncoding = 106,
  JsonNotAnObject = 107,
  ConfigMissingKey = 201,
  ConfigWrongType = 202,
  ConfigOutOfRange = 203,
  ConfigInconsistent = 204,
  SetupUnknownKey = 301,
  SetupWrongType = 302,
  SetupOutOfRange = 303,
  SetupUnknownValue = 304,
  SetupInconsistent = 305,
  SetupUnknownGpu = 306,
  RequestUnknownOperation = 307,
  TooLarge = 401,
  NotModelled = 402,
  FileMissing = 501,
  FileUnreadable = 502,
  FileUnwritable = 503,
  HubReference = 601,
  HubNotFound = 602,
  HubGated = 603,
  HubEntryMissing = 604,
  HubRevisionMissing = 605,
  HubDisabled = 606,
  HubBadToken = 607,
  HubTooManyRequests = 608,
  HubUnreachable = 609,
  HubUnexpectedAnswer = 610,
  UsageUnknownCommand = 701,
  UsageUnknownOption = 702,
  UsageBadValue = 703,
  UsageConflict = 704,
  UsageMissing = 705,
  Internal = 901,
};

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string where;    // "/max_length" or "line 3, column 7"; empty for the whole document
  std::string message;  // "got ..., expected ..."
  std::string hint;     // what to do; may be empty

  friend bool operator==(const Error&, const Error&) = default;
};
using Errors = std::vector<Error>;

// "E0101"
[[nodiscard]] std::string code_name(ErrorCode code);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(Errors{std::move(error)}) {}
  Result(Errors errors) : state_(std::move(errors)) {}

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  // Undefined unless has_value(), as in std::expected.
  [[nodiscard]] T& operator*() { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& operator*() const { return *std::get_if<0>(&state_); }
  [[nodiscard]] T* operator->() { return std::get_if<0>(&state_); }
  [[nodiscard]] const T* operator->() const { return std::get_if<0>(&state_); }
  // Undefined if has_value().
  [[nodiscard]] Errors& error() { return *std::get_if<1>(&state_); }
  [[nodiscard]] const Errors& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Errors> state_;
};

}  // namespace peakline
