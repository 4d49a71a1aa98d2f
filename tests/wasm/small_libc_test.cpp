// What the module has in place of the C library's strtod and snprintf, against the library's own.
#include "../../web/small_libc.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace peakline::small_libc {
namespace {

std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

void check_like_libc(const std::string& text) {
  char* end = nullptr;
  char* libc_end = nullptr;
  const double got = decimal_number(text.c_str(), &end);
  const double expected = std::strtod(text.c_str(), &libc_end);
  if (bits(got) == bits(expected) && end == libc_end) return;
  CAPTURE(text, got, expected, end - text.c_str(), libc_end - text.c_str());
  CHECK(bits(got) == bits(expected));
  CHECK(end == libc_end);
}

int print(char* out, std::size_t room, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const int length = print_hex(out, room, format, arguments);
  va_end(arguments);
  return length;
}

TEST_CASE("decimal numbers are read as the C library reads them", "[small_libc]") {
  SECTION("by hand") {
    for (const char* text : {
             "0",
             "-0",
             "1",
             "-1",
             "+1",
             "0.1",
             "1e-05",
             "1.0299999713897705",
             "10000.0",
             ".5",
             "5.",
             "1e22",
             "1e23",
             "123456789012345678901234567890",
             "9007199254740993",
             "9007199254740992.999999999999999999999999",
             "9007199254740993.00000000000000000000001",
             "1.7976931348623157e308",
             "1.7976931348623158e308",
             "1.7976931348623159e308",
             "1e309",
             "-1e400",
             "1e999999999999",
             "1e-999999999999",
             "0e999999999999",
             "2.2250738585072014e-308",
             "2.2250738585072011e-308",
             "2.225073858507201e-308",
             "4.9406564584124654e-324",
             "2.4703282292062327e-324",
             "2.4703282292062328e-324",
             "2.470328229206232720882843964341106861825299013071623822127928412503377536351e-324",
             "1e-324",
             "1e-325",
             "1e-400",
             "",
             "-",
             ".",
             "e5",
             "1e",
             "1e+",
             "1e-x",
             "1.2.3",
             "1 2",
             "12abc",
             "0.3",
             "000000000000000000000000000001e-5",
         }) {
      check_like_libc(text);
    }
  }
  SECTION("long ones, whose last digit decides") {
    const std::string half = "9007199254740993";  // between two doubles
    for (const int zeros : {1, 100, 700, 790, 800, 2000}) {
      check_like_libc(half + "." + std::string(static_cast<std::size_t>(zeros), '0') + "1");
      check_like_libc(half + "." + std::string(static_cast<std::size_t>(zeros), '0'));
      check_like_libc("0." + std::string(static_cast<std::size_t>(zeros), '0') +
                      "9007199254740993");
      check_like_libc("1" + std::string(static_cast<std::size_t>(zeros), '0') + "e-" +
                      std::to_string(zeros));
    }
  }
  SECTION("any") {
    std::mt19937_64 random(20261130);
    for (int i = 0; i < 100'000; ++i) {
      char text[64];
      const auto value = std::bit_cast<double>(random());
      if (value != value || value - value != 0) continue;
      const int digits = static_cast<int>(random() % 20) + 1;
      std::snprintf(text, sizeof text, "%.*g", digits, value);
      check_like_libc(text);
      std::string number = std::to_string(random());
      if (random() % 2 == 0) number += std::to_string(random());
      number.insert(random() % number.size(), ".");
      if (random() % 2 == 0) number += "e" + std::to_string(static_cast<int>(random() % 680) - 340);
      check_like_libc(number);
    }
  }
}

TEST_CASE("hexadecimal numbers are written as the C library writes them", "[small_libc]") {
  for (const unsigned value : {0u, 7u, 0x1fu, 0xd83du, 0xffffu, 0x12345u}) {
    for (const std::size_t room : {0u, 1u, 4u, 7u, 13u, 20u}) {
      char got[32] = "untouched";
      char expected[32] = "untouched";
      CHECK(print(got, room, "\\u%04x\\u%04x", value, value) ==
            std::snprintf(expected, room, "\\u%04x\\u%04x", value, value));
      CHECK(std::string(got) == expected);
      CHECK(print(got, room, "<U+%.4X>", value) ==
            std::snprintf(expected, room, "<U+%.4X>", value));
      CHECK(std::string(got) == expected);
    }
  }
}

}  // namespace
}  // namespace peakline::small_libc
