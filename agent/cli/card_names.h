// What may be meant by a card that is not in the catalogue.
#pragma once

#include <string>

namespace peakline::cli {

// For a name that is no card: those it may mean, else those of its series with the nearest number.
[[nodiscard]] std::string unknown_card_hint(const std::string& name);

}  // namespace peakline::cli
