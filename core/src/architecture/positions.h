// What decoders without a rotation do differently.
#pragma once

#include "architecture/families.h"
#include "architecture/fields.h"
#include "peakline/architecture.h"

namespace peakline {

// Tables of positions, how one projection is split, and what the layers' frames hold. Sizes are
// read already.
void resolve_positions(Fields& fields,
                       const data::FamiliesRow& family,
                       DenseDecoder& d,
                       Architecture& architecture);

}  // namespace peakline
