#include "architecture/fields.h"

#include <cstdlib>

namespace peakline {

namespace {

struct Words {
  std::string_view key;
  std::string_view name;
  std::string_view usual;
};

Words words_of(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t second = line.find(' ', first + 1);
  Words words;
  words.key = line.substr(0, first);
  words.name = line.substr(first + 1, second - first - 1);
  if (second != std::string_view::npos) words.usual = line.substr(second + 1);
  return words;
}

}  // namespace

std::string_view Fields::name_of(std::string_view key) const {
  std::string_view first;
  for (const std::string_view line : names_) {
    const Words words = words_of(line);
    if (words.key != key) continue;
    const json::Value* value = document_.find(words.name);
    if (value && !value->is_null()) return words.name;
    if (first.empty() || value) first = words.name;
  }
  return first.empty() || document_.find(key) ? key : first;
}

std::string_view Fields::usual(std::string_view key) const {
  for (const std::string_view line : names_) {
    const Words words = words_of(line);
    if (words.key == key && !words.usual.empty()) return words.usual;
  }
  return {};
}

const json::Value* Fields::present(std::string_view key) const {
  const json::Value* value = document_.find(name_of(key));
  return value && !value->is_null() ? value : nullptr;
}

bool Fields::has(std::string_view key) const {
  return present(key) != nullptr;
}

std::string Fields::pointer(std::string_view key) const {
  return place_ + "/" + std::string(name_of(key));
}

void Fields::wrong_type(std::string_view key, const json::Value& value, std::string_view expected) {
  errors_.push_back({ErrorCode::ConfigWrongType,
                     pointer(key),
                     "got " + value.describe() + " on line " + std::to_string(value.line) +
                         ", expected " + std::string(expected),
                     ""});
}

void Fields::inconsistent(std::string_view key, std::string message, std::string hint) {
  errors_.push_back(
      {ErrorCode::ConfigInconsistent, pointer(key), std::move(message), std::move(hint)});
}

std::int64_t Fields::required_size(std::string_view key) {
  if (!has(key)) {
    const bool null = !is_absent(key);
    errors_.push_back({ErrorCode::ConfigMissingKey,
                       pointer(key),
                       null ? "got null, expected an integer"
                            : "got no " + std::string(name_of(key)) + ", expected an integer",
                       "Is the file complete? Every model of this shape names its " +
                           std::string(name_of(key)) + "."});
    return 1;
  }
  return size(key).value_or(1);
}

std::optional<std::int64_t> Fields::size(std::string_view key, std::int64_t low) {
  const json::Value* value = present(key);
  if (!value) return std::nullopt;
  const std::int64_t* number = value->as_integer();
  if (!number) {
    wrong_type(key, *value, "an integer");
    return std::nullopt;
  }
  if (*number < low || *number > kMaxDimension) {
    errors_.push_back({ErrorCode::ConfigOutOfRange,
                       pointer(key),
                       "got " + value->describe() + " on line " + std::to_string(value->line) +
                           ", expected an integer from " + std::to_string(low) + " to " +
                           std::to_string(kMaxDimension),
                       ""});
    return std::nullopt;
  }
  return *number;
}

std::optional<bool> Fields::flag(std::string_view key) {
  const json::Value* value = present(key);
  if (!value && is_absent(key) && !usual(key).empty()) return usual(key) == "true";
  if (!value) return std::nullopt;
  if (const bool* flag = value->as_bool()) return *flag;
  wrong_type(key, *value, "true or false");
  return std::nullopt;
}

std::optional<std::string> Fields::text(std::string_view key) {
  const json::Value* value = present(key);
  if (!value && is_absent(key) && !usual(key).empty()) return std::string(usual(key));
  if (!value) return std::nullopt;
  if (const std::string* text = value->as_string()) return *text;
  wrong_type(key, *value, "a string");
  return std::nullopt;
}

double Fields::number(std::string_view key, double absent) {
  const json::Value* value = present(key);
  // The end of a literal: it stops at a zero.
  if (!value && is_absent(key) && !usual(key).empty())
    return std::strtod(usual(key).data(), nullptr);
  if (!value) return absent;
  if (const double* real = value->as_real()) return *real;
  if (const std::int64_t* integer = value->as_integer()) return static_cast<double>(*integer);
  wrong_type(key, *value, "a number");
  return absent;
}

const json::Value* Fields::object(std::string_view key) {
  const json::Value* value = present(key);
  if (!value || value->as_object()) return value;
  wrong_type(key, *value, "an object");
  return nullptr;
}

const json::Array* Fields::array(std::string_view key) {
  const json::Value* value = present(key);
  if (!value) return nullptr;
  if (!value->as_array()) wrong_type(key, *value, "a list");
  return value->as_array();
}

const json::Array* Fields::texts(std::string_view key) {
  const json::Array* elements = array(key);
  if (!elements) return nullptr;
  for (const json::Value& element : *elements) {
    if (element.as_string()) continue;
    wrong_type(key, element, "a list of strings");
    return nullptr;
  }
  return elements;
}

}  // namespace peakline
