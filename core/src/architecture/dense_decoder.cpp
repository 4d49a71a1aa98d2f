#include "architecture/dense_decoder.h"

#include "architecture/layer_pattern.h"
#include "architecture/positions.h"
#include "parse/shortened.h"

namespace peakline {
namespace {

struct Activation {
  std::string_view name;
  HiddenAct act;
};
// Names of transformers' ACT2FN that are one kernel.
constexpr Activation kActivations[] = {
    {"silu", HiddenAct::Silu},
    {"swish", HiddenAct::Silu},
    {"gelu", HiddenAct::Gelu},
    {"gelu_pytorch_tanh", HiddenAct::GeluTanh},
    {"gelu_new", HiddenAct::GeluUnfused},
    {"relu", HiddenAct::Relu},
};

void refuse(Architecture& architecture, std::string sentence) {
  if (architecture.not_modelled.empty()) architecture.not_modelled = std::move(sentence);
}

void resolve_sizes(Fields& fields, const data::FamiliesRow& family, DenseDecoder& d) {
  d.vocab_size = fields.required_size("vocab_size");
  d.hidden_size = fields.required_size("hidden_size");
  const bool fourfold = has_variant(family, "fourfold_mlp") && !fields.has("intermediate_size");
  d.intermediate_size = fourfold ? 4 * d.hidden_size : fields.required_size("intermediate_size");
  d.num_hidden_layers = fields.required_size("num_hidden_layers");
  d.num_attention_heads = fields.required_size("num_attention_heads");
  // Absent is the config class's default, null is one key head per query head.
  const bool absent = fields.is_absent("num_key_value_heads");
  const std::int64_t fallback =
      absent && family.num_key_value_heads > 0 ? family.num_key_value_heads : d.num_attention_heads;
  d.num_key_value_heads = fields.size("num_key_value_heads").value_or(fallback);
  const bool newer = fields.flag("new_decoder_architecture").value_or(false);
  if (has_variant(family, "multi_query_field") && !newer &&
      fields.flag("multi_query").value_or(true))
    d.num_key_value_heads = 1;
  if (const auto head_dim = fields.size("head_dim")) {
    d.head_dim = *head_dim;
  } else if (fields.is_absent("head_dim") && family.head_dim > 0) {
    d.head_dim = family.head_dim;
  } else {
    d.head_dim = d.hidden_size / d.num_attention_heads;
  }
}

void check_sizes(Fields& fields, const DenseDecoder& d) {
  if (d.num_attention_heads % d.num_key_value_heads != 0) {
    const std::string heads = std::to_string(d.num_key_value_heads);
    fields.inconsistent(
        "num_key_value_heads",
        "got " + heads + ", expected a divisor of num_attention_heads " +
            std::to_string(d.num_attention_heads),
        fields.is_absent("num_key_value_heads")
            ? "The key is absent, and " + heads + " is what transformers takes then: add it."
            : "");
  }
  if (!fields.has("head_dim") && d.hidden_size % d.num_attention_heads != 0) {
    fields.inconsistent("hidden_size",
                        "got " + std::to_string(d.hidden_size) +
                            ", expected a multiple of num_attention_heads " +
                            std::to_string(d.num_attention_heads) + " where head_dim is not given");
  }
  // transformers 5.24 configuration_utils.py, validate_layer_type: for every config that has both.
  const json::Array* types = fields.texts("layer_types");
  if (types && static_cast<std::int64_t>(types->size()) != d.num_hidden_layers) {
    fields.inconsistent("layer_types",
                        "got " + std::to_string(types->size()) +
                            " layers, expected num_hidden_layers " +
                            std::to_string(d.num_hidden_layers));
  }
  if (d.head_dim % 2 != 0) {
    fields.inconsistent("head_dim",
                        "got " + std::to_string(d.head_dim) +
                            ", expected an even number: the rotation turns pairs");
  }
}

void resolve_biases(Fields& fields, const data::FamiliesRow& family, DenseDecoder& d) {
  const auto given = [&](std::string_view variant, std::string_view key, bool absent) {
    return has_variant(family, variant) && fields.flag(key).value_or(absent);
  };
  const bool everywhere = has_variant(family, "biased") ||
                          given("use_bias_field", "use_bias", true) ||
                          given("bias_everywhere_field", "bias", false);
  const bool attention = everywhere || given("attention_bias_field", "attention_bias", false) ||
                         given("bias_field", "bias", false);
  d.qkv_bias = attention || has_variant(family, "qkv_bias") ||
               given("qkv_bias_field", "use_qkv_bias", false);
  d.o_bias = attention;
  d.mlp_bias = everywhere || given("mlp_bias_field", "mlp_bias", false);
  d.lm_head_bias = has_variant(family, "lm_head_bias");
}

void resolve_norms(Fields& fields, const data::FamiliesRow& family, DenseDecoder& d) {
  struct Kind {
    std::string_view variant;
    NormKind kind;
  };
  for (const Kind& row : {Kind{"rms_norm_wide", NormKind::RmsWide},
                          Kind{"rms_norm_offset", NormKind::RmsOffset},
                          Kind{"layer_norm", NormKind::Layer},
                          Kind{"layer_norm_weightless", NormKind::LayerWide},
                          Kind{"layer_norm_unfused", NormKind::LayerUnfused}}) {
    if (has_variant(family, row.variant)) d.norm_kind = row.kind;
  }
  d.norm_weight = d.norm_kind != NormKind::LayerWide;
  d.norm_bias = d.norm_kind == NormKind::Layer;
  if (has_variant(family, "qk_norm")) d.qk_norm = HeadNorm::EachHead;
  if (has_variant(family, "qk_norm_all_heads")) d.qk_norm = HeadNorm::AllHeads;
  const bool asked =
      fields.flag("qk_layernorm").value_or(false) || fields.flag("use_qk_norm").value_or(false);
  const bool per_head = has_variant(family, "qk_norm_per_head_field");
  if (!asked || !(per_head || has_variant(family, "qk_norm_field"))) return;
  d.qk_norm = per_head ? HeadNorm::PerHead : HeadNorm::EachHead;
  d.separate_head_norms = per_head && d.norm_kind == NormKind::Layer;
  d.norms_split_heads = !d.separate_head_norms;
}

void resolve_blocks(Fields& fields, const data::FamiliesRow& family, DenseDecoder& d) {
  const auto drops = [&](std::string_view variant, std::string_view key) {
    return has_variant(family, variant) && fields.number(key, 0) > 0;
  };
  d.parallel_blocks = has_variant(family, "parallel_blocks") ||
                      (has_variant(family, "parallel_blocks_field") &&
                       fields.flag("use_parallel_residual").value_or(false));
  d.residual_added_last = has_variant(family, "residual_added_last");
  d.frame_holds_names = has_variant(family, "frame_holds_names");
  if (has_variant(family, "norms_split_heads")) d.norms_split_heads = true;
  d.splits_heads_last = has_variant(family, "splits_heads_last");
  d.fused_qkv = has_variant(family, "fused_qkv");
  d.fused_gate_up = has_variant(family, "fused_gate_up");
  d.plain_mlp = has_variant(family, "plain_mlp");
  if (drops("residual_dropout_field", "resid_pdrop")) d.block_dropout = BlockDropout::AtResidual;
  if (drops("dropout_after_blocks_field", "resid_pdrop")) d.block_dropout = BlockDropout::Outside;
  if (drops("dropout_in_blocks_field", "residual_dropout")) d.block_dropout = BlockDropout::Inside;
  d.embedding_dropout = drops("embedding_dropout_field", "embedding_dropout");
  d.attention_dropout = fields.number("attention_dropout", 0) > 0;
  if (drops("hidden_dropout_field", "hidden_dropout")) d.block_dropout = BlockDropout::AfterMlp;
  d.embedding_dropout_rebinds = has_variant(family, "embedding_dropout_rebinds");
  d.clipped_projections =
      has_variant(family, "clipped_projections_field") && fields.number("clip_qkv", 0) != 0;
  d.query_scaled_by_position = has_variant(family, "query_scaled_by_position");
}

void resolve_scales(Fields& fields, const data::FamiliesRow& family, DenseDecoder& d) {
  d.scaled_embeddings = has_variant(family, "scaled_embeddings");
  d.embedding_holds_scale = has_variant(family, "embedding_holds_scale");
  d.scaled_residuals = has_variant(family, "scaled_residuals");
  if (has_variant(family, "divided_logits")) d.logit_scale = Scale::Divided;
  if (has_variant(family, "multiplied_logits")) d.logit_scale = Scale::Multiplied;
  // Absent is the config class's default, null is no cap.
  const bool capped = has_variant(family, "soft_caps");
  const auto has_cap = [&](std::string_view key) {
    return capped && (fields.is_absent(key) || fields.has(key));
  };
  d.capped_scores = has_cap("attn_logit_softcapping");
  d.capped_logits = has_cap("final_logit_softcapping") || (has_variant(family, "final_cap_field") &&
                                                           fields.has("final_logit_softcapping"));
}

// False where a layer's type is neither of the two.
bool read_layer_types(const json::Array& types, DenseDecoder& d) {
  d.sliding = {};
  for (const json::Value& type : types) {
    const std::string* name = type.as_string();
    if (!name || (*name != "sliding_attention" && *name != "full_attention")) return false;
    d.sliding.cycle.push_back(*name == "sliding_attention");
  }
  return true;
}

void resolve_sliding(Fields& fields,
                     const data::FamiliesRow& family,
                     DenseDecoder& d,
                     Architecture& architecture) {
  const bool last = has_variant(family, "sliding_last_layers");
  const bool unrotated = has_variant(family, "sliding_where_unrotated");
  const bool by_flag = last || unrotated;
  std::int64_t interval = family.full_attention_interval;
  // Some families write the pattern as letters, beside the list of layer types that counts.
  const json::Value* pattern = fields.document().find("sliding_window_pattern");
  if (interval > 0 && pattern && pattern->as_integer())
    interval = fields.size("sliding_window_pattern").value_or(interval);
  if (!has_variant(family, "sliding_everywhere") && !by_flag && interval == 0) return;
  std::optional<std::int64_t> window = fields.size("sliding_window", 0);
  if (!window && fields.is_absent("sliding_window") && family.sliding_window > 0)
    window = family.sliding_window;
  if (by_flag && !fields.flag("use_sliding_window").value_or(false)) window.reset();
  if (!window || *window == 0) return;
  d.sliding = every_layer();
  if (interval > 0 && interval <= d.num_hidden_layers) d.sliding = all_but_every(interval);
  if (unrotated) d.sliding = d.unrotated;
  if (last)
    d.sliding.begin = fields.size("max_window_layers", 0).value_or(family.max_window_layers);
  const json::Value* value = fields.document().find("layer_types");
  const json::Array* types = value ? value->as_array() : nullptr;
  if (types && !read_layer_types(*types, d))
    refuse(architecture, "The step of this model's kinds of attention is not modelled yet.");
  if (d.sliding.count(d.num_hidden_layers) == 0) return;
  d.sliding_window = window;
  if (!has_variant(family, "unrotated_where_full")) return;
  d.unrotated = d.sliding;
  d.unrotated.cycle.flip();
}

// transformers 5.24, models/smollm3/configuration_smollm3.py: a list of one number a layer, or
// every fourth.
void resolve_unrotated(Fields& fields, const data::FamiliesRow& family, DenseDecoder& d) {
  constexpr std::int64_t kUsualInterval = 4;
  if (!has_variant(family, "unrotated_layers_field")) return;
  if (const json::Array* list = fields.array("no_rope_layers")) {
    for (const json::Value& value : *list) {
      const std::int64_t* turns = value.as_integer();
      d.unrotated.cycle.push_back(turns && *turns == 0);
    }
    const auto given = static_cast<std::int64_t>(list->size());
    if (given == d.num_hidden_layers) return;
    fields.inconsistent("no_rope_layers",
                        "got " + std::to_string(given) + " layers, expected num_hidden_layers " +
                            std::to_string(d.num_hidden_layers));
    return;
  }
  const std::int64_t interval = fields.size("no_rope_layer_interval").value_or(kUsualInterval);
  if (interval <= d.num_hidden_layers) d.unrotated = every(interval);
}

// "su" is what early configs call it.
bool has_second_frequencies(const json::Value& rope) {
  for (const std::string_view key : {"rope_type", "type"}) {
    const json::Value* value = rope.find(key);
    const std::string* type = value ? value->as_string() : nullptr;
    if (type) return *type == "longrope" || *type == "su";
  }
  return false;
}

// The scaling changes numbers in the rotary tables, no sizes; how much of a head they turn does.
void resolve_rotary(Fields& fields, const data::FamiliesRow& family, DenseDecoder& d) {
  const bool partial = has_variant(family, "partial_rotary_field");
  const double absent =
      family.rotary_percent > 0 ? static_cast<double>(family.rotary_percent) / 100.0 : 1.0;
  double turned = partial ? fields.number("partial_rotary_factor", absent) : 1.0;
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const json::Value* rope = fields.object(key);
    const json::Value* factor = rope ? rope->find("partial_rotary_factor") : nullptr;
    if (partial && factor && factor->as_real()) turned = *factor->as_real();
    if (rope && has_second_frequencies(*rope)) d.second_frequencies = true;
  }
  if (!(turned > 0.0 && turned <= 1.0)) {
    fields.inconsistent("partial_rotary_factor",
                        "got a number outside of (0, 1], expected the part of a head that turns");
    turned = 1.0;
  }
  d.rotary_dim = static_cast<std::int64_t>(static_cast<double>(d.head_dim) * turned);
  d.two_rotations = has_variant(family, "two_rotations") && d.sliding_window &&
                    d.sliding.count(d.num_hidden_layers) < d.num_hidden_layers;
  d.rotary_slices = has_variant(family, "rotary_slices");
  d.rotary_slices_held = has_variant(family, "rotary_slices_held");
  if (has_variant(family, "rotary_wide")) d.rotary_kind = RotaryKind::HalvesWide;
  if (has_variant(family, "rotary_interleaved_wide")) d.rotary_kind = RotaryKind::InterleavedWide;
}

// transformers 5.24, models/minicpm3/configuration_minicpm3.py.
void resolve_latent(Fields& fields, const data::FamiliesRow& family, DenseDecoder& d) {
  d.divided_last_states = has_variant(family, "divided_last_states");
  if (!has_variant(family, "latent_attention")) return;
  LatentSizes& sizes = d.latent;
  // Null is no narrow row for queries.
  const bool direct = !fields.is_absent("q_lora_rank") && !fields.has("q_lora_rank");
  if (!direct) sizes.query_rank = fields.required_size("q_lora_rank");
  sizes.key_value_rank = fields.required_size("kv_lora_rank");
  sizes.unrotated = fields.required_size("qk_nope_head_dim");
  sizes.rotated = fields.required_size("qk_rope_head_dim");
  sizes.value_dim = fields.size("v_head_dim").value_or(d.hidden_size / d.num_attention_heads);
  d.head_dim = sizes.unrotated + sizes.rotated;
  d.rotary_dim = sizes.rotated;
}

void resolve_activation(Fields& fields,
                        const data::FamiliesRow& family,
                        DenseDecoder& d,
                        Architecture& architecture) {
  if (has_variant(family, "gelu_recomputed")) {
    d.hidden_act = HiddenAct::GeluRecomputed;
    return;
  }
  const std::string usual(family.hidden_act.empty() ? "silu" : family.hidden_act);
  const bool renamed = has_variant(family, "hidden_activation_field");
  const std::string name =
      fields.text(renamed ? "hidden_activation" : "hidden_act").value_or(usual);
  for (const Activation& activation : kActivations) {
    if (activation.name == name) {
      d.hidden_act = activation.act;
      return;
    }
  }
  refuse(architecture,
         "The step of the activation \"" + shortened(name) + "\" is not modelled yet.");
}

}  // namespace

void resolve_dense_decoder(Fields& fields,
                           const data::FamiliesRow& family,
                           Architecture& architecture) {
  DenseDecoder d;
  fields.rename(family.fields);
  d.modules = family.modules;
  d.liger_kernels = has_variant(family, "liger_kernels");
  d.liger_keeps_logits = has_variant(family, "liger_keeps_logits");
  d.liger_leaves_head_norms = has_variant(family, "liger_leaves_head_norms");
  d.liger_layer_norms_copy = has_variant(family, "liger_layer_norms_copy");
  d.liger_final_norm_copies = has_variant(family, "liger_final_norm_copies");
  d.eager_by_default = has_variant(family, "eager_by_default");
  resolve_sizes(fields, family, d);
  if (fields.good()) check_sizes(fields, d);
  resolve_biases(fields, family, d);
  resolve_norms(fields, family, d);
  resolve_blocks(fields, family, d);
  resolve_scales(fields, family, d);
  resolve_unrotated(fields, family, d);
  resolve_sliding(fields, family, d, architecture);
  resolve_rotary(fields, family, d);
  resolve_latent(fields, family, d);
  resolve_activation(fields, family, d, architecture);
  resolve_positions(fields, family, d, architecture);
  d.tie_word_embeddings =
      fields.flag("tie_word_embeddings").value_or(has_variant(family, "tied_by_default"));
  architecture.dense = d;
}

Parameters count_parameters(const DenseDecoder& d, const Task& task) {
  const Elements one(1);
  const Elements norm_size =
      one * d.hidden_size * ((d.norm_weight ? 1 : 0) + (d.norm_bias ? 1 : 0));
  Elements linear;
  Elements small;
  for (const LayerModule& m : layer_modules(d)) {
    if (m.is_projection()) {
      linear += one * m.in * m.out;
    } else if (m.weight) {
      small += one * m.out;
    }
    if (m.bias) small += one * m.out;
  }

  Parameters p;
  p.exact = true;
  p.embedding = one * d.vocab_size * d.embedding_size;
  if (task.head == Head::LanguageModel && !d.tie_word_embeddings) p.head = p.embedding;
  if (task.head == Head::LanguageModel && d.lm_head_bias) p.head += one * d.vocab_size;
  const bool labelled = task.head == Head::Classification || task.head == Head::TokenLabels;
  if (labelled) p.head = one * task.num_labels * d.embedding_size;                 // [labels, W]
  if (task.head == Head::TokenLabels) p.head += one * task.num_labels;             // its bias
  if (task.head == Head::Question) p.head = one * 2 * d.embedding_size + one * 2;  // [2, H]
  p.embedding += one * d.position_rows * d.hidden_size;
  p.linear = linear * d.num_hidden_layers;
  for (const LayerModule& m : outer_projections(d)) p.linear += one * m.in * m.out;
  p.other = small * d.num_hidden_layers;
  if (d.final_norm) p.other += norm_size;
  if (d.embedding_norm) p.other += norm_size;
  p.total = p.embedding + p.head + p.linear + p.other;
  return p;
}

}  // namespace peakline
