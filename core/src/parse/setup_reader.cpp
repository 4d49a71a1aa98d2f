// Checks what was given: every key known, every value of its type and in range, all mistakes at
// once.
#include "parse/setup_values.h"
#include "parse/shortened.h"
#include "peakline/nearest.h"

namespace peakline {
namespace {

constexpr std::size_t kMaxTextBytes = 256;
constexpr std::size_t kMaxListBytes = 4096;

std::string bound_text(double bound) {
  if (bound > -1e18 && bound < 1e18) {
    const auto whole = static_cast<std::int64_t>(bound);
    if (static_cast<double>(whole) == bound) return std::to_string(whole);
  }
  return json::dump({bound, 0, 0});
}

std::string expectation(const SetupField& field) {
  const std::string null_too = field.nullable ? " or null" : "";
  const std::string range = bound_text(field.low) + " to " + bound_text(field.high);
  switch (field.kind) {
    case FieldKind::Integer:
      return (field.low == field.high ? bound_text(field.low) : "an integer from " + range) +
             null_too;
    case FieldKind::Number:
      return "a number from " + range + null_too;
    case FieldKind::Boolean:
      return "true or false" + null_too;
    case FieldKind::Choice: {
      std::string list;
      any_choice(field.choices, [&](std::string_view name) {
        list += (list.empty() ? "" : ", ") + std::string(name);
        return false;
      });
      return "one of " + list + null_too;
    }
    case FieldKind::Text:
      return "a string" + null_too;
    case FieldKind::Texts:
      return "a list of strings" + null_too;
    case FieldKind::Integers:
      return "a list of integers from 1 to " + bound_text(field.high) + null_too;
    case FieldKind::Members:
      return "an object" + null_too;
    case FieldKind::Targets:
      return "\"all-linear\" or a list of module names" + null_too;
  }
  return "something else";
}

// "bf16" where the field says bfloat16, "bfloat16" where it says bf16.
std::string_view spelt_out(std::string_view text, const SetupField& field) {
  constexpr std::string_view kPairs[][2] = {
      {"bf16", "bfloat16"}, {"fp16", "float16"}, {"fp32", "float32"}};
  for (const auto& [brief, full] : kPairs) {
    const std::string_view other = text == brief ? full : text == full ? brief : std::string_view();
    const bool known = !other.empty() && any_choice(field.choices, [&](std::string_view name) {
      return name == other;
    });
    if (known) return other;
  }
  return text;
}

// "1024", "true": right but for its quotes.
bool reads_as_plain(const std::string& text) {
  return text == "true" || text == "false" ||
         (!text.empty() && text.find_first_not_of("0123456789.") == std::string::npos);
}

class Reader {
 public:
  explicit Reader(Errors& errors) : errors_(errors) {}

  void read(const json::Object& members, const std::string& group) {
    for (const auto& [key, value] : members) {
      const std::string name = group.empty() ? key : group + "." + key;
      if (const SetupField* field = find_setup_field(name)) {
        const std::size_t before = errors_.size();
        check(*field, value);
        if (errors_.size() > before) values_.refuse(name);
      } else if (group.empty() && is_setup_group(key)) {
        read_group(key, value);
      } else {
        report(ErrorCode::SetupUnknownKey,
               where(group, key),
               "got an unknown key, expected a setup key",
               setup_key_hint(name));
      }
    }
  }

  SetupValues take() { return std::move(values_); }

 private:
  // A key may hold any text: "~" and "/" are escaped as JSON pointers want.
  static std::string where(const std::string& group, const std::string& key) {
    constexpr std::size_t kMaxShown = 80;
    std::string result = group.empty() ? "/" : "/" + group + "/";
    for (const char c : shortened(key, kMaxShown)) {
      if (c == '~')
        result += "~0";
      else if (c == '/')
        result += "~1";
      else
        result += c;
    }
    return result;
  }

  void report(ErrorCode code, std::string where, std::string message, std::string hint) {
    errors_.push_back({code, std::move(where), std::move(message), std::move(hint)});
  }

  void read_group(const std::string& group, const json::Value& value) {
    if (group == "gpu" && value.as_string()) {
      const json::Value object = gpu_text_to_object(value);
      read(*object.as_object(), group);
    } else if (const json::Object* members = value.as_object()) {
      read(*members, group);
    } else {
      report(ErrorCode::SetupWrongType,
             "/" + group,
             "got " + value.describe() + ", expected an object" +
                 (group == "gpu" ? " or a card's name" : ""),
             "");
    }
  }

  void check(const SetupField& field, const json::Value& value) {
    if (value.is_null() && field.nullable) return keep(field, value);
    switch (field.kind) {
      case FieldKind::Integer:
        return check_integer(field, value);
      case FieldKind::Number:
        return check_number(field, value);
      case FieldKind::Boolean:
        return value.as_bool() ? keep(field, value) : wrong_type(field, value);
      case FieldKind::Choice:
        return check_choice(field, value);
      case FieldKind::Text:
        if (!value.as_string() || value.as_string()->empty()) return wrong_type(field, value);
        if (!too_long(field, value)) keep(field, value);
        return;
      case FieldKind::Texts:
      case FieldKind::Targets:
      case FieldKind::Integers:
        return check_list(field, value);
      case FieldKind::Members:
        if (!value.as_object()) return wrong_type(field, value);
        if (!too_long(field, value)) keep(field, value);
        return;
    }
  }

  void keep(const SetupField& field, const json::Value& value) {
    values_.set(field.name, value, Origin::Given);
  }

  void wrong_type(const SetupField& field, const json::Value& value, std::string hint = "") {
    if (field.kind == FieldKind::Integer && value.as_real())
      hint = "Write it without a decimal point.";
    const bool plain = field.kind == FieldKind::Integer || field.kind == FieldKind::Number ||
                       field.kind == FieldKind::Boolean;
    if (plain && value.as_string() && reads_as_plain(*value.as_string())) {
      hint = "Write it without quotes.";
    }
    report(ErrorCode::SetupWrongType,
           pointer_to(field.name),
           "got " + value.describe() + ", expected " + expectation(field),
           std::move(hint));
  }

  void out_of_range(const SetupField& field, const json::Value& value) {
    report(ErrorCode::SetupOutOfRange,
           pointer_to(field.name),
           "got " + value.describe() + ", expected " + expectation(field),
           "");
  }

  // Every value is repeated in the report, which must stay small.
  bool too_long(const SetupField& field, const json::Value& value) {
    const bool is_text = field.kind == FieldKind::Text;
    const std::size_t length = is_text ? value.as_string()->size() : json::dump(value).size();
    const std::size_t most = is_text ? kMaxTextBytes : kMaxListBytes;
    if (length <= most) return false;
    report(ErrorCode::SetupOutOfRange,
           pointer_to(field.name),
           "got " + std::to_string(length) + (is_text ? " bytes" : " bytes of JSON") +
               ", expected at most " + std::to_string(most),
           "");
    return true;
  }

  void check_integer(const SetupField& field, const json::Value& value) {
    const std::int64_t* number = value.as_integer();
    if (!number) return wrong_type(field, value);
    const double real = static_cast<double>(*number);
    if (real < field.low || real > field.high) return out_of_range(field, value);
    keep(field, value);
  }

  void check_number(const SetupField& field, const json::Value& value) {
    const std::int64_t* integer = value.as_integer();
    if (!integer && !value.as_real()) return wrong_type(field, value);
    const double real = integer ? static_cast<double>(*integer) : *value.as_real();
    if (!(real >= field.low && real <= field.high)) return out_of_range(field, value);
    keep(field, {real, value.line, value.column});
  }

  void check_choice(const SetupField& field, const json::Value& value) {
    const std::string* text = value.as_string();
    if (!text) return wrong_type(field, value);
    if (any_choice(field.choices, [&](std::string_view name) { return name == *text; })) {
      return keep(field, value);
    }
    // As the command line takes it: people and other programs use both.
    const std::string_view spelt = spelt_out(*text, field);
    if (spelt != *text) return keep(field, {std::string(spelt), value.line, value.column});
    const std::string_view near = nearest_choice(*text, field.choices);
    report(ErrorCode::SetupUnknownValue,
           pointer_to(field.name),
           "got " + value.describe() + ", expected " + expectation(field),
           near.empty() ? "" : "Did you mean \"" + std::string(near) + "\"?");
  }

  void check_list(const SetupField& field, const json::Value& value) {
    if (field.kind == FieldKind::Targets && value.as_string()) {
      if (*value.as_string() == kAllLinear) return keep(field, value);
      return wrong_type(field, value, "Write module names as a list: [\"q_proj\", \"v_proj\"].");
    }
    const json::Array* elements = value.as_array();
    if (!elements) return wrong_type(field, value);
    const bool needs_one = field.kind != FieldKind::Texts;
    if (needs_one && elements->empty()) return wrong_type(field, value);
    if (too_long(field, value)) return;
    bool good = true;
    for (std::size_t i = 0; i < elements->size(); ++i) {
      const json::Value& element = (*elements)[i];
      const std::int64_t* integer = element.as_integer();
      const bool fits =
          field.kind == FieldKind::Integers
              ? integer && *integer >= 1 && static_cast<double>(*integer) <= field.high
              : element.as_string() && !element.as_string()->empty();
      const bool is_word =
          field.kind == FieldKind::Targets && fits && *element.as_string() == kAllLinear;
      if (fits && !is_word) continue;
      good = false;
      report(is_word ? ErrorCode::SetupUnknownValue : ErrorCode::SetupWrongType,
             pointer_to(field.name) + "/" + std::to_string(i),
             "got " + element.describe() + (is_word ? " in a list" : "") + ", expected " +
                 (is_word ? "a module name" : expectation(field)),
             is_word ? "Write \"all-linear\" alone, without a list." : "");
    }
    if (good) keep(field, value);
  }

  Errors& errors_;
  SetupValues values_;
};

}  // namespace

SetupValues read_given_setup(const json::Value& document, Errors& errors) {
  Reader reader(errors);
  if (const json::Object* members = document.as_object()) reader.read(*members, "");
  return reader.take();
}

}  // namespace peakline
