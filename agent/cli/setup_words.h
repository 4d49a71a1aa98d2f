// A model and a run in a few words, for the head of a report.
#pragma once

#include <string>
#include <vector>

#include "peakline/report.h"

namespace peakline::cli {

// "1.10 billion", "12.6 million", "98304".
[[nodiscard]] std::string count_words(Elements count);

// True where no card was named and one of the catalogue stands for it.
[[nodiscard]] bool card_is_assumed(const TrainSetup& setup);

// "model/config.json: llama, 22 layers, 1.10 billion parameters and 12.6 million in adapters".
[[nodiscard]] std::string model_words(const Report& report, const std::string& name);

// What the setup took for granted, one sentence for each origin: "Defaults of transformers: optim
// adamw_torch_fused, attention_mask ones".
[[nodiscard]] std::vector<std::string> default_words(const TrainSetup& setup);

// "2 x RTX 4090".
[[nodiscard]] std::string card_words(const GpuSetup& gpu);

// "qlora, batch 1, length 1024, checkpointing, adamw_torch_fused".
[[nodiscard]] std::string setup_words(const TrainSetup& setup);

}  // namespace peakline::cli
