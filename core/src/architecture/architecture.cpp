#include "peakline/architecture.h"

#include "architecture/count.h"
#include "architecture/dense_decoder.h"
#include "architecture/unknown_type.h"
#include "parse/shortened.h"

namespace peakline {
namespace {

constexpr std::size_t kMaxTypeBytes = 60;

void note_quantised(Fields& fields, Architecture& architecture) {
  const json::Value* quantization = fields.object("quantization_config");
  if (!quantization) return;
  const json::Value* method = quantization->find("quant_method");
  const std::string* name = method ? method->as_string() : nullptr;
  architecture.not_modelled =
      "The weights are stored quantised (" + (name ? shortened(*name) : std::string("unnamed")) +
      "), and only a base that is quantised while it is loaded is known. Ask with the config of "
      "the unquantised model.";
  architecture.notes.push_back("Parameters are counted as in the unquantised model.");
}

// transformers 5 writes "dtype", versions before it "torch_dtype".
std::string stated_dtype(const json::Value& document) {
  for (const std::string_view key : {"dtype", "torch_dtype"}) {
    const json::Value* value = document.find(key);
    const std::string* name = value ? value->as_string() : nullptr;
    if (!name) continue;
    constexpr std::string_view kModule = "torch.";
    const bool has_module = std::string_view(*name).substr(0, kModule.size()) == kModule;
    return shortened(std::string_view(*name).substr(has_module ? kModule.size() : 0));
  }
  return "";
}

// A causal run on a config without a language-model head gets one: both readings are given.
void count_dense(const Task& task, Architecture& architecture) {
  const DenseDecoder& decoder = *architecture.dense;
  architecture.parameters = count_parameters(decoder, task);
  if (task.head == Head::LanguageModel) return;
  architecture.alternative = count_parameters(decoder, Task{});
  architecture.notes.push_back("The class the config names has no language-model head: " +
                               std::to_string(architecture.parameters->total.count()) +
                               " parameters; a causal run adds one.");
}

void build_dense(Fields& fields,
                 const ModelConfig& config,
                 const data::FamiliesRow& family,
                 Architecture& architecture) {
  resolve_dense_decoder(fields, family, architecture);
  architecture.num_layers = architecture.dense->num_hidden_layers;
  architecture.vocab_size = architecture.dense->vocab_size;
  if (has_variant(family, "own_code")) {
    architecture.assumptions.push_back(
        "This model_type runs its own code from the hub, which is taken to work as transformers' "
        "own does.");
  }
  if (fields.has("draft_vocab_size")) {
    architecture.assumptions.push_back(
        "The config has a draft_vocab_size: it is read as a whole model, not as a draft head.");
  }
  const Task task = task_of(config, fields);
  if (!task.named) {
    architecture.assumptions.push_back(
        "No class of transformers ends as \"" + shortened(config.architectures.front()) +
        "\" does: it is read as the model_type's causal language model.");
  }
  count_dense(task, architecture);
  architecture.parameters->exact = architecture.assumptions.empty();
}

void build_counted(Fields& fields,
                   const ModelConfig& config,
                   const data::FamiliesRow& family,
                   Architecture& architecture) {
  if (architecture.not_modelled.empty()) {
    architecture.not_modelled =
        has_variant(family, "only_on_hub")
            ? "transformers has no code for the model_type " + std::string(family.model_type) +
                  ": such a model runs what its repository brings along, and the step of that code "
                  "is not known."
            : "The step of a model with " + std::string(family.structure) + " is not modelled yet.";
  }
  const Count count = count_by_table(config.document, family, task_of(config, fields));
  architecture.parameters = count.parameters;
  architecture.num_layers = count.num_layers;
  architecture.vocab_size = count.vocab_size;
  if (!count.parameters) {
    architecture.notes.push_back("The parameters are not counted: " + count.reason + ".");
  }
}

// The fields alone decide; a tie flag that is absent leaves two readings.
void build_unknown(Fields& fields, const ModelConfig& config, Architecture& architecture) {
  const std::string foreign = foreign_field(config.document);
  const std::string type =
      config.model_type.empty()
          ? "no model_type"
          : "the unknown model_type " + shortened(config.model_type, kMaxTypeBytes);
  if (!foreign.empty()) {
    if (architecture.not_modelled.empty()) {
      architecture.not_modelled =
          "The config has " + type + ", and " + foreign + ": its step is not modelled.";
    }
    architecture.notes.push_back("The parameters are not counted: the structure is unknown.");
    return;
  }
  architecture.assumptions.push_back("The config has " + type +
                                     "; its fields are those of a decoder with rotary positions, "
                                     "rms norms and a gated mlp, and it is read as one.");
  build_dense(fields, config, unknown_family(), architecture);
  if (fields.has("tie_word_embeddings")) return;
  DenseDecoder tied = *architecture.dense;
  tied.tie_word_embeddings = true;
  architecture.alternative = count_parameters(tied, Task{});
  architecture.assumptions.push_back(
      "tie_word_embeddings is absent: embedding and head are taken as two weights; the alternative "
      "is one, with " +
      std::to_string(architecture.alternative->total.count()) + " parameters.");
}

Error too_large() {
  return {ErrorCode::TooLarge,
          "",
          "got sizes that multiply to more parameters than can be counted",
          "Is a size of the config wrong?"};
}

}  // namespace

Result<Architecture> build_architecture(const ModelConfig& config) {
  Errors errors;
  Fields fields(config.document, "", errors);
  Architecture architecture;
  architecture.model_type = shortened(config.model_type);
  architecture.stated_dtype = stated_dtype(config.document);
  note_quantised(fields, architecture);
  const data::FamiliesRow* family = find_family(config.model_type);
  // A text model under the name that it shares with one that sees.
  if (family && has_variant(*family, "alone_as_text") && !fields.has("text_config") &&
      !fields.has("vision_config"))
    family = find_family(config.model_type + "_text");
  if (!family) {
    build_unknown(fields, config, architecture);
  } else if (has_variant(*family, "dense_decoder")) {
    build_dense(fields, config, *family, architecture);
  } else {
    build_counted(fields, config, *family, architecture);
  }
  architecture.max_position_embeddings = fields.size("max_position_embeddings").value_or(0);
  if (!errors.empty()) return errors;
  if (architecture.parameters && architecture.parameters->total.saturated()) {
    return too_large();
  }
  if (!architecture.not_modelled.empty()) architecture.dense.reset();
  return architecture;
}

}  // namespace peakline
