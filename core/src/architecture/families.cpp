#include "architecture/families.h"

namespace peakline {

const data::FamiliesRow* find_family(std::string_view model_type) {
  for (const data::FamiliesRow& row : data::kFamiliesRows) {
    if (row.model_type == model_type) return &row;
  }
  return nullptr;
}

bool has_variant(const data::FamiliesRow& family, std::string_view variant) {
  for (const std::string_view name : family.variants) {
    if (name == variant) return true;
  }
  return false;
}

}  // namespace peakline
