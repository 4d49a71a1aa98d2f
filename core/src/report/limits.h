// What a run takes beside the card, and what all of its limits say together.
#pragma once

#include <string>

#include "peakline/report.h"
#include "peakline/symbolic.h"

namespace peakline {

// Fills what is known of host memory, pinned memory and disk, a row of verdict.limits for each, and
// where each number comes from.
void add_beside_the_card(Report& report, const Events& events);

// A row of verdict.limits. `shortage` is what too little of it means: nothing is said where nobody
// said how much there is.
[[nodiscard]] Limit limit_of(Resource resource,
                             Bytes needed,
                             std::optional<Bytes> have,
                             Answer shortage,
                             const std::string& what);

// Makes the worst of all limits the verdict's answer and says in its sentence which ones decide.
// Before it answer and sentence are the card's.
void weigh_limits(Report& report);

// "Fits", "Too close to call", "Does not fit".
[[nodiscard]] std::string_view headline_of(Answer answer);

// "12.0 GiB to 13.4 GiB", or one where both read the same.
[[nodiscard]] std::string range_text(Bytes low, Bytes high);

}  // namespace peakline
