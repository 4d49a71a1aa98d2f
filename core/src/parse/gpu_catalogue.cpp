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

// Every spelling a card answers to: its name, with and without the memory size, and its aliases.
std::vector<std::string> keys_of(const data::GpusRow& row) {
  std::vector<std::string> keys{key_of(row.name), key_of(row.name.substr(0, row.name.rfind(' ')))};
  for (const std::string_view alias : row.aliases) keys.push_back(key_of(alias));
  return keys;
}

bool answers_to(const data::GpusRow& row, const std::string& key) {
  for (const std::string& known : keys_of(row)) {
    if (known == key || known == "rtx" + key) return true;  // "4090", "A6000"
  }
  return false;
}

}  // namespace

std::span<const GpuCard> gpu_catalogue() {
  return kCatalogue.cards;
}

std::vector<std::string_view> gpus_called(std::string_view name) {
  const std::string key = key_of(name);
  std::vector<std::string_view> result;
  for (const data::GpusRow& row : data::kGpusRows) {
    if (!key.empty() && answers_to(row, key)) result.push_back(row.name);
  }
  return result;
}

const GpuCard* find_gpu(std::string_view name) {
  const std::string key = key_of(name);
  const GpuCard* match = nullptr;
  int matches = 0;
  for (std::size_t i = 0; i < kNumCards; ++i) {
    const GpuCard& card = kCatalogue.cards[i];
    if (key_of(card.name) == key) return &card;
    if (key.empty() || !answers_to(data::kGpusRows[i], key)) continue;
    match = &card;
    ++matches;
  }
  return matches == 1 ? match : nullptr;
}

std::string_view nearest_gpu(std::string_view name) {
  std::vector<std::string> keys;
  std::vector<std::size_t> cards;  // parallel to keys
  for (std::size_t i = 0; i < kNumCards; ++i) {
    for (std::string& key : keys_of(data::kGpusRows[i])) {
      keys.push_back(std::move(key));
      cards.push_back(i);
    }
  }
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const std::size_t index = nearest_index(key_of(name), views);
  return index < keys.size() ? kCatalogue.cards[cards[index]].name : std::string_view();
}

}  // namespace peakline
