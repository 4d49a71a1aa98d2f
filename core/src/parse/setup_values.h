// The values of a setup while it is being resolved: what was given, then what defaults add.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "parse/setup_fields.h"
#include "peakline/json.h"
#include "peakline/result.h"
#include "peakline/train_setup.h"

namespace peakline {

class SetupValues {
 public:
  SetupValues() : slots_(setup_fields().size()) {}

  [[nodiscard]] bool given(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return slot(name).value.has_value(); }
  // Given, but wrong: its error is told, and what its default means beside other values is not.
  [[nodiscard]] bool refused(std::string_view name) const { return slot(name).refused; }
  // The value; Null where nothing is set. Unknown names are our own mistake and read as Null.
  [[nodiscard]] const json::Value& at(std::string_view name) const;
  [[nodiscard]] bool is_null(std::string_view name) const { return at(name).is_null(); }
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;

  void set(std::string_view name, json::Value value, Origin origin);
  void refuse(std::string_view name);
  // Sets a table cell where nothing is set yet.
  void set_default(std::string_view name, std::string_view literal, Origin origin);

  // The whole as one JSON document in the order of the table, and the origin of each leaf.
  [[nodiscard]] json::Value document() const;
  [[nodiscard]] std::vector<ResolvedValue> origins() const;

 private:
  struct Slot {
    std::optional<json::Value> value;
    Origin origin = Origin::Derived;
    bool refused = false;
  };
  [[nodiscard]] const Slot& slot(std::string_view name) const;

  std::vector<Slot> slots_;  // parallel to setup_fields()
};

// Checks a given document key by key; mistakes are appended to `errors`, good values land in the
// result.
[[nodiscard]] SetupValues read_given_setup(const json::Value& document, Errors& errors);

// Fills in the card: `gpu.*` from the catalogue. The document's "gpu" may be a string: see
// gpu_text_to_object.
void resolve_gpu(SetupValues& values, Errors& errors, std::vector<std::string>& notes);

// True where the card's total is what a driver reported: given by hand, or stated by the
// catalogue's source.
[[nodiscard]] bool has_reported_total(const SetupValues& values);

// "RTX 3060 12GBx2" -> {"name": "RTX 3060 12GB", "count": 2}
[[nodiscard]] json::Value gpu_text_to_object(const json::Value& text);

// 86 for "8.6", nothing where the text is not of that form.
[[nodiscard]] std::optional<int> parse_compute_capability(std::string_view text);

// Ampere: PyTorch only emulates bfloat16 below. It is also what a card of unknown capability is
// taken for.
inline constexpr int kFirstBfloat16Capability = 80;
[[nodiscard]] int capability_of(const SetupValues& values);

// Whether the base is packed: an 8-bit one is, whichever adapters are named.
[[nodiscard]] bool quantises(const SetupValues& values);

// Values that fit the table but not each other.
void check_consistency(const SetupValues& values, Errors& errors);

// Sentences about what was given and has no effect, or changes memory in a way not modelled yet.
void note_effects(const SetupValues& values, TrainSetup& setup);

}  // namespace peakline
