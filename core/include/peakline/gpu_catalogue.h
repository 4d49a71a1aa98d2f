// The cards Peakline knows by name. Facts and sources: core/data/gpus.json, compiled into a table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "peakline/quantity.h"

namespace peakline {

struct GpuCard {
  std::string_view name;   // "RTX 3060 12GB"
  Bytes marketed;          // size on the box
  Bytes reported;          // total CUDA reports (cudaMemGetInfo), zero where no source states it
  int compute_capability;  // major * 10 + minor
  std::int64_t sm_count;
};

[[nodiscard]] std::span<const GpuCard> gpu_catalogue();
// Case, spaces, dashes, vendors, words such as "GPU" or "Generation" and the memory size do not
// matter; nullptr where no card or several match. A number alone is its memory: "A100 80".
[[nodiscard]] const GpuCard* find_gpu(std::string_view name);
// Every catalogue name that `name` may mean: "A100" is two cards.
[[nodiscard]] std::vector<std::string_view> gpus_called(std::string_view name);

struct GpuText {
  std::string_view name;
  std::int64_t count = 1;
};
// "RTX 3060 12GBx2" and "T4 x 2" are two cards; a text whose beginning is no card is all name.
[[nodiscard]] GpuText split_gpu_text(std::string_view text);

// "8.6" for 86.
[[nodiscard]] std::string capability_text(int compute_capability);

// The catalogue name closest to what was typed, for "did you mean".
[[nodiscard]] std::string_view nearest_gpu(std::string_view name);

}  // namespace peakline
