// Cards as people name them: "A100 80" is the one with 80 GB, and what may be meant by a card that
// is not in the catalogue.
#pragma once

#include <cstdint>
#include <string>

namespace peakline::cli {

struct NamedCard {
  std::string name;
  std::int64_t count = 1;
};
// "A100 80x2" is two cards "A100 80GB"; what names no card of the catalogue stays as it is.
[[nodiscard]] NamedCard named_card(const std::string& text);

// For a name that is no card: those it may mean, else those of its series with the nearest number.
[[nodiscard]] std::string unknown_card_hint(const std::string& name);

}  // namespace peakline::cli
