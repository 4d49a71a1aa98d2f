#include "peakline/json.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <string>

namespace peakline::json {
namespace {

Value parsed(std::string_view text) {
  Result<Value> value = parse(text);
  REQUIRE(value.has_value());
  return *value;
}

ErrorCode code_of(std::string_view text) {
  const Result<Value> value = parse(text);
  REQUIRE_FALSE(value.has_value());
  return value.error().front().code;
}

TEST_CASE("members keep the order of the file", "[json]") {
  CHECK(dump(parsed(R"({"b": 1, "a": [true, null, "x"], "c": {}})")) ==
        R"({"b":1,"a":[true,null,"x"],"c":{}})");
}

TEST_CASE("every value knows the line and column of its last character", "[json]") {
  const Value root =
      parsed("{\n  \"n\": 2048,\n  \"s\": \"abc\",\n  \"t\": true,\n  \"o\": {\n  }\n}");
  CHECK(root.line == 1);
  CHECK(root.column == 1);
  CHECK(root.find("n")->line == 2);
  CHECK(root.find("n")->column == 11);
  CHECK(root.find("s")->line == 3);
  CHECK(root.find("s")->column == 12);
  CHECK(root.find("t")->column == 11);
  CHECK(root.find("o")->line == 5);
  CHECK(root.find("o")->column == 8);

  SECTION("a number before a line break ends on its own line") {
    const Value list = parsed("[12\n,34]");
    CHECK(list.as_array()->at(0).line == 1);
    CHECK(list.as_array()->at(0).column == 3);
    CHECK(list.as_array()->at(1).line == 2);
    CHECK(list.as_array()->at(1).column == 3);
  }
  SECTION("a number at the end of the text") {
    CHECK(parsed("  42").column == 4);
  }
}

TEST_CASE("integers and reals are told apart", "[json]") {
  CHECK(*parsed("42").as_integer() == 42);
  CHECK(*parsed("-9223372036854775808").as_integer() == INT64_MIN);
  CHECK(*parsed("9223372036854775807").as_integer() == INT64_MAX);
  CHECK(parsed("1.0").as_integer() == nullptr);
  CHECK(*parsed("1.0").as_real() == 1.0);
  CHECK(parsed("1e3").as_integer() == nullptr);

  SECTION("beyond 64 bits an integer becomes a real and never wraps") {
    CHECK(parsed("9223372036854775808").as_integer() == nullptr);
    CHECK(*parsed("18446744073709551616").as_real() == 18446744073709551616.0);
    CHECK(*parsed("123456789012345678901234567890").as_real() > 1e29);
  }
}

TEST_CASE("Python's NaN and Infinity stay what they are", "[json]") {
  const Value root =
      parsed(R"({"a": [0.0, Infinity], "b": -Infinity, "c": NaN, "d": "NaN Infinity"})");
  CHECK(root.find("a")->as_array()->at(0).describe() == "the number 0.0");
  CHECK(root.find("a")->as_array()->at(1).describe() == "Infinity");
  CHECK(root.find("b")->describe() == "-Infinity");
  CHECK(root.find("c")->describe() == "NaN");
  CHECK(*root.find("d")->as_string() == "NaN Infinity");
  CHECK(root.find("c")->as_real() == nullptr);
  CHECK(root.find("c")->column == 47);
  CHECK(dump(root) == R"({"a":[0.0,null],"b":null,"c":null,"d":"NaN Infinity"})");
  CHECK(parsed("NaN").describe() == "NaN");
  CHECK(parsed("[NaN,5]").as_array()->at(1).describe() == "the number 5");
}

TEST_CASE("a number with NaN or Infinity in it is no number", "[json]") {
  for (const char* text : {"[Infinite]",
                           "[NaN5]",
                           "[2NaN]",
                           "[-NaN]",
                           "[Infinity1]",
                           "[1-Infinity]",
                           "[--Infinity]",
                           "[+Infinity]",
                           "[NaN.0]",
                           "[1eNaN]",
                           "[nan]"}) {
    INFO(text);
    CHECK(code_of(text) == ErrorCode::JsonSyntax);
  }
}

TEST_CASE("a leading byte order mark is no mistake", "[json]") {
  CHECK(*parsed("\xEF\xBB\xBF{\"a\": 1}").find("a")->as_integer() == 1);
}

TEST_CASE("escapes survive reading and writing", "[json]") {
  const std::string text = R"("quote \" backslash \\ newline \n euro \u20ac")";
  const Value value = parsed(text);
  CHECK(*value.as_string() == "quote \" backslash \\ newline \n euro \xE2\x82\xAC");
  CHECK(*parsed(dump(value)).as_string() == *value.as_string());
}

TEST_CASE("dump replaces bad UTF-8 instead of failing", "[json]") {
  CHECK(dump({std::string("a\xFFz"), 0, 0}) == "\"a\xEF\xBF\xBDz\"");
}

TEST_CASE("keys are unique after reading has failed on them", "[json]") {
  const Result<Value> value = parse(R"({"a": 1, "b": {"a": 2, "a": 3}, "a": 4})");
  REQUIRE_FALSE(value.has_value());
  CHECK(value.error().size() == 2);
  CHECK(value.error()[0].message.find("\"/b/a\"") != std::string::npos);
}

TEST_CASE("a document of duplicate keys is read in one pass", "[json]") {
  // Seconds matter only against the minutes that erasing key by key takes.
  std::string text = "{\"a\": 0";
  for (int i = 0; i < 240'000; ++i) text += ",\"k" + std::to_string(i / 2) + "\":1";
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(parse(text + "}").has_value());
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("many duplicate keys are cut to a bounded list", "[json]") {
  std::string text = "{\"a\": 0";
  for (int i = 0; i < 500; ++i) text += ", \"a\": 1";
  const Result<Value> value = parse(text + "}");
  REQUIRE_FALSE(value.has_value());
  CHECK(value.error().size() == 51);
  CHECK(value.error().back().message == "got 450 more duplicate keys");
}

TEST_CASE("depth is bounded", "[json]") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK(parse(nested(kMaxDepth)).has_value());
  CHECK(code_of(nested(kMaxDepth + 1)) == ErrorCode::JsonTooDeep);
  CHECK(code_of(std::string(100000, '[')) == ErrorCode::JsonTooDeep);
}

TEST_CASE("size is bounded before anything is read", "[json]") {
  CHECK(code_of(std::string(kMaxDocumentBytes + 1, ' ')) == ErrorCode::JsonTooLarge);
  CHECK(code_of(std::string(kMaxDocumentBytes, ' ')) == ErrorCode::JsonEmpty);
}

TEST_CASE("the number of values is bounded", "[json]") {
  std::string text = "[";
  for (int i = 0; i < 600'000; ++i) text += "0,";
  CHECK(code_of(text + "0]") == ErrorCode::JsonTooLarge);
  std::string empties = "[";
  for (int i = 0; i < 600'000; ++i) empties += "[],";
  CHECK(code_of(empties + "[]]") == ErrorCode::JsonTooLarge);
}

TEST_CASE("every prefix of a document is refused with a place", "[json]") {
  const std::string text = R"({"a": [1, -2.5e3, "x\n"], "b": {"c": null, "d": true}})";
  for (std::size_t length = 1; length < text.size(); ++length) {
    const Result<Value> value = parse(std::string_view(text).substr(0, length));
    INFO(text.substr(0, length));
    REQUIRE_FALSE(value.has_value());
    CHECK(value.error().size() == 1);
    CHECK(value.error().front().where.rfind("line 1, column ", 0) == 0);
  }
}

TEST_CASE("every single wrong byte is refused or read, never a crash", "[json]") {
  const std::string text = R"({"a": [1, -2.5e3, "x\n"], "b": {"c": null, "d": true}})";
  for (std::size_t place = 0; place < text.size(); ++place) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string wrong = text;
      wrong[place] = static_cast<char>(byte);
      const Result<Value> value = parse(wrong);
      if (!value) CHECK_FALSE(value.error().empty());
    }
  }
}

TEST_CASE("values describe themselves in messages", "[json]") {
  CHECK(parsed("null").describe() == "null");
  CHECK(parsed("false").describe() == "false");
  CHECK(parsed("3").describe() == "the number 3");
  CHECK(parsed("2.5").describe() == "the number 2.5");
  CHECK(parsed("\"x\"").describe() == "the string \"x\"");
  CHECK(parsed("[]").describe() == "an empty array");
  CHECK(parsed("[1]").describe() == "an array");
  CHECK(parsed("{}").describe() == "an object");
  CHECK(parsed("\"" + std::string(500, 'x') + "\"").describe().size() < 100);
}

}  // namespace
}  // namespace peakline::json
