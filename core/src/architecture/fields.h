// Typed reading of a config's fields: absent and null are the same to most of them, mistakes are
// collected.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "peakline/json.h"
#include "peakline/result.h"
#include "peakline/text_list.h"

namespace peakline {

inline constexpr std::int64_t kMaxDimension = 2147483647;  // 2^31 - 1: larger sizes are refused

class Fields {
 public:
  // `place` is the pointer of `document` inside the config: "" or "/text_config".
  Fields(const json::Value& document, std::string place, Errors& errors)
      : document_(document), place_(std::move(place)), errors_(errors) {}

  // Lines "key name [usual]": what a family calls a field, and what its config class takes where it
  // is absent. Several names of one key are tried in turn.
  void rename(TextList lines) { names_ = lines; }

  [[nodiscard]] bool has(std::string_view key) const;  // present, and not null
  [[nodiscard]] bool is_absent(std::string_view key) const { return !document_.find(name_of(key)); }

  // A size from `low` to kMaxDimension; reports where it is missing. 1 where there was a mistake.
  [[nodiscard]] std::int64_t required_size(std::string_view key);
  [[nodiscard]] std::optional<std::int64_t> size(std::string_view key, std::int64_t low = 1);
  [[nodiscard]] std::optional<bool> flag(std::string_view key);
  [[nodiscard]] std::optional<std::string> text(std::string_view key);
  [[nodiscard]] double number(std::string_view key, double absent);
  // An object, or nullptr where absent or null.
  [[nodiscard]] const json::Value* object(std::string_view key);
  [[nodiscard]] const json::Array* array(std::string_view key);
  [[nodiscard]] const json::Array* texts(std::string_view key);  // a list of strings

  // True while no mistake was found: what follows from a size is only checked where all are good.
  [[nodiscard]] bool good() const { return errors_.empty(); }
  void inconsistent(std::string_view key, std::string message, std::string hint = "");
  [[nodiscard]] const json::Value& document() const { return document_; }

 private:
  void wrong_type(std::string_view key, const json::Value& value, std::string_view expected);
  // The name under which the config has the key; the family's first one where it has none.
  [[nodiscard]] std::string_view name_of(std::string_view key) const;
  // The third word of the key's line.
  [[nodiscard]] std::string_view usual(std::string_view key) const;
  [[nodiscard]] std::string pointer(std::string_view key) const;
  [[nodiscard]] const json::Value* present(std::string_view key) const;

  const json::Value& document_;
  std::string place_;
  Errors& errors_;
  TextList names_;
};

}  // namespace peakline
