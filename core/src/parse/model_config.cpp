// Recognises a model's config.json, and says what a file is that is none.
#include "peakline/model_config.h"

namespace peakline {
namespace {

// Any one of these makes a document without a model_type a model's config.
constexpr std::string_view kSizeKeys[] = {"hidden_size",
                                          "n_embd",
                                          "d_model",
                                          "dim",
                                          "num_hidden_layers",
                                          "n_layer",
                                          "num_layers",
                                          "num_heads",
                                          "n_layers",
                                          "text_config",
                                          "llm_config",
                                          "language_config",
                                          "vocab_size",
                                          "model_args",
                                          "thinker_config"};

struct Mistaken {
  std::string_view key;  // what tells the file
  std::string_view what;
  std::string_view hint;
};
constexpr Mistaken kMistaken[] = {
    {"peft_type", "an adapter's configuration", ""},
    {"weight_map", "an index of weight files", "Give the config.json that lies beside it."},
    {"added_tokens", "a tokenizer", "Give the config.json that lies beside it."},
    {"tokenizer_class", "a tokenizer's configuration", "Give the config.json that lies beside it."},
    {"chat_template", "a tokenizer's configuration", "Give the config.json that lies beside it."},
    {"image_processor_type",
     "an image processor's configuration",
     "Give the config.json that lies beside it."},
    {"processor_class", "a processor's configuration", "Give the config.json that lies beside it."},
    {"_class_name",
     "a diffusion pipeline's configuration",
     "Only transformers models are known here."},
    {"max_new_tokens", "generation settings", "Give the config.json that lies beside it."},
    {"per_device_train_batch_size",
     "training settings",
     "They belong into the setup; give the model's config.json."},
};

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// What a file that is no JSON is, by its first bytes.
std::string_view hint_for_bytes(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const std::string_view body = first == std::string_view::npos ? text : text.substr(first);
  if (starts_with(body, "GGUF"))
    return "This is a GGUF weight file; give the config.json of the model it was made from.";
  if (starts_with(body, "PK\x03\x04"))
    return "This is a zip or PyTorch weight file; give the config.json beside it.";
  const bool safetensors =
      text.size() > 10 && text[8] == '{' && text[9] == '"' && text[6] == '\0' && text[7] == '\0';
  if (safetensors) return "This is a safetensors weight file; give the config.json beside it.";
  if (starts_with(body, "<"))
    return "This is a web page; the file itself is behind \"raw\" or \"download\".";
  if (starts_with(body, "version https://git-lfs"))
    return "This is a git-lfs pointer; download the file it stands for.";
  return "";
}

std::string quoted_field(const json::Value& document, std::string_view key) {
  const json::Value* value = document.find(key);
  const std::string* text = value ? value->as_string() : nullptr;
  return text ? " (" + *text + ")" : "";
}

Error not_a_config(const json::Value& document) {
  for (const Mistaken& mistaken : kMistaken) {
    if (!document.find(mistaken.key)) continue;
    std::string hint(mistaken.hint);
    if (mistaken.key == "peft_type") {
      hint = "Give the config.json of its base model" +
             quoted_field(document, "base_model_name_or_path") +
             "; the adapter's own values (r, target_modules) belong into the setup.";
    }
    return {ErrorCode::ConfigMissingKey,
            "",
            "got " + std::string(mistaken.what) + ", expected a model's config.json",
            std::move(hint)};
  }
  const bool empty = document.as_object()->empty();
  return {ErrorCode::ConfigMissingKey,
          "",
          empty ? "got an object without keys, expected a model's config.json"
                : "got an object without model_type and without sizes such as hidden_size, "
                  "expected a model's "
                  "config.json",
          "A config.json has keys such as model_type, hidden_size and num_hidden_layers."};
}

void read_model_type(const json::Value& document, ModelConfig& config, Errors& errors) {
  const json::Value* value = document.find("model_type");
  if (!value || value->is_null()) return;
  if (const std::string* text = value->as_string()) {
    config.model_type = *text;
  } else {
    errors.push_back({ErrorCode::ConfigWrongType,
                      "/model_type",
                      "got " + value->describe() + ", expected a string",
                      ""});
  }
}

void read_architectures(const json::Value& document, ModelConfig& config, Errors& errors) {
  const json::Value* value = document.find("architectures");
  if (!value || value->is_null()) return;
  const json::Array* elements = value->as_array();
  bool good = elements != nullptr;
  if (elements) {
    for (const json::Value& element : *elements) {
      const std::string* name = element.as_string();
      if (name) config.architectures.push_back(*name);
      good = good && name;
    }
  }
  if (!good) {
    errors.push_back({ErrorCode::ConfigWrongType,
                      "/architectures",
                      "got " + value->describe() + ", expected a list of class names",
                      ""});
  }
}

bool looks_like_a_config(const json::Value& document) {
  if (document.find("model_type") && !document.find("peft_type")) return true;
  for (const std::string_view key : kSizeKeys) {
    if (document.find(key)) return true;
  }
  return false;
}

}  // namespace

Result<ModelConfig> parse_model_config(std::string_view text) {
  Result<json::Value> document = json::parse(text);
  if (!document) {
    Errors errors = std::move(document.error());
    const std::string_view hint = hint_for_bytes(text);
    if (!hint.empty()) errors.back().hint = hint;
    if (errors.back().code == ErrorCode::JsonEmpty)
      errors.back().hint = "Paste the text of a model's config.json.";
    return errors;
  }
  if (!document->as_object()) {
    return Error{ErrorCode::JsonNotAnObject,
                 "",
                 "got " + document->describe() + ", expected a model's config.json",
                 "A config.json is one object: { \"model_type\": ..., \"hidden_size\": ... }."};
  }
  if (!looks_like_a_config(*document)) return not_a_config(*document);
  ModelConfig config;
  Errors errors;
  read_model_type(*document, config, errors);
  read_architectures(*document, config, errors);
  if (!errors.empty()) return errors;
  config.document = std::move(*document);
  return config;
}

}  // namespace peakline
