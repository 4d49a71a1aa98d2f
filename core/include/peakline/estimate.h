// The whole core behind two doors: a typed one for the agent and a JSON one for the page. Both are
// pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "peakline/architecture.h"
#include "peakline/gpu_catalogue.h"
#include "peakline/json.h"
#include "peakline/model_config.h"
#include "peakline/quantity.h"
#include "peakline/report.h"
#include "peakline/result.h"
#include "peakline/symbolic.h"
#include "peakline/train_setup.h"

namespace peakline {

// config.json text and setup JSON text (partial) to a Report, or every mistake found in both.
[[nodiscard]] Result<Report> estimate(std::string_view config_json, std::string_view setup_json);

// At most kMaxChanges changes of a setup whose run does not surely fit, each simulated: those that
// alone make it fit first, the cheapest first; else the cheapest changes together; then what saves
// most. Empty where it fits or is not modelled. `asked` is what estimate() said of the two texts.
inline constexpr std::size_t kMaxChanges = 3;
[[nodiscard]] std::vector<Change> cheapest_changes(const Report& asked,
                                                   std::string_view config_json,
                                                   std::string_view setup_json);

// What takes more than the run that was asked about: the changes, memory.expandable_saving, and
// verdict.streaming where even the smallest resident run of the model does not fit the card.
void add_advice(Report& asked, std::string_view config_json, std::string_view setup_json);

// Load and two training steps as events, or why they cannot be run.
[[nodiscard]] Result<Events> simulate(const Architecture& architecture, const TrainSetup& setup);
// The second step alone, on what a first one leaves alive: the same peak for half the work.
[[nodiscard]] Result<Events> simulate_steady_step(const Architecture& architecture,
                                                  const TrainSetup& setup);

// The JSON door. `request` is one of
//   {"schema": 1, "op": "fit", "config": "<config.json text>", "setup": {...}}
//     and, with "changes": true, the report says what would make the run fit, or
//     what streaming would take where nothing resident would, and what expandable segments save
//   {"schema": 1, "op": "gpus"}
//     -> {"ok": true, "gpus": [{"name", "compute_capability", "total_bytes", ...}]}
//   {"schema": 1, "op": "setup_keys"}
//     -> {"ok": true, "keys": [{"name", "kind", "choices", "meaning"}]}
//   {"schema": 1, "op": "version"}      -> {"ok": true, "core_version": "..."}
// and the reply is {"ok": true, "report": {...}}
//               or {"ok": false, "errors": [{"code", "where", "message", "hint"}]}.
// Places inside the config are written "config: line 3, column 7" or "config:/hidden_size", those
// of the setup "/max_length".
[[nodiscard]] std::string call(std::string_view request);

// Errors as the JSON the door returns.
[[nodiscard]] std::string errors_json(const Errors& errors);

}  // namespace peakline
