#include "peakline/layer_modules.h"

#include "peakline/architecture.h"

namespace peakline {
namespace {

// Where a row of families.json says nothing.
constexpr TextList kUsualModules(
    "embedding model.embed_tokens\0"
    "layers model.layers\0"
    "final_norm model.norm\0"
    "query self_attn.q_proj\0"
    "key self_attn.k_proj\0"
    "value self_attn.v_proj\0"
    "output self_attn.o_proj\0"
    "query_norm self_attn.q_norm\0"
    "key_norm self_attn.k_norm\0"
    "gate mlp.gate_proj\0"
    "up mlp.up_proj\0"
    "down mlp.down_proj\0"
    "attention_norm input_layernorm\0"
    "mlp_norm post_attention_layernorm\0");

TextList lines_of(const DenseDecoder& d) {
  if (!d.modules.empty()) return d.modules;
  return kUsualModules;
}

std::string_view role_of(std::string_view line) {
  return line.substr(0, line.find(' '));
}

// The end of a literal: it stops at a zero.
const char* path_of(std::string_view line) {
  return line.data() + role_of(line).size() + 1;
}

LayerModule norm(ModuleRole role, std::int64_t size, const DenseDecoder& d) {
  return {role, "", 0, size, d.norm_bias, d.norm_weight};
}

LayerModule head_norm(ModuleRole role, std::int64_t heads, const DenseDecoder& d) {
  const bool each = d.qk_norm == HeadNorm::EachHead;
  LayerModule module = norm(role, each ? d.head_dim : heads * d.head_dim, d);
  if (d.qk_norm == HeadNorm::PerHead) {
    module.bias = false;
    module.heads = heads;
  }
  return module;
}

bool describe_norm(std::string_view role, const DenseDecoder& d, LayerModule& module) {
  const std::int64_t h = d.hidden_size;
  const bool normed = d.qk_norm != HeadNorm::None;
  const bool own = d.norm_for_each_block;
  if (role == (own ? "own_attention_norm" : "attention_norm")) {
    module = norm(ModuleRole::AttentionNorm, h, d);
  } else if (role == "attention_out_norm") {
    module = norm(ModuleRole::AttentionOutNorm, h, d);
  } else if (role == (own ? "own_mlp_norm" : "mlp_norm") && (own || !d.parallel_blocks)) {
    module = norm(ModuleRole::MlpNorm, h, d);
  } else if (role == "mlp_out_norm") {
    module = norm(ModuleRole::MlpOutNorm, h, d);
  } else if (role == "query_norm" && normed) {
    module = head_norm(ModuleRole::QueryNorm, d.num_attention_heads, d);
  } else if (role == "key_norm" && normed) {
    module = head_norm(ModuleRole::KeyNorm, d.num_key_value_heads, d);
  } else {
    return false;
  }
  return true;
}

bool describe_latent(std::string_view role, const DenseDecoder& d, LayerModule& module) {
  const std::int64_t h = d.hidden_size;
  const std::int64_t a = d.num_attention_heads;
  const LatentSizes& s = d.latent;
  const bool low = s.query_rank > 0;
  if (role == "query_down" && low) {
    module = {ModuleRole::QueryDown, "", h, s.query_rank, d.qkv_bias};
  } else if (role == "query_down_norm" && low) {
    module = norm(ModuleRole::QueryDownNorm, s.query_rank, d);
  } else if (role == (low ? "query_up" : "query")) {
    module = {ModuleRole::Query, "", low ? s.query_rank : h, a * (s.unrotated + s.rotated), false};
  } else if (role == "latent_down") {
    module = {ModuleRole::LatentDown, "", h, s.key_value_rank + s.rotated, d.qkv_bias};
  } else if (role == "latent_norm") {
    module = norm(ModuleRole::LatentNorm, s.key_value_rank, d);
  } else if (role == "latent_up") {
    module = {ModuleRole::LatentUp, "", s.key_value_rank, a * (s.unrotated + s.value_dim), false};
  } else if (role == "output") {
    module = {ModuleRole::Output, "", a * s.value_dim, h, d.o_bias};
  } else {
    return false;
  }
  return true;
}

// False for a role outside the layers.
bool describe(std::string_view role, const DenseDecoder& d, LayerModule& module) {
  const std::int64_t h = d.hidden_size;
  const std::int64_t f = d.intermediate_size;
  const std::int64_t q = d.num_attention_heads * d.head_dim;
  const std::int64_t kv = d.num_key_value_heads * d.head_dim;
  if (d.latent.key_value_rank > 0 && describe_latent(role, d, module)) return true;
  if (d.latent.key_value_rank > 0 && role == "query") return false;
  if (role == "query") {
    module = {ModuleRole::Query, "", h, q, d.qkv_bias};
  } else if (role == "key") {
    module = {ModuleRole::Key, "", h, kv, d.qkv_bias};
  } else if (role == "value") {
    module = {ModuleRole::Value, "", h, kv, d.qkv_bias};
  } else if (role == "query_key_value") {
    module = {ModuleRole::QueryKeyValue, "", h, q + 2 * kv, d.qkv_bias};
  } else if (role == "output") {
    module = {ModuleRole::Output, "", q, h, d.o_bias};
  } else if (role == "gate") {
    module = {ModuleRole::Gate, "", h, f, d.mlp_bias};
  } else if (role == "up") {
    module = {ModuleRole::Up, "", h, f, d.mlp_bias};
  } else if (role == "gate_up") {
    module = {ModuleRole::GateUp, "", h, 2 * f, d.mlp_bias};
  } else if (role == "down") {
    module = {ModuleRole::Down, "", f, h, d.mlp_bias};
  } else {
    return describe_norm(role, d, module);
  }
  return true;
}

}  // namespace

std::string_view LayerModule::name() const {
  const std::string_view whole = path;
  return whole.substr(whole.rfind('.') + 1);
}

std::vector<LayerModule> layer_modules(const DenseDecoder& decoder) {
  std::vector<LayerModule> modules;
  for (const std::string_view line : lines_of(decoder)) {
    LayerModule module;
    if (!describe(role_of(line), decoder, module)) continue;
    module.path = path_of(line);
    modules.push_back(module);
  }
  return modules;
}

std::vector<LayerModule> outer_projections(const DenseDecoder& decoder) {
  const std::int64_t w = decoder.embedding_size;
  const std::int64_t h = decoder.hidden_size;
  if (w == h) return {};
  return {{ModuleRole::ProjectOut, module_path(decoder, "project_out"), h, w, false},
          {ModuleRole::ProjectIn, module_path(decoder, "project_in"), w, h, false}};
}

const char* module_path(const DenseDecoder& decoder, std::string_view role) {
  for (const std::string_view line : lines_of(decoder)) {
    if (role_of(line) == role) return path_of(line);
  }
  for (const std::string_view line : kUsualModules) {
    if (role_of(line) == role) return path_of(line);
  }
  return "";
}

}  // namespace peakline
