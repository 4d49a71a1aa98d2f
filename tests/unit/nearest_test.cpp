#include "peakline/nearest.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

namespace peakline {
namespace {

constexpr std::string_view kNames[] = {"max_length", "method", "lora", "optim"};

std::string_view nearest(std::string_view typed) {
  const std::size_t index = nearest_index(typed, kNames);
  return index < std::size(kNames) ? kNames[index] : "";
}

TEST_CASE("edit distance counts insertions, deletions, replacements and swaps", "[nearest]") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("abc", "abc") == 0);
  CHECK(edit_distance("abc", "ABC") == 0);
  CHECK(edit_distance("abc", "axc") == 1);
  CHECK(edit_distance("abc", "abcd") == 1);
  CHECK(edit_distance("lenght", "length") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("the nearest name is found, and none where nothing is near", "[nearest]") {
  CHECK(nearest("max_lenght") == "max_length");
  CHECK(nearest("mthod") == "method");
  CHECK(nearest("Optim") == "optim");
  CHECK(nearest("batch") == "");
  CHECK(nearest("x") == "");
  CHECK(nearest("") == "");
  CHECK(nearest(std::string(100000, 'm')) == "");
}

TEST_CASE("a choice is found by nearness or by its beginning", "[nearest]") {
  CHECK(nearest_choice("qlorra", "full | lora | qlora") == "qlora");
  CHECK(nearest_choice("adamw", "sgd | adamw_torch | adamw_torch_fused") == "adamw_torch");
  CHECK(nearest_choice("zzz", "full | lora") == "");
  CHECK(nearest_choice("x", "") == "");
}

}  // namespace
}  // namespace peakline
