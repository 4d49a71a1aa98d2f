#include <algorithm>
#include <nlohmann/json.hpp>

#include "parse/shortened.h"
#include "peakline/json.h"

namespace peakline::json {
namespace {

constexpr std::size_t kMaxShown = 60;  // of a string in an error

// Needs no escape: nearly every key and word of a report, and there are thousands.
bool is_plain(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
}

// With bad UTF-8 replaced, never refused.
void append_quoted(std::string& out, const std::string& text) {
  if (is_plain(text)) {
    out += '"';
    out += text;
    out += '"';
    return;
  }
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string quoted(const std::string& text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

// What is not finite has no JSON form but null.
std::string number_text(double value) {
  return nlohmann::json(value).dump();
}

void append(std::string& out, const Value& value) {
  if (value.is_null()) {
    out += "null";
  } else if (const bool* flag = value.as_bool()) {
    out += *flag ? "true" : "false";
  } else if (const std::int64_t* integer = value.as_integer()) {
    out += std::to_string(*integer);
  } else if (const double* real = std::get_if<double>(&value.data)) {
    out += number_text(*real);
  } else if (const std::string* text = value.as_string()) {
    append_quoted(out, *text);
  } else if (const Array* array = value.as_array()) {
    out += '[';
    for (const Value& element : *array) {
      if (&element != array->data()) out += ',';
      append(out, element);
    }
    out += ']';
  } else if (const Object* object = value.as_object()) {
    out += '{';
    for (const auto& member : *object) {
      if (&member != object->data()) out += ',';
      append_quoted(out, member.first);
      out += ':';
      append(out, member.second);
    }
    out += '}';
  }
}

}  // namespace

const Value* Value::find(std::string_view key) const {
  const Object* object = as_object();
  if (!object) return nullptr;
  for (const auto& [name, value] : *object) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string Value::describe() const {
  if (is_null()) return "null";
  if (const bool* flag = as_bool()) return *flag ? "true" : "false";
  if (const std::int64_t* integer = as_integer()) return "the number " + std::to_string(*integer);
  if (const double* real = std::get_if<double>(&data)) {
    if (std::isnan(*real)) return "NaN";
    if (std::isinf(*real)) return *real < 0.0 ? "-Infinity" : "Infinity";
    return "the number " + number_text(*real);
  }
  if (const std::string* text = as_string())
    return "the string " + quoted(shortened(*text, kMaxShown));
  if (const Array* array = as_array()) return array->empty() ? "an empty array" : "an array";
  return "an object";
}

std::string dump(const Value& value) {
  std::string out;
  append(out, value);
  return out;
}

}  // namespace peakline::json
