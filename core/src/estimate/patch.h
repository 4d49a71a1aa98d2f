// Partial setups laid over one another.
#pragma once

#include "peakline/json.h"

namespace peakline {

// Members of objects are merged, everything else is replaced.
void lay_over(json::Value& setup, const json::Value& patch);

}  // namespace peakline
