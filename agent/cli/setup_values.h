// From the words of options to the JSON values of the setup.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "peakline/json.h"
#include "peakline/result.h"
#include "peakline/train_setup.h"

namespace peakline::cli {

// The value that `text` means for a key of this kind. Errors: text that is no number, switch or
// JSON where the kind wants one; whether the value is allowed is the core's question.
[[nodiscard]] Result<json::Value> value_of(const SetupKey& key,
                                           const std::string& option,
                                           const std::string& text);

// Sets "lora.r" in a tree of objects, making "lora" where it is absent.
void set_member(json::Value& root, std::string_view path, json::Value value);

// The value at "lora.r" in a tree of objects, or nullptr.
[[nodiscard]] const json::Value* value_at(const json::Value& document, std::string_view key);

// "24", "23.5GiB", "24564MiB" in bytes; nothing for other words.
[[nodiscard]] std::optional<Bytes> memory_of(std::string_view text);

}  // namespace peakline::cli
