// Where a module of the architecture's list stands in a model.
#pragma once

#include <optional>

#include "model/modules.h"

namespace peakline {

// nullptr for what is no projection of a layer.
[[nodiscard]] Linear* projection(DecoderLayer& layer, ModuleRole role);

[[nodiscard]] std::optional<Norm>& norm_of(DecoderLayer& layer, ModuleRole role);

// A projection outside of the layers; made where there is none yet.
[[nodiscard]] Linear& outer_linear(CausalLm& model, const LayerModule& module);

// Whether the last norm's parameters come before the layers'.
[[nodiscard]] bool final_norm_first(const DenseDecoder& shape);

}  // namespace peakline
