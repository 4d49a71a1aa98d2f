#include "architecture/positions.h"

namespace peakline {
namespace {

void refuse(Architecture& architecture, const char* sentence) {
  if (architecture.not_modelled.empty()) architecture.not_modelled = sentence;
}

Positions kind_of(const data::FamiliesRow& family) {
  if (has_variant(family, "learned_positions")) return Positions::Learned;
  if (has_variant(family, "learned_positions_after_mask")) return Positions::LearnedAfterMask;
  if (has_variant(family, "learned_positions_counted")) return Positions::LearnedCounted;
  if (has_variant(family, "alibi_positions")) return Positions::Alibi;
  return Positions::Rotary;
}

void resolve_table(Fields& fields, const data::FamiliesRow& family, DenseDecoder& d) {
  d.embedding_size = d.hidden_size;
  d.positions = kind_of(family);
  if (d.positions == Positions::Rotary) return;
  d.rotary_dim = 0;
  if (d.positions == Positions::Alibi) return;
  d.position_rows = fields.required_size("max_position_embeddings");
  if (d.positions != Positions::LearnedCounted) return;
  constexpr std::int64_t kPaddingRows = 2;
  d.position_rows += kPaddingRows;
  d.embedding_size = fields.size("word_embed_proj_dim").value_or(d.hidden_size);
}

// transformers 5.24, models/opt/configuration_opt.py.
void resolve_optional_parts(Fields& fields,
                            const data::FamiliesRow& family,
                            DenseDecoder& d,
                            Architecture& architecture) {
  if (!has_variant(family, "optional_parts_fields")) return;
  const bool biased = fields.flag("enable_bias").value_or(true);
  d.qkv_bias = biased;
  d.o_bias = biased;
  d.mlp_bias = biased;
  if (!fields.flag("layer_norm_elementwise_affine").value_or(true)) {
    d.norm_weight = false;
    d.norm_bias = false;
  }
  d.norms_after_sums = !fields.flag("do_layer_norm_before").value_or(true);
  d.final_norm = !d.norms_after_sums && !fields.flag("_remove_final_layer_norm").value_or(false);
  if (fields.number("layerdrop", 0) > 0)
    refuse(architecture, "The step of layers that are left out by chance is not modelled.");
}

void resolve_split(Fields& fields, const data::FamiliesRow& family, DenseDecoder& d) {
  if (has_variant(family, "thirds_of_one_projection")) d.qkv_split = QkvSplit::Thirds;
  if (has_variant(family, "multi_query_field")) {
    const bool shared = fields.flag("multi_query").value_or(true);
    d.qkv_split = shared ? QkvSplit::SharedHead : QkvSplit::ThirdsOfHead;
  }
  if (d.qkv_split != QkvSplit::None) d.fused_qkv = true;
}

// transformers 5.24, models/bloom/configuration_bloom.py.
void resolve_biased_scores(Fields& fields,
                           const data::FamiliesRow& family,
                           DenseDecoder& d,
                           Architecture& architecture) {
  if (!has_variant(family, "biased_scores")) return;
  d.qkv_split = QkvSplit::SelectedOfHead;
  d.layer_form = LayerForm::BiasedScores;
  d.embedding_norm = true;
  d.fused_qkv = true;
  d.residual_after_norm = fields.flag("apply_residual_connection_post_layernorm").value_or(false);
  d.returns_weights = true;
  const bool sliced = fields.flag("slow_but_exact").value_or(false);
  if (sliced && fields.number("pretraining_tp", 1) > 1)
    refuse(architecture,
           "The step of projections that are computed in slices is not modelled yet.");
}

// transformers 5.24, models/falcon/configuration_falcon.py: what the older and the newer decoder
// have.
void resolve_summed_blocks(Fields& fields, const data::FamiliesRow& family, DenseDecoder& d) {
  if (!has_variant(family, "summed_blocks")) return;
  constexpr double kNormsOfNewer = 2;
  const bool newer = fields.flag("new_decoder_architecture").value_or(false);
  const bool shared = fields.flag("multi_query").value_or(true);
  d.layer_form = LayerForm::SummedBlocks;
  d.fused_qkv = true;
  d.qkv_split = newer    ? QkvSplit::IndexedGroups
                : shared ? QkvSplit::IndexedHeads
                         : QkvSplit::SelectedOfHead;
  d.parallel_blocks = newer || fields.flag("parallel_attn").value_or(true);
  d.norm_for_each_block =
      newer && fields.number("num_ln_in_parallel_attn", kNormsOfNewer) == kNormsOfNewer;
  d.always_masked = true;
  d.alibi_in_mask = fields.flag("alibi").value_or(false);
  d.written_out_linears = true;
}

// transformers 5.24, models/gpt_neo/configuration_gpt_neo.py: [[["global", "local"], 6]].
void resolve_local(Fields& fields, DenseDecoder& d) {
  const json::Array* groups = fields.array("attention_types");
  for (const json::Value& group : groups ? *groups : json::Array{}) {
    const json::Array* pair = group.as_array();
    const json::Array* kinds = pair && pair->size() == 2 ? (*pair)[0].as_array() : nullptr;
    const std::int64_t* times = kinds ? (*pair)[1].as_integer() : nullptr;
    if (!times || *times > d.num_hidden_layers) {
      fields.inconsistent("attention_types",
                          "got an entry that is no list of kinds with a number",
                          "Expected entries like [[\"global\", \"local\"], 6].");
      return;
    }
    for (std::int64_t i = 0; i < *times; ++i) {
      for (const json::Value& kind : *kinds)
        d.local.cycle.push_back(kind.as_string() && *kind.as_string() == "local");
    }
  }
  const auto given = static_cast<std::int64_t>(d.local.cycle.size());
  if (groups && given != d.num_hidden_layers) {
    fields.inconsistent("attention_types",
                        "got kinds of " + std::to_string(given) + " layers, expected " +
                            std::to_string(d.num_hidden_layers));
  }
}

}  // namespace

void resolve_positions(Fields& fields,
                       const data::FamiliesRow& family,
                       DenseDecoder& d,
                       Architecture& architecture) {
  resolve_table(fields, family, d);
  resolve_optional_parts(fields, family, d, architecture);
  resolve_split(fields, family, d);
  if (has_variant(family, "output_and_mlp_biases")) {
    d.o_bias = true;
    d.mlp_bias = true;
  }
  if (has_variant(family, "windowed_scores")) resolve_local(fields, d);
  if (has_variant(family, "named_results")) d.layer_form = LayerForm::NamedResults;
  if (has_variant(family, "mlp_of_rows")) d.layer_form = LayerForm::Rows;
  resolve_biased_scores(fields, family, d, architecture);
  resolve_summed_blocks(fields, family, d);
  d.input_major = has_variant(family, "input_major_weights");
  d.triangle_buffer = has_variant(family, "triangle_buffer");
  d.scaled_query = has_variant(family, "scaled_query");
  d.softmax_as_is = has_variant(family, "softmax_as_is");
  d.windowed_scores = has_variant(family, "windowed_scores");
  d.returns_weights = has_variant(family, "returns_weights");
  d.viewed_last_states = has_variant(family, "viewed_last_states");
  if (fields.flag("add_cross_attention").value_or(false))
    refuse(architecture, "The step of cross attention is not modelled.");
  if (has_variant(family, "softmax_as_is") &&
      fields.flag("reorder_and_upcast_attn").value_or(false))
    refuse(architecture, "The step of upcast and reordered attention is not modelled yet.");
}

}  // namespace peakline
