#include "cli/setup_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "cli/arguments.h"
#include "peakline/nearest.h"

namespace peakline::cli {
namespace {

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, value);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

// Decimal notation only: strtod alone would take "inf", "nan" and hexadecimal.
std::optional<double> number_of(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789+-.eE") != std::string::npos)
    return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool is_choice(std::string_view choices, std::string_view word) {
  return any_choice(choices, [word](std::string_view choice) { return choice == word; });
}

// The table of keys does not say which may be null, so the core is asked to read one.
bool may_be_null(const SetupKey& key) {
  json::Value document{json::Object{}};
  set_member(document, key.name, json::Value{json::Null{}});
  return parse_train_setup(json::dump(document)).has_value();
}

json::Value scalar_of(const std::string& text) {
  if (const auto integer = integer_of(text)) return {*integer};
  if (const auto number = number_of(text)) return {*number};
  if (text == "true" || text == "True") return {true};
  if (text == "false" || text == "False") return {false};
  return {text};
}

// "q_proj,v_proj" or JSON.
Result<json::Value> list_of(const std::string& text) {
  if (text.starts_with('[')) return json::parse(text);
  json::Array elements;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string element(rest.substr(0, comma));
    if (const auto integer = integer_of(element)) {
      elements.push_back({*integer});
    } else if (!element.empty()) {
      elements.push_back({element});
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return json::Value{std::move(elements)};
}

// "a=1,b=true", as TrainingArguments takes them, or JSON.
Result<json::Value> object_of(const std::string& text) {
  if (text.starts_with('{')) return json::parse(text);
  json::Object members;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view pair = rest.substr(0, comma);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) {
      return Error{ErrorCode::UsageBadValue,
                   "",
                   "",
                   "write it as name=value,name=value or as a JSON object"};
    }
    members.emplace_back(std::string(pair.substr(0, equals)),
                         scalar_of(std::string(pair.substr(equals + 1))));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return json::Value{std::move(members)};
}

std::string_view without_trailing_spaces(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

Error bad_value(const std::string& option,
                const std::string& text,
                std::string_view expected,
                std::string hint = "") {
  return {ErrorCode::UsageBadValue,
          option,
          "got \"" + text + "\", expected " + std::string(expected),
          std::move(hint)};
}

}  // namespace

Result<json::Value> value_of(const SetupKey& key,
                             const std::string& option,
                             const std::string& text) {
  if (text == "null" || text == "None") return json::Value{json::Null{}};
  if (key.kind == "integer") {
    if (const auto integer = integer_of(text)) return json::Value{*integer};
    return bad_value(option, text, "a whole number", std::string(key.meaning));
  }
  if (key.kind == "number") {
    if (const auto integer = integer_of(text)) return json::Value{*integer};
    if (const auto number = number_of(text)) return json::Value{*number};
    return bad_value(option, text, "a number", std::string(key.meaning));
  }
  if (key.kind == "boolean") {
    const std::string_view truth = truth_word(text);
    if (!truth.empty()) return json::Value{truth == "true"};
    return bad_value(option, text, "true or false", std::string(key.meaning));
  }
  const bool is_list = key.kind == "list" && !is_choice(key.choices, text);
  if (is_list || key.kind == "object") {
    Result<json::Value> value = is_list ? list_of(text) : object_of(text);
    if (value) return value;
    return bad_value(option, text, is_list ? "a list" : "an object", value.error().front().hint);
  }
  const bool switches_off = text == "off" || text == "none" || text == "no";
  if (switches_off && !is_choice(key.choices, text) && may_be_null(key))
    return json::Value{json::Null{}};
  return json::Value{text};
}

void set_member(json::Value& root, std::string_view path, json::Value value) {
  const std::size_t dot = path.find('.');
  const std::string_view name = path.substr(0, dot);
  if (root.as_object() == nullptr) root.data = json::Object{};
  auto& members = *std::get_if<json::Object>(&root.data);
  json::Value* member = nullptr;
  for (auto& [key, old] : members) {
    if (key == name) member = &old;
  }
  if (member == nullptr) {
    members.emplace_back(std::string(name), json::Value{json::Null{}});
    member = &members.back().second;
  }
  if (dot == std::string_view::npos) {
    *member = std::move(value);
  } else {
    set_member(*member, path.substr(dot + 1), std::move(value));
  }
}

const json::Value* value_at(const json::Value& document, std::string_view key) {
  const json::Value* value = &document;
  while (value != nullptr && !key.empty()) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    value = value->find(key.substr(0, dot));
    key.remove_prefix(std::min(dot + 1, key.size()));
  }
  return value;
}

std::optional<Bytes> memory_of(std::string_view text) {
  double unit = 0x1p30;
  if (text.ends_with("GiB")) {
    text.remove_suffix(3);
  } else if (text.ends_with("MiB")) {
    text.remove_suffix(3);
    unit = 0x1p20;
  }
  text = without_trailing_spaces(text);
  constexpr double kMaxGibibytes = 1 << 20;
  const std::optional<double> number = number_of(std::string(text));
  if (!number || *number <= 0 || *number * unit > kMaxGibibytes * 0x1p30) return std::nullopt;
  return Bytes(static_cast<std::int64_t>(std::llround(*number * unit)));
}

}  // namespace peakline::cli
