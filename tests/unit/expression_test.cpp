#include "architecture/expression.h"

#include <catch2/catch_test_macros.hpp>

namespace peakline {
namespace {

json::Value config() {
  return *json::parse(
      R"({"hidden_size": 4096, "heads": 32, "flag": true, "off": false, "nothing": null,
      "real": 2.0, "half": 0.5, "name": "gated-gelu", "pattern": "M-M*-M",
      "types": ["full", "sliding", "full"], "labels": {"0": "a", "1": "b"},
      "text_config": {"hidden_size": 2048}})");
}

Number value_of(std::string_view text) {
  const json::Value document = config();
  Scope scope(document);
  scope.define("X", Number::of(7));
  bool malformed = false;
  Number result = evaluate(text, scope, malformed);
  REQUIRE_FALSE(malformed);
  return result;
}

std::int64_t of(std::string_view text) {
  const Number number = value_of(text);
  INFO(text << ": " << number.reason);
  REQUIRE(number.known);
  return number.value;
}

bool is_malformed(std::string_view text) {
  const json::Value document = config();
  Scope scope(document);
  bool malformed = false;
  (void)evaluate(text, scope, malformed);
  return malformed;
}

TEST_CASE("arithmetic follows the usual precedence and rounds down", "[expression]") {
  CHECK(of("1 + 2*3") == 7);
  CHECK(of("(1 + 2)*3") == 9);
  CHECK(of("10 - 4 - 3") == 3);
  CHECK(of("100 / 8 / 2*2") == 12);
  CHECK(of("7 / 2*2 + 7 % 2") == 7);
  CHECK(of("-3 + 5") == 2);
  CHECK(of("2 < 3 && 3 <= 3 && !(1 > 2)") == 1);
  CHECK(of("1 == 2 || 2 != 2") == 0);
  CHECK(of("1 ? 2 : 3") == 2);
  CHECK(of("0 ? 2 : 0 ? 4 : 5") == 5);
}

TEST_CASE("names are variables first, then fields", "[expression]") {
  CHECK(of("X*2") == 14);
  CHECK(of("hidden_size / heads") == 128);
  CHECK(of("text_config.hidden_size") == 2048);
  CHECK(of("flag + off") == 1);
  CHECK(of("real") == 2);
}

TEST_CASE("what is unknown says why", "[expression]") {
  CHECK(value_of("absent + 1").reason == "the config has no absent");
  CHECK(value_of("text_config.heads").reason == "the config has no text_config.heads");
  CHECK(value_of("nothing").reason == "the config has no nothing");
  CHECK(value_of("half").reason == "half is the number 0.5, not an integer");
  CHECK(value_of("types + 1").reason == "types is an array, not an integer");
  CHECK_FALSE(value_of("1 / off").known);
  CHECK(value_of("refuse(\"too hard\")*2").reason == "too hard");

  SECTION("a default or an untaken branch needs nothing") {
    CHECK(of("absent ?? nothing ?? 3") == 3);
    CHECK(of("heads ?? absent") == 32);
    CHECK(of("flag ? heads : absent") == 32);
    CHECK_FALSE(value_of("absent ? 1 : 2").known);
  }
}

TEST_CASE("functions read lists, strings and objects", "[expression]") {
  CHECK(of("has(heads) + has(absent) + has(nothing)") == 1);
  CHECK(of("len(types)") == 3);
  CHECK(of("len(labels)") == 2);
  CHECK(of("count(types, \"full\")") == 2);
  CHECK(of("count(pattern, \"M\")") == 3);
  CHECK(of("count(pattern, \"*\")") == 1);
  CHECK(of("is(name, \"gated-gelu\")") == 1);
  CHECK(of("is(absent, \"x\")") == 0);
  CHECK(of("max(2, 3) - min(2, 3)") == 1);
  CHECK(of("ceil_div(10, 4)") == 3);
  CHECK(of("round_up(8192, 256) + round_up(8193, 256)") == 8192 + 8448);
  CHECK(value_of("len(absent)").reason == "the config has no absent");
}

TEST_CASE("a sum runs over layers", "[expression]") {
  CHECK(of("sum(i, 5, i)") == 10);
  CHECK(of("sum(i, 32, i % 8 == 4)") == 4);
  CHECK(of("sum(i, 0, i + 1)") == 0);
  CHECK(of("sum(i, 3, X)*2") == 42);
  CHECK_FALSE(value_of("sum(i, 1000000000, 1)").known);
  CHECK_FALSE(value_of("sum(i, absent, 1)").known);
}

TEST_CASE("arithmetic saturates instead of wrapping", "[expression]") {
  CHECK(of("4000000000*4000000000*4000000000") == INT64_MAX);
}

TEST_CASE("a text that is no expression is told", "[expression]") {
  for (const std::string_view text : {"",
                                      "1 +",
                                      "(1",
                                      "1)",
                                      "1 2",
                                      "a b",
                                      "unknown(1)",
                                      "1 ? 2",
                                      "len(",
                                      "is(name)",
                                      "\"x\"",
                                      "$"}) {
    INFO(text);
    CHECK(is_malformed(text));
  }
}

}  // namespace
}  // namespace peakline
