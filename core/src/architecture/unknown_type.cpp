#include "architecture/unknown_type.h"

#include "parse/shortened.h"

namespace peakline {
namespace {

constexpr std::size_t kMaxFieldBytes = 60;

constexpr std::string_view kRequired[] = {
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "rms_norm_eps",
};

// Fields that change no tensor of this shape, or that the dense decoder reads. Any other may mean
// another structure.
constexpr std::string_view kHarmless[] = {
    "model_type",
    "architectures",
    "num_key_value_heads",
    "head_dim",
    "hidden_act",
    "initializer_range",
    "use_cache",
    "max_position_embeddings",
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "tie_word_embeddings",
    "attention_bias",
    "mlp_bias",
    "attention_dropout",
    "torch_dtype",
    "dtype",
    "transformers_version",
    "pretraining_tp",
    "auto_map",
    "_name_or_path",
    "quantization_config",
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "unk_token_id",
    "id2label",
    "label2id",
    "num_labels",
    "tokenizer_class",
    "model_max_length",
    "max_sequence_length",
    "_from_model_config",
    "output_attentions",
    "output_hidden_states",
    "_attn_implementation_autoset",
    "return_dict",
    "torchscript",
    "is_decoder",
    "gradient_checkpointing",
    "license",
    "language",
    "bad_words_ids",
    "use_bfloat16",
};

template <std::size_t N>
bool contains(const std::string_view (&names)[N], std::string_view wanted) {
  for (const std::string_view name : names) {
    if (name == wanted) return true;
  }
  return false;
}

constexpr TextList kVariants(
    "dense_decoder\0"
    "attention_bias_field\0"
    "mlp_bias_field\0");

}  // namespace

std::string foreign_field(const json::Value& document) {
  for (const std::string_view name : kRequired) {
    const json::Value* value = document.find(name);
    if (!value || value->is_null()) return "no " + std::string(name);
  }
  for (const auto& member : *document.as_object()) {
    const bool says_nothing = member.second.is_null();
    if (says_nothing || contains(kRequired, member.first) || contains(kHarmless, member.first))
      continue;
    return "the field " + shortened(member.first, kMaxFieldBytes);
  }
  return "";
}

const data::FamiliesRow& unknown_family() {
  static constexpr data::FamiliesRow kRow = [] {
    data::FamiliesRow row{};
    row.variants = kVariants;
    return row;
  }();
  return kRow;
}

}  // namespace peakline
