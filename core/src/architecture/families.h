// The row of core/data/families.json for a model_type.
#pragma once

#include <string_view>

#include "peakline/data/families.h"

namespace peakline {

// nullptr where the model_type is unknown.
[[nodiscard]] const data::FamiliesRow* find_family(std::string_view model_type);
[[nodiscard]] bool has_variant(const data::FamiliesRow& family, std::string_view variant);

}  // namespace peakline
