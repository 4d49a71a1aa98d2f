// "Did you mean": the known name closest to what was typed. Lists of choices read "a | b | c".
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace peakline {

// Insertions, deletions, replacements and swaps of neighbours; case does not count.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// Index of the nearest name, names.size() where none is near enough to be meant.
[[nodiscard]] std::size_t nearest_index(std::string_view typed,
                                        std::span<const std::string_view> names);

// The nearest of "a | b | c", or the first that begins so, or "".
[[nodiscard]] std::string_view nearest_choice(std::string_view typed, std::string_view choices);

// Calls `visit` with each part of "a | b | c" until it returns true.
template <class Visit>
constexpr bool any_choice(std::string_view choices, Visit visit) {
  while (!choices.empty()) {
    const std::size_t bar = choices.find(" | ");
    if (visit(choices.substr(0, bar))) return true;
    choices = bar == std::string_view::npos ? std::string_view() : choices.substr(bar + 3);
  }
  return false;
}

}  // namespace peakline
