// The modules of one decoder layer that hold parameters: one list for loading, adapters, their
// targets and their counts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace peakline {

struct DenseDecoder;

// What a module of a layer is for.
enum class ModuleRole : std::uint8_t {
  AttentionNorm,     // of what attention reads
  AttentionOutNorm,  // of what it adds to the residual
  Query,
  Key,
  Value,
  QueryKeyValue,  // in place of the three
  QueryDown,      // to a narrow row
  QueryDownNorm,  // of which
  LatentDown,     // the same for keys and values, with the part of k that turns
  LatentNorm,
  LatentUp,  // and out of it
  Output,
  QueryNorm,
  KeyNorm,
  MlpNorm,
  MlpOutNorm,
  Gate,
  Up,
  GateUp,  // in place of both
  Down,
  ProjectIn,   // outside of the layers, from a token's row to H
  ProjectOut,  // and back
};

struct LayerModule {
  ModuleRole role = ModuleRole::Query;
  const char* path = "";  // in its layer: "self_attn.q_proj"
  std::int64_t in = 0;    // 0 for a norm
  std::int64_t out = 0;
  bool bias = false;
  bool weight = true;      // false for a norm that only normalises
  std::int64_t heads = 0;  // of a norm with weights of their own for each: [heads, D]

  [[nodiscard]] bool is_projection() const { return in > 0; }
  // What PEFT and the optimizer know it by: "q_proj".
  [[nodiscard]] std::string_view name() const;
};

// In the order in which transformers' module registers them, which is that of its parameters.
[[nodiscard]] std::vector<LayerModule> layer_modules(const DenseDecoder& decoder);

// The projections outside of the layers but for the head.
[[nodiscard]] std::vector<LayerModule> outer_projections(const DenseDecoder& decoder);

// The path of a module outside the layers: "embedding", "layers", "final_norm", "positions".
[[nodiscard]] const char* module_path(const DenseDecoder& decoder, std::string_view role);

}  // namespace peakline
