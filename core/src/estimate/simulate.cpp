#include "estimate/lora_targets.h"
#include "peakline/estimate.h"
#include "train/step.h"
#include "train/step_size.h"

namespace peakline {

namespace {

// Far above any card, and far enough below what 64 bits hold that later sums stay exact.
constexpr Bytes kMostBytes = gibibytes(std::int64_t{1} << 30);  // 1 EiB

bool within_bounds(const Events& events) {
  Bytes live;
  for (const std::int32_t event : events.events) {
    const auto tensor = static_cast<std::size_t>(event >= 0 ? event : -event - 1);
    const Bytes bytes = events.tensors[tensor].bytes;
    live = event >= 0 ? live + bytes : live - bytes;
    if (live < Bytes(0) || live > kMostBytes) return false;
  }
  return true;
}

double most_events(const DenseDecoder& shape, const TrainSetup& setup, History history) {
  const std::int64_t steps =
      history == History::BothSteps || setup.trainer == Trainer::None ? 2 : 1;
  return most_events(shape, setup, steps * micro_batches_run(setup, history));
}

Errors absurd_sizes(const DenseDecoder& shape, const TrainSetup& setup, History history) {
  Errors errors;
  if (most_events(shape, setup, history) > static_cast<double>(kMaxEvents)) {
    errors.push_back({ErrorCode::TooLarge,
                      "",
                      "the step makes more events than this program records",
                      "lower gradient_accumulation_steps or check num_hidden_layers"});
  }
  if (most_elements(shape, setup) > kMaxElements) {
    errors.push_back(
        {ErrorCode::TooLarge,
         "",
         "one tensor of the step could hold more than 2^60 elements",
         "check the sizes in config.json, max_length and per_device_train_batch_size"});
  }
  return errors;
}

Result<Events> run(const Architecture& architecture, const TrainSetup& setup, History history) {
  if (!architecture.dense)
    return Error{ErrorCode::NotModelled, "config", architecture.not_modelled, ""};
  TrainSetup checked = setup;
  if (Errors errors = apply_lora_targets(architecture, checked); !errors.empty()) return errors;
  if (!checked.not_modelled.empty())
    return Error{ErrorCode::NotModelled, "setup", checked.not_modelled.front(), ""};
  const std::string reason = not_modelled(*architecture.dense, setup);
  if (!reason.empty()) return Error{ErrorCode::NotModelled, "setup", reason, ""};
  if (Errors errors = absurd_sizes(*architecture.dense, setup, history); !errors.empty())
    return errors;
  Events events;
  // Growing would copy and touch twice the memory; what is reserved too much is never touched.
  const auto most = static_cast<std::size_t>(most_events(*architecture.dense, setup, history));
  events.events.reserve(most);
  events.tensors.reserve(most / 2);
  const auto engine =
      make_symbolic_engine({setup.gpu.compute_capability, setup.gpu.sm_count}, events);
  run_training(*engine, *architecture.dense, setup, history);
  if (events.too_large) {
    return Error{ErrorCode::TooLarge,
                 "",
                 "the step makes more events than this program records",
                 "lower gradient_accumulation_steps or check num_hidden_layers"};
  }
  if (!within_bounds(events)) {
    return Error{ErrorCode::TooLarge,
                 "",
                 "the step needs more than 1 EiB of memory at once",
                 "check the sizes in config.json, max_length and per_device_train_batch_size"};
  }
  return events;
}

}  // namespace

Result<Events> simulate(const Architecture& architecture, const TrainSetup& setup) {
  return run(architecture, setup, History::BothSteps);
}

Result<Events> simulate_steady_step(const Architecture& architecture, const TrainSetup& setup) {
  return run(architecture, setup, History::SteadyStep);
}

}  // namespace peakline
