#include "peakline/result.h"

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <set>
#include <string>

namespace peakline {
namespace {

TEST_CASE("a result is a value or errors", "[result]") {
  Result<int> value = 7;
  REQUIRE(value.has_value());
  CHECK(static_cast<bool>(value));
  CHECK(*value == 7);
  *value = 8;
  CHECK(*value == 8);

  const Result<std::string> one = Error{ErrorCode::TooLarge, "/x", "got 9, expected 1", "less"};
  REQUIRE_FALSE(one.has_value());
  REQUIRE(one.error().size() == 1);
  CHECK(one.error().front() == Error{ErrorCode::TooLarge, "/x", "got 9, expected 1", "less"});

  const Result<std::string> many = Errors{Error{}, Error{ErrorCode::JsonEmpty, "", "", ""}};
  CHECK(many.error().size() == 2);
}

TEST_CASE("a result carries what can only be moved", "[result]") {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
  REQUIRE(result.has_value());
  const std::unique_ptr<int> taken = std::move(*result);
  CHECK(*taken == 3);
  Result<std::string> text = std::string("abc");
  CHECK(text->size() == 3);
}

TEST_CASE("every error has a name of its own of four digits", "[result]") {
  using enum ErrorCode;
  std::set<std::string> names;
  for (const ErrorCode code : {JsonSyntax,        JsonEmpty,           JsonDuplicateKey,
                               JsonTooDeep,       JsonTooLarge,        JsonEncoding,
                               JsonNotAnObject,   ConfigMissingKey,    ConfigWrongType,
                               ConfigOutOfRange,  ConfigInconsistent,  SetupUnknownKey,
                               SetupWrongType,    SetupOutOfRange,     SetupUnknownValue,
                               SetupInconsistent, SetupUnknownGpu,     RequestUnknownOperation,
                               TooLarge,          NotModelled,         FileMissing,
                               HubNotFound,       UsageUnknownCommand, Internal}) {
    const std::string name = code_name(code);
    REQUIRE(name.size() == 5);
    CHECK(name[0] == 'E');
    CHECK(std::stoi(name.substr(1)) == static_cast<int>(code));
    names.insert(name);
  }
  CHECK(names.size() == 24);
  CHECK(code_name(JsonSyntax) == "E0101");
  CHECK(code_name(Internal) == "E0901");
}

}  // namespace
}  // namespace peakline
