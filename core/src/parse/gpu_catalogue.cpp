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

// What says nothing about which card it is.
constexpr std::string_view kFiller[] = {"nvidia",
                                        "geforce",
                                        "tesla",
                                        "graphics",
                                        "blackwell",
                                        "generation",
                                        "edition",
                                        "workstation",
                                        "server",
                                        "gpu"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

// Lower case letters and digits only, in one spelling: "NVIDIA GeForce RTX 3060 12GB" ->
// "rtx306012gb", "RTX 3080 Mobile, 16 GiB" -> "rtx3080laptop16gb", "A100 80G" -> "a10080gb".
std::string key_of(std::string_view name) {
  std::string key;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z')
      key += static_cast<char>(c - 'A' + 'a');
    else if ((c >= 'a' && c <= 'z') || is_digit(c))
      key += c;
  }
  for (const std::string_view word : kFiller) replace_all(key, word, "");
  replace_all(key, "mobile", "laptop");
  replace_all(key, "gib", "gb");
  if (key.size() > 1 && key.back() == 'g' && is_digit(key[key.size() - 2])) key += 'b';
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
    if (known == key || known == "rtx" + key || known == "gtx" + key) return true;  // "4090"
  }
  return false;
}

}  // namespace

std::span<const GpuCard> gpu_catalogue() {
  return kCatalogue.cards;
}

std::vector<std::string_view> gpus_called(std::string_view name) {
  std::string key = key_of(name);
  std::vector<std::string_view> result;
  const auto collect = [&] {
    for (const data::GpusRow& row : data::kGpusRows) {
      if (!key.empty() && answers_to(row, key)) result.push_back(row.name);
    }
  };
  collect();
  constexpr std::string_view kOldLine = "quadro";  // people say it of later cards as well
  if (result.empty() && key.starts_with(kOldLine)) {
    key.erase(0, kOldLine.size());
    collect();
  }
  if (result.empty() && !key.empty() && is_digit(key.back())) {  // "A100 80"
    key += "gb";
    collect();
  }
  return result;
}

const GpuCard* find_gpu(std::string_view name) {
  const std::string key = key_of(name);
  const std::vector<std::string_view> called = gpus_called(name);
  for (const GpuCard& card : kCatalogue.cards) {
    if (key_of(card.name) == key || (called.size() == 1 && called.front() == card.name))
      return &card;
  }
  return nullptr;
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
  const std::string key = key_of(name);
  const std::size_t index = nearest_index(key, views);
  // Names are short and full of digits: "MI300X" is no misspelt B300.
  if (index >= keys.size() || edit_distance(key, views[index]) * 3 > key.size()) return {};
  return kCatalogue.cards[cards[index]].name;
}

}  // namespace peakline
