#include "architecture/layer_pattern.h"

#include <algorithm>
#include <cstddef>

namespace peakline {

bool LayerPattern::at(std::int64_t layer) const {
  if (layer < begin || cycle.empty()) return false;
  return cycle[static_cast<std::size_t>(layer - begin) % cycle.size()];
}

std::int64_t LayerPattern::count(std::int64_t num_layers) const {
  const std::int64_t layers = num_layers - begin;
  if (layers <= 0 || cycle.empty()) return 0;
  const auto length = static_cast<std::int64_t>(cycle.size());
  const auto in_part = [this](std::int64_t part) {
    return std::count(cycle.begin(), cycle.begin() + static_cast<std::ptrdiff_t>(part), true);
  };
  return layers / length * in_part(length) + in_part(layers % length);
}

LayerPattern every_layer() {
  return {0, {true}};
}

LayerPattern all_but_every(std::int64_t interval) {
  LayerPattern pattern{0, std::vector<bool>(static_cast<std::size_t>(interval), true)};
  pattern.cycle.back() = false;
  return pattern;
}

LayerPattern every(std::int64_t interval) {
  LayerPattern pattern{0, std::vector<bool>(static_cast<std::size_t>(interval), false)};
  pattern.cycle.back() = true;
  return pattern;
}

}  // namespace peakline
