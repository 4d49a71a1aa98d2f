#include <catch2/catch_test_macros.hpp>

#include "cli/bars.h"
#include "cli/error_text.h"
#include "cli/nearest.h"
#include "cli/terminal.h"

using namespace peakline::cli;
using peakline::Bytes;
using peakline::tame;

TEST_CASE("lines are broken at spaces and never too long", "[text]") {
  CHECK(wrapped("one two three", 8, 2) == "one two\n  three");
  CHECK(wrapped("one two three", 8, 2, 6) == "one\n  two\n  three");
  CHECK(wrapped("unbreakable", 4, 2) == "unbreakable");
  CHECK(wrapped("", 10, 2).empty());
  CHECK(wrapped("  a   b ", 10, 2) == "a b");
}

TEST_CASE("columns are letters, not bytes", "[text]") {
  CHECK(columns_of("\u2588\u2588a") == 3);
  CHECK(padded("\u2588", 3) == "\u2588  ");
  CHECK(shortened("abcdefgh", 6) == "abc...");
  CHECK(shortened("abc", 6) == "abc");
  CHECK(right_aligned("ab", 4) == "  ab");
}

TEST_CASE("text of strangers cannot drive the terminal", "[text]") {
  CHECK(tame("a\x1b[31mb\nc\td\x7f") == "a?[31mb c d?");
  CHECK(tame("\xC2\x9B"
             "31m") == "?31m");
  CHECK(tame("\u00e9") == "\u00e9");
  CHECK(tame("a\u202Eb\u2066c\u2069d\u200Fe\u2028f") == "a?b?c?d?e?f");
  CHECK(tame("\u2014\u2065\u206A\u20AC") == "\u2014\u2065\u206A\u20AC");
  CHECK(tame("\xE2\x80") == "\xE2\x80");
  CHECK(peakline::tame_json("{\"a\u202E\": \"\x7f\u009B\u00e9\"}\n") ==
        "{\"a\\u202e\": \"\\u007f\\u009b\u00e9\"}\n");
}

TEST_CASE("bars show what is there and never more than their width", "[text]") {
  CHECK(bar(Bytes(100), Bytes(100), 4, false) == "####");
  CHECK(bar(Bytes(50), Bytes(100), 4, false) == "##");
  CHECK(bar(Bytes(1), Bytes(1000000), 4, false) == "#");
  CHECK(bar(Bytes(0), Bytes(100), 4, false).empty());
  CHECK(bar(Bytes(200), Bytes(100), 4, false) == "####");
  CHECK(bar(Bytes(100), Bytes(100), 2, true) == "\u2588\u2588");
  CHECK(bar(Bytes(75), Bytes(100), 2, true) == "\u2588\u258C");
  CHECK(bar(Bytes(1), Bytes(1000000), 2, true) == "\u258F");
}

TEST_CASE("shares are rounded, and something is never nothing", "[text]") {
  CHECK(percent(Bytes(1), Bytes(2)) == "50 %");
  CHECK(percent(Bytes(1), Bytes(1000)) == "<1 %");
  CHECK(percent(Bytes(0), Bytes(1000)) == "0 %");
  CHECK(percent(Bytes(1000), Bytes(1000)) == "100 %");
  // An 80 GiB card would overflow 64 bits if its bytes were multiplied carelessly.
  CHECK(percent(peakline::gibibytes(80000000), peakline::gibibytes(160000000)) == "50 %");
}

TEST_CASE("a near name is offered, a far one is not", "[text]") {
  const std::vector<std::string> names = {"fit", "serve", "timeline"};
  CHECK(nearest("fti", names) == "fit");
  CHECK(nearest("sevre", names) == "serve");
  CHECK(nearest("time", names) == "timeline");
  CHECK(nearest("plan", names).empty());
  CHECK(nearest("", names).empty());
}

TEST_CASE("a place in a file is shown with a mark under its column", "[text]") {
  CHECK(excerpt("{\n  \"a\": x\n}", "config: line 2, column 8") ==
        "  |   \"a\": x\n  |        ^\n");
  CHECK(excerpt("{}", "/hidden_size").empty());
  CHECK(excerpt("{}", "line 9, column 1").empty());
  CHECK(excerpt("{}", "line 1, column 900").empty());
  CHECK(excerpt("{}", "line 1, column 0").empty());
  CHECK(excerpt("{}", "line -1, column 1").empty());
  const std::string minified = "{" + std::string(500, 'a');
  const std::string shown = excerpt(minified, "line 1, column 400");
  CHECK(shown.size() < 200);
  CHECK(shown.find('^') != std::string::npos);
}
