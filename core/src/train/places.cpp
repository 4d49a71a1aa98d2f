#include "train/places.h"

#include <string_view>

namespace peakline {

Linear* projection(DecoderLayer& layer, ModuleRole role) {
  switch (role) {
    case ModuleRole::Query:
      return &layer.q_proj;
    case ModuleRole::Key:
      return &layer.k_proj;
    case ModuleRole::Value:
      return &layer.v_proj;
    case ModuleRole::QueryKeyValue:
      return &layer.qkv_proj;
    case ModuleRole::QueryDown:
      return &layer.q_down_proj;
    case ModuleRole::LatentDown:
      return &layer.latent_down_proj;
    case ModuleRole::LatentUp:
      return &layer.latent_up_proj;
    case ModuleRole::Output:
      return &layer.o_proj;
    case ModuleRole::Gate:
      return &layer.gate_proj;
    case ModuleRole::Up:
      return &layer.up_proj;
    case ModuleRole::GateUp:
      return &layer.gate_up_proj;
    case ModuleRole::Down:
      return &layer.down_proj;
    case ModuleRole::ProjectIn:
    case ModuleRole::ProjectOut:
    case ModuleRole::AttentionNorm:
    case ModuleRole::AttentionOutNorm:
    case ModuleRole::MlpNorm:
    case ModuleRole::MlpOutNorm:
    case ModuleRole::QueryNorm:
    case ModuleRole::KeyNorm:
    case ModuleRole::QueryDownNorm:
    case ModuleRole::LatentNorm:
      break;
  }
  return nullptr;
}

std::optional<Norm>& norm_of(DecoderLayer& layer, ModuleRole role) {
  switch (role) {
    case ModuleRole::QueryNorm:
      return layer.q_norm;
    case ModuleRole::KeyNorm:
      return layer.k_norm;
    case ModuleRole::QueryDownNorm:
      return layer.q_down_norm;
    case ModuleRole::LatentNorm:
      return layer.latent_norm;
    case ModuleRole::AttentionOutNorm:
      return layer.attention_out_norm;
    case ModuleRole::MlpNorm:
      return layer.mlp_norm;
    case ModuleRole::MlpOutNorm:
      return layer.mlp_out_norm;
    default:
      return layer.attention_norm;
  }
}

Linear& outer_linear(CausalLm& model, const LayerModule& module) {
  std::optional<Linear>& place =
      module.role == ModuleRole::ProjectIn ? model.project_in : model.project_out;
  return place ? *place : place.emplace();
}

bool final_norm_first(const DenseDecoder& shape) {
  bool norm_seen = false;
  for (const std::string_view line : shape.modules) {
    norm_seen = norm_seen || line.starts_with("final_norm ");
    if (line.starts_with("layers ")) return norm_seen;
  }
  return false;
}

}  // namespace peakline
