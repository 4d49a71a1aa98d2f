// A small decoder and the step on it, for tests that speak of whole runs.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "peakline/estimate.h"
#include "support/print.h"

namespace peakline::test {

// Sizes that keep every activation a multiple of 512 bytes at 128 tokens, and apart from another.
struct Decoder {
  std::int64_t hidden = 256;        // H
  std::int64_t intermediate = 640;  // F
  std::int64_t heads = 6;           // A
  std::int64_t key_heads = 2;       // K
  std::int64_t head_dim = 64;       // D
  std::int64_t vocabulary = 512;    // V
  std::int64_t layers = 3;          // L
  bool tied = false;
  std::string model_type = "llama";

  [[nodiscard]] nlohmann::json config() const {
    return {{"model_type", model_type},
            {"hidden_size", hidden},
            {"intermediate_size", intermediate},
            {"num_attention_heads", heads},
            {"num_key_value_heads", key_heads},
            {"head_dim", head_dim},
            {"vocab_size", vocabulary},
            {"num_hidden_layers", layers},
            {"max_position_embeddings", 65536},
            {"rms_norm_eps", 1e-5},
            {"hidden_act", "silu"},
            {"tie_word_embeddings", tied}};
  }
};

// An A100 where the setup names no card.
inline nlohmann::json with_card(nlohmann::json setup) {
  if (!setup.contains("gpu")) setup["gpu"] = {{"name", "A100 80GB"}};
  return setup;
}

inline Events events_of(const nlohmann::json& config, const nlohmann::json& setup) {
  const Result<ModelConfig> parsed = parse_model_config(config.dump());
  const Result<TrainSetup> resolved = parse_train_setup(with_card(setup).dump());
  if (!parsed) FAIL(parsed.error().front().where << ": " << parsed.error().front().message);
  if (!resolved) FAIL(resolved.error().front().where << ": " << resolved.error().front().message);
  const Result<Architecture> architecture = build_architecture(*parsed);
  if (!architecture) FAIL(architecture.error().front().message);
  const Result<Events> events = simulate(*architecture, *resolved);
  if (!events) FAIL(events.error().front().message);
  return *events;
}

inline Report report_of(const nlohmann::json& config, const nlohmann::json& setup) {
  const Result<Report> report = estimate(config.dump(), with_card(setup).dump());
  if (!report) FAIL(report.error().front().where << ": " << report.error().front().message);
  return *report;
}

// Live bytes just before the last mark of `phase`.
inline std::int64_t live_at_last(const Events& events, Phase phase) {
  std::int32_t end = 0;
  for (const PhaseMark& mark : events.phases) {
    if (mark.phase == phase) end = mark.event;
  }
  Bytes live;
  for (std::int32_t i = 0; i < end; ++i) {
    const std::int32_t event = events.events[static_cast<std::size_t>(i)];
    const Bytes bytes =
        events.tensors[static_cast<std::size_t>(event >= 0 ? event : -event - 1)].bytes;
    live = event >= 0 ? live + bytes : live - bytes;
  }
  return live.count();
}

}  // namespace peakline::test
