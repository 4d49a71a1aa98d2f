// A model_type without a row: built from its fields where every field is known and says so.
#pragma once

#include <string>

#include "architecture/families.h"
#include "peakline/json.h"

namespace peakline {

// "" where the config has all the sizes of a dense decoder and no field that could mean more; else
// what is missing or unknown: "no rms_norm_eps", "the field num_experts".
[[nodiscard]] std::string foreign_field(const json::Value& document);

// The variants a config of this shape is read with.
[[nodiscard]] const data::FamiliesRow& unknown_family();

}  // namespace peakline
