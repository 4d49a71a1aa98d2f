#include "architecture/dense_decoder.h"

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
    {"relu", HiddenAct::Relu},
};

void refuse(Architecture& architecture, std::string sentence) {
  if (architecture.not_modelled.empty()) architecture.not_modelled = std::move(sentence);
}

void resolve_sizes(Fields& fields, const data::FamiliesRow& family, DenseDecoder& d) {
  d.vocab_size = fields.required_size("vocab_size");
  d.hidden_size = fields.required_size("hidden_size");
  d.intermediate_size = fields.required_size("intermediate_size");
  d.num_hidden_layers = fields.required_size("num_hidden_layers");
  d.num_attention_heads = fields.required_size("num_attention_heads");
  // Absent is the config class's default, null is one key head per query head.
  const bool absent = fields.is_absent("num_key_value_heads");
  const std::int64_t fallback =
      absent && family.num_key_value_heads > 0 ? family.num_key_value_heads : d.num_attention_heads;
  d.num_key_value_heads = fields.size("num_key_value_heads").value_or(fallback);
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
  d.liger_kernels = has_variant(family, "liger_kernels");
  d.qk_norm = has_variant(family, "qk_norm");
  d.scaled_embeddings = has_variant(family, "scaled_embeddings");
  d.scaled_residuals = has_variant(family, "scaled_residuals");
  d.scaled_logits = has_variant(family, "scaled_logits");
  d.fused_qkv = has_variant(family, "fused_qkv");
  d.fused_gate_up = has_variant(family, "fused_gate_up");
  d.residual_dropout =
      has_variant(family, "residual_dropout_field") && fields.number("resid_pdrop", 0) > 0;
  d.qkv_bias = has_variant(family, "qkv_bias");
  for (const std::string_view key : {"attention_bias", "bias"}) {
    const std::string_view variant = key == "bias" ? "bias_field" : "attention_bias_field";
    if (has_variant(family, variant) && fields.flag(key).value_or(false)) {
      d.qkv_bias = true;
      d.o_bias = true;
    }
  }
  d.mlp_bias = has_variant(family, "mlp_bias_field") && fields.flag("mlp_bias").value_or(false);
}

// Which layers slide, as "the last n" or "the first n"; false where the pattern is another.
bool read_layer_types(const json::Array& types, DenseDecoder& d) {
  std::vector<bool> slides;
  for (const json::Value& type : types) {
    const std::string* name = type.as_string();
    if (!name || (*name != "sliding_attention" && *name != "full_attention")) return false;
    slides.push_back(*name == "sliding_attention");
  }
  std::size_t changes = 0;
  for (std::size_t i = 1; i < slides.size(); ++i) changes += slides[i] != slides[i - 1] ? 1u : 0u;
  d.num_sliding_layers = 0;
  for (const bool slide : slides) d.num_sliding_layers += slide ? 1 : 0;
  d.sliding_layers_first = changes == 1 && slides.front();
  return changes <= 1;
}

void resolve_sliding(Fields& fields,
                     const data::FamiliesRow& family,
                     DenseDecoder& d,
                     Architecture& architecture) {
  const bool everywhere = has_variant(family, "sliding_everywhere");
  const bool last = has_variant(family, "sliding_last_layers");
  if (!everywhere && !last) return;
  std::optional<std::int64_t> window = fields.size("sliding_window", 0);
  if (!window && fields.is_absent("sliding_window") && family.sliding_window > 0)
    window = family.sliding_window;
  if (last && !fields.flag("use_sliding_window").value_or(false)) window.reset();
  if (!window || *window == 0) return;
  d.num_sliding_layers = d.num_hidden_layers;
  if (last) {
    const std::int64_t full =
        fields.size("max_window_layers", 0).value_or(family.max_window_layers);
    d.num_sliding_layers = full < d.num_hidden_layers ? d.num_hidden_layers - full : 0;
  }
  const json::Value* value = fields.document().find("layer_types");
  const json::Array* types = value ? value->as_array() : nullptr;
  if (types && !read_layer_types(*types, d)) {
    refuse(architecture,
           "The step of sliding and full attention in alternation is not modelled yet.");
  }
  if (d.num_sliding_layers > 0) d.sliding_window = window;
}

// The scaling changes numbers in the rotary tables, no sizes; how much of a head they turn does.
void resolve_rotary(Fields& fields, const data::FamiliesRow& family, DenseDecoder& d) {
  const bool partial = has_variant(family, "partial_rotary_field");
  double turned = partial ? fields.number("partial_rotary_factor", 1.0) : 1.0;
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const json::Value* rope = fields.object(key);
    const json::Value* factor = rope ? rope->find("partial_rotary_factor") : nullptr;
    if (partial && factor && factor->as_real()) turned = *factor->as_real();
  }
  d.rotary_dim = static_cast<std::int64_t>(static_cast<double>(d.head_dim) * turned);
  d.rotary_slices = has_variant(family, "rotary_slices");
}

void resolve_activation(Fields& fields, DenseDecoder& d, Architecture& architecture) {
  const std::string name = fields.text("hidden_act").value_or("silu");
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
  d.modules = family.modules;
  resolve_sizes(fields, family, d);
  if (fields.good()) check_sizes(fields, d);
  resolve_biases(fields, family, d);
  resolve_sliding(fields, family, d, architecture);
  resolve_rotary(fields, family, d);
  resolve_activation(fields, d, architecture);
  d.tie_word_embeddings =
      fields.flag("tie_word_embeddings").value_or(has_variant(family, "tied_by_default"));
  if (fields.number("attention_dropout", 0) > 0) {
    refuse(architecture, "The step of dropout on attention weights is not modelled yet.");
  }
  architecture.dense = d;
}

Parameters count_parameters(const DenseDecoder& d, const Task& task) {
  const Elements one(1);
  const std::int64_t q = d.num_attention_heads * d.head_dim;
  const std::int64_t kv = d.num_key_value_heads * d.head_dim;
  const Elements projections = one * d.hidden_size * q         // q_proj [A*D, H]
                               + one * d.hidden_size * kv * 2  // k_proj, v_proj [K*D, H]
                               + one * q * d.hidden_size;      // o_proj [H, A*D]
  const Elements mlp =
      one * d.hidden_size * d.intermediate_size * 3;  // gate, up [F, H], down [H, F]
  Elements small = one * d.hidden_size * 2;           // two norms [H]
  if (d.qkv_bias) small += one * q + one * kv * 2;
  if (d.o_bias) small += one * d.hidden_size;
  if (d.mlp_bias) small += one * d.intermediate_size * 2 + one * d.hidden_size;
  if (d.qk_norm) small += one * d.head_dim * 2;

  Parameters p;
  p.exact = true;
  p.embedding = one * d.vocab_size * d.hidden_size;
  if (task.head == Head::LanguageModel && !d.tie_word_embeddings) p.head = p.embedding;
  const bool labelled = task.head == Head::Classification || task.head == Head::TokenLabels;
  if (labelled) p.head = one * task.num_labels * d.hidden_size;                 // [labels, H]
  if (task.head == Head::TokenLabels) p.head += one * task.num_labels;          // its bias
  if (task.head == Head::Question) p.head = one * 2 * d.hidden_size + one * 2;  // [2, H]
  p.linear = (projections + mlp) * d.num_hidden_layers;
  p.other = small * d.num_hidden_layers + one * d.hidden_size;  // the last norm [H]
  p.total = p.embedding + p.head + p.linear + p.other;
  return p;
}

}  // namespace peakline
