#include "peakline/architecture.h"

#include "architecture/dense_decoder.h"

namespace peakline {
namespace {

bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

Head head_of(const ModelConfig& config) {
  if (config.architectures.empty()) return Head::LanguageModel;
  const std::string_view name = config.architectures.front();
  if (ends_with(name, "ForSequenceClassification")) return Head::Classification;
  if (ends_with(name, "Model") && !ends_with(name, "LMHeadModel")) return Head::None;
  return Head::LanguageModel;
}

std::int64_t num_labels_of(Fields& fields) {
  if (const auto given = fields.size("num_labels")) return *given;
  const json::Value* names = fields.object("id2label");
  const std::size_t count = names ? names->as_object()->size() : 0;
  return count > 0 ? static_cast<std::int64_t>(count) : 2;  // PreTrainedConfig's default
}

void note_quantised(Fields& fields, Architecture& architecture) {
  const json::Value* quantization = fields.object("quantization_config");
  if (!quantization) return;
  const json::Value* method = quantization->find("quant_method");
  const std::string* name = method ? method->as_string() : nullptr;
  architecture.not_modelled = "The weights are stored quantised (" +
                              (name ? *name : std::string("unnamed")) +
                              "): training on such a base is not modelled yet.";
  architecture.notes.push_back("Parameters are counted as in the unquantised model.");
}

void count_dense(Fields& fields, const ModelConfig& config, Architecture& architecture) {
  const DenseDecoder& d = *architecture.dense;
  const Head head = head_of(config);
  architecture.parameters = count_parameters(d, head, num_labels_of(fields));
  if (head == Head::LanguageModel) return;
  architecture.alternative = count_parameters(d, Head::LanguageModel, 0);
  architecture.notes.push_back(
      "The file describes a model without a language-model head; a causal run adds one.");
}

}  // namespace

Result<Architecture> build_architecture(const ModelConfig& config) {
  Errors errors;
  Fields fields(config.document, "", errors);
  Architecture architecture;
  architecture.model_type = config.model_type;
  const data::FamiliesRow* family = find_family(config.model_type);
  note_quantised(fields, architecture);
  if (family && has_variant(*family, "dense_decoder")) {
    resolve_dense_decoder(fields, *family, architecture);
    architecture.num_layers = architecture.dense->num_hidden_layers;
    architecture.vocab_size = architecture.dense->vocab_size;
    architecture.max_position_embeddings = fields.size("max_position_embeddings").value_or(0);
    count_dense(fields, config, architecture);
  } else if (architecture.not_modelled.empty()) {
    architecture.not_modelled = "The step of this model_type is not modelled yet.";
  }
  if (!errors.empty()) return errors;
  if (!architecture.not_modelled.empty()) architecture.dense.reset();
  return architecture;
}

}  // namespace peakline
