#include "architecture/expression.h"

#include <algorithm>

#include "peakline/quantity.h"

namespace peakline {
namespace {

constexpr std::int64_t kMaxTerms = 4096;  // of a sum: more layers than any model has

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Two operands are unknown as soon as one is.
template <class Operation>
Number combine(const Number& a, const Number& b, Operation operation) {
  if (!a.known) return a;
  if (!b.known) return b;
  return Number::of(operation(a.value, b.value));
}

std::int64_t times(std::int64_t a, std::int64_t b) {
  return (Elements(a) * b).count();
}
std::int64_t plus(std::int64_t a, std::int64_t b) {
  return (Elements(a) + Elements(b)).count();
}
std::int64_t minus(std::int64_t a, std::int64_t b) {
  return (Elements(a) - Elements(b)).count();
}

std::int64_t occurrences(const json::Value& value, std::string_view wanted) {
  std::int64_t found = 0;
  if (const std::string* text = value.as_string()) {
    for (std::size_t at = text->find(wanted); at != std::string::npos && !wanted.empty();
         at = text->find(wanted, at + wanted.size())) {
      ++found;
    }
  } else if (const json::Array* elements = value.as_array()) {
    for (const json::Value& element : *elements) {
      const std::string* entry = element.as_string();
      if (entry && *entry == wanted) ++found;
    }
  }
  return found;
}

Number without(std::string_view field) {
  return Number::unknown("the config has no " + std::string(field));
}

class Evaluator {
 public:
  Evaluator(std::string_view text, Scope& scope, bool& malformed)
      : text_(text), scope_(scope), malformed_(malformed) {}

  Number whole() {
    Number result = conditional();
    skip_blanks();
    if (at_ != text_.size()) malformed_ = true;
    return result;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(std::string_view token) {
    skip_blanks();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  // A one-character operator that is not the beginning of a longer one.
  bool take_single(char token, char never_before) {
    skip_blanks();
    const bool there = at_ < text_.size() && text_[at_] == token;
    if (!there || (at_ + 1 < text_.size() && text_[at_ + 1] == never_before)) return false;
    ++at_;
    return true;
  }

  void expect(std::string_view token) {
    if (!take(token)) malformed_ = true;
  }

  Number conditional() {
    Number condition = alternative();
    if (!take_single('?', '?')) return condition;
    Number yes = conditional();
    expect(":");
    Number no = conditional();
    if (!condition.known) return condition;
    return condition.value != 0 ? yes : no;
  }

  Number alternative() {
    Number first = either();
    while (take("??")) {
      Number second = either();
      if (!first.known) first = std::move(second);
    }
    return first;
  }

  Number either() {
    Number a = both();
    while (take("||")) a = combine(a, both(), [](auto x, auto y) { return std::int64_t{x || y}; });
    return a;
  }

  Number both() {
    Number a = comparison();
    while (take("&&")) {
      a = combine(a, comparison(), [](auto x, auto y) { return std::int64_t{x && y}; });
    }
    return a;
  }

  Number comparison() {
    Number a = addition();
    if (take("=="))
      return combine(a, addition(), [](auto x, auto y) { return std::int64_t{x == y}; });
    if (take("!="))
      return combine(a, addition(), [](auto x, auto y) { return std::int64_t{x != y}; });
    if (take("<="))
      return combine(a, addition(), [](auto x, auto y) { return std::int64_t{x <= y}; });
    if (take(">="))
      return combine(a, addition(), [](auto x, auto y) { return std::int64_t{x >= y}; });
    if (take("<"))
      return combine(a, addition(), [](auto x, auto y) { return std::int64_t{x < y}; });
    if (take(">"))
      return combine(a, addition(), [](auto x, auto y) { return std::int64_t{x > y}; });
    return a;
  }

  Number addition() {
    Number a = product();
    while (true) {
      if (take("+"))
        a = combine(a, product(), plus);
      else if (take("-"))
        a = combine(a, product(), minus);
      else
        return a;
    }
  }

  Number product() {
    Number a = unary();
    while (true) {
      if (take("*"))
        a = combine(a, unary(), times);
      else if (take("/"))
        a = divided(a, unary(), false);
      else if (take("%"))
        a = divided(a, unary(), true);
      else
        return a;
    }
  }

  static Number divided(const Number& a, const Number& b, bool remainder) {
    if (a.known && b.known && b.value <= 0) return Number::unknown("a size is zero");
    return combine(a, b, [&](auto x, auto y) { return remainder ? x % y : x / y; });
  }

  Number unary() {
    if (take_single('!', '=')) {
      Number a = unary();
      return a.known ? Number::of(a.value == 0 ? 1 : 0) : a;
    }
    if (take("-")) {
      Number a = unary();
      return a.known ? Number::of(minus(0, a.value)) : a;
    }
    return primary();
  }

  Number primary() {
    skip_blanks();
    if (take("(")) {
      Number inside = conditional();
      expect(")");
      return inside;
    }
    if (at_ < text_.size() && is_digit(text_[at_])) {
      std::int64_t value = 0;
      while (at_ < text_.size() && is_digit(text_[at_]))
        value = plus(times(value, 10), text_[at_++] - '0');
      return Number::of(value);
    }
    const std::string_view name = word();
    if (name.empty()) {
      malformed_ = true;
      at_ = text_.size();
      return Number::of(0);
    }
    return take("(") ? call(name) : named(name);
  }

  // Letters, digits, and dots between them.
  std::string_view word() {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::string_view quoted() {
    expect("\"");
    const std::size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) {
      malformed_ = true;
      return "";
    }
    const std::string_view inside = text_.substr(at_, end - at_);
    at_ = end + 1;
    return inside;
  }

  Number named(std::string_view name) const {
    if (const Number* variable = scope_.variable(name)) return *variable;
    const json::Value* field = scope_.field(name);
    if (field) {
      if (const std::int64_t* integer = field->as_integer()) return Number::of(*integer);
      if (const bool* flag = field->as_bool()) return Number::of(*flag ? 1 : 0);
      if (const double* real = field->as_real()) {
        const auto whole = static_cast<std::int64_t>(std::clamp(*real, -1e15, 1e15));
        if (static_cast<double>(whole) == *real) return Number::of(whole);
      }
    }
    if (field && !field->is_null()) {
      return Number::unknown(std::string(name) + " is " + field->describe() + ", not an integer");
    }
    return without(name);
  }

  Number call(std::string_view function) {
    if (function == "sum") return sum();
    if (function == "refuse") {
      const std::string_view reason = quoted();
      expect(")");
      return Number::unknown(std::string(reason));
    }
    if (function == "max" || function == "min" || function == "ceil_div" ||
        function == "round_up") {
      Number a = conditional();
      expect(",");
      Number b = conditional();
      expect(")");
      return arithmetic(function, a, b);
    }
    const std::string_view path = word();
    const json::Value* field = scope_.field(path);
    Number result = Number::of(0);
    if (function == "has") {
      result.value = field && !field->is_null() ? 1 : 0;
    } else if (function == "len") {
      result = length(path, field);
    } else if (function == "is" || function == "count") {
      expect(",");
      const std::string_view wanted = quoted();
      const std::string* text = field ? field->as_string() : nullptr;
      const bool equal = text && *text == wanted;
      if (function == "is")
        result.value = equal ? 1 : 0;
      else if (field)
        result.value = occurrences(*field, wanted);
      else
        result = without(path);
    } else {
      malformed_ = true;
    }
    expect(")");
    return result;
  }

  static Number length(std::string_view path, const json::Value* field) {
    if (field && field->as_array())
      return Number::of(static_cast<std::int64_t>(field->as_array()->size()));
    if (field && field->as_object())
      return Number::of(static_cast<std::int64_t>(field->as_object()->size()));
    return without(path);
  }

  static Number arithmetic(std::string_view function, const Number& a, const Number& b) {
    if (function == "max") return combine(a, b, [](auto x, auto y) { return std::max(x, y); });
    if (function == "min") return combine(a, b, [](auto x, auto y) { return std::min(x, y); });
    const Number raised = combine(combine(a, b, plus), Number::of(1), minus);
    Number quotient = divided(raised, b, false);
    return function == "ceil_div" ? quotient : combine(quotient, b, times);
  }

  // The summand is read again for each value of the variable.
  Number sum() {
    const std::string name(word());
    expect(",");
    Number terms = conditional();
    expect(",");
    skip_blanks();
    const std::size_t begin = at_;
    Number total = Number::of(0);
    if (terms.known && terms.value > kMaxTerms)
      terms = Number::unknown("there are more than 4096 layers");
    const std::int64_t count = terms.known ? std::max<std::int64_t>(terms.value, 1) : 1;
    for (std::int64_t i = 0; i < count; ++i) {  // once at least, to find its end
      at_ = begin;
      scope_.define(name, Number::of(i));
      const Number term = conditional();
      if (terms.known && i < terms.value) total = combine(total, term, plus);
    }
    expect(")");
    return terms.known ? total : terms;
  }

  std::string_view text_;
  Scope& scope_;
  bool& malformed_;
  std::size_t at_ = 0;
};

}  // namespace

void Scope::define(std::string name, Number value) {
  for (Variable& variable : variables_) {
    if (variable.name == name) {
      variable.value = std::move(value);
      return;
    }
  }
  variables_.push_back({std::move(name), std::move(value)});
}

const Number* Scope::variable(std::string_view name) const {
  for (const Variable& variable : variables_) {
    if (variable.name == name) return &variable.value;
  }
  return nullptr;
}

const json::Value* Scope::field(std::string_view path) const {
  const json::Value* value = &document_;
  while (value && !path.empty()) {
    const std::size_t dot = path.find('.');
    value = value->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return value;
}

Number evaluate(std::string_view text, Scope& scope, bool& malformed) {
  return Evaluator(text, scope, malformed).whole();
}

}  // namespace peakline
