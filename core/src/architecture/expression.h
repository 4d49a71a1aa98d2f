// The small language of core/data/families.json: integer arithmetic over a config's fields.
//
//   names       a variable of the scope, else a field of the config; "a.b" is a field of an object.
//               true is 1, false is 0; null and absent are unknown
//   arithmetic  + - * / % (rounded down), comparisons, && || !, c ? a : b, a ?? b (b where a is
//   unknown) has(f)      1 where the field is there and not null        len(f)  entries of a list
//   or object is(f, "x")  1 where the field is the string x              count(f, "x")  entries
//   equal to x, or
//                                                              occurrences of x in a string
//   max min ceil_div(a, b) round_up(a, b)
//   sum(i, n, e)  e added up for i = 0 .. n-1
//   refuse("why")  unknown, for that reason
//
// What is unknown makes everything unknown that needs it, and the reason is kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "peakline/json.h"

namespace peakline {

struct Number {
  bool known = true;
  std::int64_t value = 0;  // saturates, like Quantity
  std::string reason;      // why not known: "the config has no hidden_size"

  [[nodiscard]] static Number of(std::int64_t value) { return {true, value, ""}; }
  [[nodiscard]] static Number unknown(std::string reason) { return {false, 0, std::move(reason)}; }
};

class Scope {
 public:
  explicit Scope(const json::Value& document) : document_(document) {}

  void define(std::string name, Number value);
  // nullptr where there is no such variable.
  [[nodiscard]] const Number* variable(std::string_view name) const;
  // The field at a dotted path, or nullptr.
  [[nodiscard]] const json::Value* field(std::string_view path) const;

 private:
  struct Variable {
    std::string name;
    Number value;
  };
  const json::Value& document_;
  std::vector<Variable> variables_;
};

// `malformed` is set where the text is no expression: a mistake in our own table, which a test
// finds.
[[nodiscard]] Number evaluate(std::string_view text, Scope& scope, bool& malformed);

}  // namespace peakline
