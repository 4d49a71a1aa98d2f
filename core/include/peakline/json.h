// A small JSON tree that keeps what nlohmann's DOM loses: the place of every value and duplicate
// keys. Filled by a SAX handler (core/src/parse/json_reader.cpp); bounded in size and depth.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "peakline/result.h"

namespace peakline::json {

struct Value;
struct Member;
struct Null {
  friend bool operator==(Null, Null) = default;
};
using Array = std::vector<Value>;
using Object = std::vector<Member>;  // in file order, keys unique

struct Value {
  std::variant<Null, bool, std::int64_t, double, std::string, Array, Object> data;
  // 1-based place of the value's last character; of an object or array its opening bracket.
  std::int32_t line = 0;
  std::int32_t column = 0;

  [[nodiscard]] bool is_null() const { return std::holds_alternative<Null>(data); }
  [[nodiscard]] const bool* as_bool() const { return std::get_if<bool>(&data); }
  [[nodiscard]] const std::int64_t* as_integer() const { return std::get_if<std::int64_t>(&data); }
  // A finite one: Python's NaN and Infinity stay in the tree, but nothing can be computed from
  // them.
  [[nodiscard]] const double* as_real() const {
    const double* real = std::get_if<double>(&data);
    return real != nullptr && std::isfinite(*real) ? real : nullptr;
  }
  [[nodiscard]] const std::string* as_string() const { return std::get_if<std::string>(&data); }
  [[nodiscard]] const Array* as_array() const { return std::get_if<Array>(&data); }
  [[nodiscard]] const Object* as_object() const { return std::get_if<Object>(&data); }
  // Member of an object, or nullptr.
  [[nodiscard]] const Value* find(std::string_view key) const;
  // "a string", "the number 3", "null", "an object": for "got ..., expected ...".
  [[nodiscard]] std::string describe() const;
};

// A class of its own, not a std::pair: clang instantiates a pair while Value is still incomplete.
struct Member {
  Member() = default;
  Member(std::string_view key, Value value) : first(key), second(std::move(value)) {}

  std::string first;  // the key
  Value second;
};

inline constexpr std::size_t kMaxDocumentBytes = 10u << 20;  // the hub's own limit for a config
inline constexpr int kMaxDepth = 64;

// The tree, or every mistake found (a syntax error ends the reading; duplicate keys are all
// listed).
[[nodiscard]] Result<Value> parse(std::string_view text);

// The same value as compact JSON text; bad UTF-8 is replaced, never refused.
[[nodiscard]] std::string dump(const Value& value);

}  // namespace peakline::json
