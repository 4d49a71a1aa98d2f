// Fields and variants -> DenseDecoder, and its parameters counted tensor by tensor.
#pragma once

#include <string>

#include "architecture/families.h"
#include "architecture/fields.h"
#include "architecture/task.h"
#include "peakline/architecture.h"

namespace peakline {

// Reads the decoder into `architecture.dense`, or says in `architecture.not_modelled` what the step
// does not know. Missing and contradictory fields are reported through `fields`.
void resolve_dense_decoder(Fields& fields,
                           const data::FamiliesRow& family,
                           Architecture& architecture);

[[nodiscard]] Parameters count_parameters(const DenseDecoder& d, const Task& task);

}  // namespace peakline
