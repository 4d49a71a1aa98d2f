// Counts a model's parameters by the `let` and `weights` columns of its row in families.json:
//
//   let      "H = hidden_size ?? n_embd"   a variable for the lines below it
//   weights  "embedding V*H"               elements of one role: embedding, head, linear, other
//            "model text_config|self as T head lm"   a model inside this one, at the first of the
//                                     paths that is an object: by the row of its own model_type, or
//                                     by T's; and whether it has a head
//            "when E then LINE"       the line only where E is not 0
//
// Set before any `let`: the usual sizes V H F L A K D, the task the class name asks for (lm, mlm,
// cls, qa, tok, body: one of them is 1), labels, and tied.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "architecture/expression.h"
#include "architecture/families.h"
#include "architecture/task.h"
#include "peakline/architecture.h"

namespace peakline {

struct Count {
  std::optional<Parameters> parameters;
  std::string reason;  // why there are none
  std::int64_t num_layers = 0;
  std::int64_t vocab_size = 0;
};

// A nested config may leave out what its config class supplies; a whole one names its sizes.
enum class Place : std::uint8_t { Whole, Nested };

[[nodiscard]] Count count_by_table(const json::Value& document,
                                   const data::FamiliesRow& family,
                                   const Task& task,
                                   Place place = Place::Whole);

}  // namespace peakline
