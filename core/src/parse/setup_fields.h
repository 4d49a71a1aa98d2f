// The table of setup keys: one row each, in the order and spelling of the contract.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "peakline/json.h"

namespace peakline {

enum class FieldKind : std::uint8_t {
  Integer,
  Number,
  Boolean,
  Choice,
  Text,
  Texts,     // a list of strings
  Integers,  // a list of integers
  Members,   // an object with free keys
  Targets,   // "all-linear" or a list of module names
};

// What a value other than the default means for the answer.
enum class Effect : std::uint8_t {
  Modelled,  // the step or the verdict uses it
  None,      // does not change the GPU memory that is answered for
  Later,     // changes memory in a way the step does not know yet: the answer must say so
};

// The one word that stands for a list of target modules.
inline constexpr std::string_view kAllLinear = "all-linear";

struct SetupField {
  std::string_view name;  // "lora.r"
  FieldKind kind = FieldKind::Integer;
  bool nullable = false;
  std::string_view choices;  // "full | lora", where kind is Choice; the word of Targets
  double low = 0;            // range of Integer, Number and of the elements of Integers
  double high = 0;
  std::string_view fallback;  // our own assumption where no trainer, card or rule says more
  Effect effect = Effect::Modelled;
  std::string_view meaning;
};

[[nodiscard]] std::span<const SetupField> setup_fields();
[[nodiscard]] const SetupField* find_setup_field(std::string_view name);
// True where `name` + "." begins a field: "lora".
[[nodiscard]] bool is_setup_group(std::string_view name);

// A table cell ("null", "true", "1.0", "nf4", "[]") as the value a field of this kind would have.
[[nodiscard]] json::Value field_literal(FieldKind kind, std::string_view text);

// The field a mistyped key most likely means, or "" where nothing is near.
[[nodiscard]] std::string setup_key_hint(std::string_view typed);

// "/lora/r"
[[nodiscard]] std::string pointer_to(std::string_view name);

}  // namespace peakline
