#include "estimate/lora_targets.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

namespace peakline {

namespace {

constexpr std::string_view kPlace = "/lora/target_modules";
constexpr std::string_view kTargets =
    "q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj and down_proj";
constexpr std::string_view kProjections[] = {"self_attn.q_proj",
                                             "self_attn.k_proj",
                                             "self_attn.v_proj",
                                             "self_attn.o_proj",
                                             "mlp.gate_proj",
                                             "mlp.up_proj",
                                             "mlp.down_proj"};
constexpr std::string_view kUnknownSteps[] = {"lm_head", "model.embed_tokens"};
// PEFT matches these too, and then raises: they are no linear layers.
constexpr std::string_view kHeadNorms[] = {"layer.self_attn.q_norm", "layer.self_attn.k_norm"};
constexpr std::string_view kNoLinear[] = {"model",
                                          "model.layers",
                                          "model.norm",
                                          "model.rotary_emb",
                                          "layer.self_attn",
                                          "layer.mlp",
                                          "layer.mlp.act_fn",
                                          "layer.input_layernorm",
                                          "layer.post_attention_layernorm"};

// peft 0.21 tuners_utils.py, check_target_module_exists.
bool matches(std::string_view module, std::string_view name) {
  if (module == name) return true;
  return module.size() > name.size() && module.ends_with(name) &&
         module[module.size() - name.size() - 1] == '.';
}

template <class Modules>
bool any_matches(const Modules& modules, std::string_view name) {
  return std::any_of(std::begin(modules), std::end(modules), [&](std::string_view module) {
    return matches(module, name);
  });
}

// "3.mlp.up_proj", "layers.3.mlp.up_proj", "model.layers.3.mlp.up_proj": one layer's module.
bool is_of_one_layer(std::string_view name, std::int64_t num_layers) {
  for (const std::string_view module : kProjections) {
    if (name.size() <= module.size() + 1 || !matches(name, module)) continue;
    std::string_view rest = name.substr(0, name.size() - module.size() - 1);
    for (const std::string_view prefix : {std::string_view("model."), std::string_view("layers.")})
      if (rest.starts_with(prefix)) rest.remove_prefix(prefix.size());
    std::int64_t index = -1;
    const char* end = rest.data() + rest.size();
    const std::from_chars_result read = std::from_chars(rest.data(), end, index);
    return read.ec == std::errc() && read.ptr == end && index >= 0 && index < num_layers;
  }
  return false;
}

std::string quoted(std::string_view name) {
  constexpr std::size_t kMaxShown = 60;
  std::string text(name.substr(0, kMaxShown));
  // A cut inside a UTF-8 sequence would make the report unreadable.
  while (name.size() > kMaxShown && !text.empty() && (text.back() & 0x80) != 0) text.pop_back();
  return "\"" + text + (name.size() > kMaxShown ? "..." : "") + "\"";
}

Error error_at(std::size_t index, std::string message, std::string hint) {
  return {ErrorCode::SetupInconsistent,
          std::string(kPlace) + "/" + std::to_string(index),
          std::move(message),
          std::move(hint)};
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxNames = 5;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMaxNames; ++i)
    text += (i == 0 ? "" : ", ") + quoted(names[i]);
  if (names.size() > kMaxNames)
    text += " and " + std::to_string(names.size() - kMaxNames) + " more";
  return text;
}

}  // namespace

Errors apply_lora_targets(const Architecture& architecture, TrainSetup& setup) {
  const bool adapted = setup.method == Method::Lora || setup.method == Method::Qlora;
  if (!adapted || !architecture.dense || setup.lora.all_linear) return {};
  const std::string what_there_is = "This model has " + std::string(kTargets) + ".";
  Errors errors;
  std::vector<std::string> unmatched;
  const std::vector<std::string>& names = setup.lora.target_modules;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (any_matches(kProjections, name)) continue;
    const bool head_norm = architecture.dense->qk_norm && any_matches(kHeadNorms, name);
    if (head_norm || any_matches(kNoLinear, name)) {
      errors.push_back(
          error_at(i,
                   "got " + quoted(name) + ", which is no linear layer, expected the name of one",
                   what_there_is));
    } else if (any_matches(kUnknownSteps, name) ||
               is_of_one_layer(name, architecture.dense->num_hidden_layers)) {
      setup.not_modelled.push_back("an adapter on " + quoted(name) + " is not modelled yet");
    } else {
      unmatched.push_back(name);
    }
  }
  if (!errors.empty() || unmatched.empty()) return errors;
  if (unmatched.size() == names.size()) {
    return {{ErrorCode::SetupInconsistent,
             std::string(kPlace),
             "got " + list_of(unmatched) + ", which no module of this model is called",
             what_there_is + " Or write \"all-linear\"."}};
  }
  setup.notes.push_back("lora.target_modules: no module of this model is called " +
                        list_of(unmatched) + ".");
  return errors;
}

}  // namespace peakline
