#include "cli/card_names.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "peakline/gpu_catalogue.h"

namespace peakline::cli {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "NVIDIA GeForce RTX 3070 8GB" is number 3070 of the series "rtx".
struct Model {
  std::string series;
  std::int64_t number = 0;
};

Model model_of(std::string_view name) {
  Model model;
  std::size_t at = 0;
  for (; at < name.size() && !is_digit(name[at]); ++at) {
    const char c = name[at];
    if (c >= 'A' && c <= 'Z') model.series += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') model.series += c;
  }
  for (const std::string_view vendor : {"nvidia", "geforce"}) {
    if (model.series.starts_with(vendor)) model.series.erase(0, vendor.size());
  }
  std::from_chars(name.data() + at, name.data() + name.size(), model.number);
  return model;
}

// The cards whose number is nearest, where any is near: "RTX 3070" lies between two.
std::vector<std::string_view> neighbours(std::string_view name) {
  const Model wanted = model_of(name);
  std::int64_t nearest = wanted.number / 4;
  std::vector<std::string_view> cards;
  if (wanted.number == 0) return cards;
  for (const GpuCard& card : gpu_catalogue()) {
    const Model model = model_of(card.name);
    const std::int64_t distance = std::abs(model.number - wanted.number);
    if (model.series != wanted.series || distance > nearest) continue;
    if (distance < nearest) cards.clear();
    nearest = distance;
    cards.push_back(card.name);
  }
  return cards;
}

std::vector<std::string_view> cards_meant(std::string_view name) {
  // Another memory size, or a word too many: "A100 60", "RTX 4070 Super".
  for (std::string_view shorter = name; !shorter.empty();) {
    std::vector<std::string_view> cards = gpus_called(shorter);
    if (!cards.empty()) return cards;
    const std::size_t space = shorter.rfind(' ');
    shorter = shorter.substr(0, space == std::string_view::npos ? 0 : space);
  }
  std::vector<std::string_view> cards = neighbours(name);
  if (const std::string_view near = nearest_gpu(name); cards.empty() && !near.empty())
    cards = {near};
  return cards;
}

}  // namespace

std::string unknown_card_hint(const std::string& name) {
  constexpr std::size_t kMostNamed = 4;
  const std::vector<std::string_view> cards = cards_meant(split_gpu_text(name).name);
  std::string hint;
  for (std::size_t i = 0; i < std::min(cards.size(), kMostNamed); ++i) {
    hint += (hint.empty() ? "did you mean \"" : " or \"") + std::string(cards[i]) + "\"";
  }
  if (cards.size() > kMostNamed) hint += " or others";
  return hint + (hint.empty() ? "for" : "? For") +
         " a card that is not listed give its memory: --vram GiB";
}

}  // namespace peakline::cli
