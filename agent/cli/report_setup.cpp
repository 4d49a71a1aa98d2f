#include "cli/report_setup.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/setup_values.h"
#include "peakline/train_setup.h"

namespace peakline::cli {
namespace {

// Removes the value at "lora.r" where it is there.
void remove_value(json::Value& document, std::string_view key) {
  auto* members = std::get_if<json::Object>(&document.data);
  if (members == nullptr) return;
  const std::size_t dot = key.find('.');
  const auto found =
      std::find_if(members->begin(), members->end(), [&](const json::Member& member) {
        return member.first == key.substr(0, dot);
      });
  if (found == members->end()) return;
  if (dot == std::string_view::npos) {
    members->erase(found);
  } else {
    remove_value(found->second, key.substr(dot + 1));
  }
}

void remove_what_was_not_given(json::Value& setup, const json::Value& origins) {
  for (const json::Member& origin : *origins.as_object()) {
    const std::string* word = origin.second.as_string();
    if (word == nullptr || *word != "given") remove_value(setup, origin.first);
  }
}

bool same_at(const json::Value& a, const json::Value& b, std::string_view key) {
  const json::Value* first = value_at(a, key);
  const json::Value* second = value_at(b, key);
  if (first == nullptr || second == nullptr) return first == second;
  return json::dump(*first) == json::dump(*second);
}

// The first key that no other follows from comes first: the card decides about types.
std::vector<std::string_view> keys_in_order() {
  std::vector<std::string_view> keys;
  for (const SetupKey& key : setup_keys()) keys.push_back(key.name);
  std::stable_partition(
      keys.begin(), keys.end(), [](std::string_view key) { return key.starts_with("gpu."); });
  return keys;
}

bool is_complete(const json::Value& document) {
  const std::vector<SetupKey>& keys = setup_keys();
  return std::all_of(keys.begin(), keys.end(), [&](const SetupKey& key) {
    return value_at(document, key.name) != nullptr;
  });
}

// Adds, one by one, the values that do not follow from those before them.
json::Value least_setup(const json::Value& complete) {
  if (!parse_train_setup(json::dump(complete))) return complete;  // mistakes are told of the whole
  const std::vector<std::string_view> keys = keys_in_order();
  json::Value least{json::Object{}};
  for (std::size_t num_added = 0; num_added <= keys.size(); ++num_added) {
    const Result<TrainSetup> resolved = parse_train_setup(json::dump(least));
    if (!resolved) return complete;
    const auto differs = std::find_if(keys.begin(), keys.end(), [&](std::string_view key) {
      return !same_at(resolved->document, complete, key);
    });
    if (differs == keys.end()) return least;
    set_member(least, *differs, *value_at(complete, *differs));
  }
  return complete;
}

}  // namespace

GivenSetup given_setup(json::Value document) {
  const json::Value* setup = document.find("setup");
  const json::Value* origins = document.find("origins");
  const bool is_report = setup != nullptr && setup->as_object() != nullptr;
  GivenSetup given{is_report ? *setup : std::move(document), is_report ? "/setup" : ""};
  if (is_report && origins != nullptr && origins->as_object() != nullptr) {
    remove_what_was_not_given(given.document, *origins);
  } else if (is_complete(given.document)) {
    given.document = least_setup(given.document);
  }
  return given;
}

}  // namespace peakline::cli
