#include "peakline/gpu_catalogue.h"

#include <charconv>
#include <string>
#include <vector>

#include "peakline/data/gpus.h"
#include "peakline/nearest.h"

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

GpuText split_gpu_text(std::string_view text) {
  constexpr std::size_t kMaxCountDigits = 6;
  const auto without_trailing_spaces = [](std::string_view words) {
    return words.substr(0, words.find_last_not_of(' ') + 1);
  };
  if (!gpus_called(text).empty()) return {text, 1};
  const std::string_view digits = text.substr(text.find_last_not_of("0123456789") + 1);
  if (digits.empty() || digits.size() > kMaxCountDigits) return {text, 1};
  std::string_view name = text.substr(0, text.size() - digits.size());
  name = without_trailing_spaces(name);
  if (!name.ends_with('x') && !name.ends_with('X')) return {text, 1};
  name.remove_suffix(1);
  name = without_trailing_spaces(name);
  // "RTX4091" is a misspelt name, not 4091 cards called RT.
  if (gpus_called(name).empty()) return {text, 1};
  std::int64_t count = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return {name, count};
}

std::string capability_text(int compute_capability) {
  return std::to_string(compute_capability / 10) + "." + std::to_string(compute_capability % 10);
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
