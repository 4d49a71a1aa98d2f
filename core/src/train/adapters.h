// What PEFT's get_peft_model puts on a loaded model: adapters, trained copies, trained biases.
#pragma once

#include <string>

#include "train/load.h"

namespace peakline {

void add_adapters(Engine& e,
                  const DenseDecoder& shape,
                  const TrainSetup& setup,
                  LoadedModel& loaded);

// Whether an adapter sits on this projection, or on the embedding.
[[nodiscard]] bool is_lora_target(const LoraSetup& lora, const LayerModule& module);
[[nodiscard]] bool adapts_embedding(const LoraSetup& lora, const DenseDecoder& shape);

// Whether modules_to_save means the module of this path: PEFT compares ends of names.
[[nodiscard]] bool is_saved(const LoraSetup& lora, std::string_view path);

// Whether the bias of this module, where it has one, trains beside the adapters: PEFT 0.21,
// tuners_utils.py, _mark_only_adapters_as_trainable.
[[nodiscard]] bool trains_bias(const LoraSetup& lora, const LayerModule& module);

}  // namespace peakline
