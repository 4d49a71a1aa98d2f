#include "peakline/gpu_catalogue.h"

#include <string>
#include <vector>

#include "parse/nearest.h"
#include "peakline/data/gpus.h"

namespace peakline {
namespace {

constexpr std::size_t kNumCards = std::size(data::kGpusRows);

constexpr auto make_catalogue() {
  struct Table {
    GpuCard cards[kNumCards];
  } table{};
  for (std::size_t i = 0; i < kNumCards; ++i) {
    const data::GpusRow& row = data::kGpusRows[i];
    table.cards[i] = {row.name,
                      Bytes(row.marketed_bytes),
                      Bytes(row.reported_bytes),
                      static_cast<int>(row.compute_capability),
                      row.sm_count};
  }
  return table;
}
constexpr auto kCatalogue = make_catalogue();

// Lower case letters and digits only, without the vendor: "NVIDIA GeForce RTX 3060 12GB" ->
// "rtx306012gb".
std::string key_of(std::string_view name) {
  std::string key;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z')
      key += static_cast<char>(c - 'A' + 'a');
    else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      key += c;
  }
  for (const std::string_view vendor : {"nvidia", "geforce", "tesla", "quadro"}) {
    if (key.substr(0, vendor.size()) == vendor) key.erase(0, vendor.size());
  }
  return key;
}

}  // namespace

std::span<const GpuCard> gpu_catalogue() {
  return kCatalogue.cards;
}

const GpuCard* find_gpu(std::string_view name) {
  const std::string key = key_of(name);
  if (key.empty()) return nullptr;
  const GpuCard* match = nullptr;
  int matches = 0;
  for (const GpuCard& card : kCatalogue.cards) {
    const std::string known = key_of(card.name);
    if (known == key) return &card;
    // "rtx3060" means the only card that begins so; the next character must not continue a number
    // or a name.
    const bool begins =
        known.substr(0, key.size()) == key || "rtx" + key == known.substr(0, key.size() + 3);
    if (begins) {
      match = &card;
      ++matches;
    }
  }
  return matches == 1 ? match : nullptr;
}

std::string_view nearest_gpu(std::string_view name) {
  std::vector<std::string> keys;
  std::vector<std::string_view> views;
  for (const GpuCard& card : kCatalogue.cards) keys.push_back(key_of(card.name));
  for (const std::string& key : keys) views.push_back(key);
  const std::size_t index = nearest_index(key_of(name), views);
  return index < kNumCards ? kCatalogue.cards[index].name : std::string_view();
}

}  // namespace peakline
