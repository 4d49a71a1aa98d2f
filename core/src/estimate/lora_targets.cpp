#include "estimate/lora_targets.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "train/adapters.h"

#include "parse/shortened.h"

namespace peakline {

namespace {

constexpr std::string_view kPlace = "/lora/target_modules";
constexpr std::string_view kSavedPlace = "/lora/modules_to_save";

// peft 0.21 tuners_utils.py, check_target_module_exists.
bool matches(std::string_view module, std::string_view name) {
  if (module == name) return true;
  return module.size() > name.size() && module.ends_with(name) &&
         module[module.size() - name.size() - 1] == '.';
}

bool any_matches(const std::vector<std::string>& modules, std::string_view name) {
  return std::any_of(modules.begin(), modules.end(), [&](const std::string& module) {
    return matches(module, name);
  });
}

// Every path on the way to `path`: "a.b" and "a" of "a.b.c".
void add_parents(const std::string& path, std::vector<std::string>& paths) {
  for (std::size_t dot = path.rfind('.'); dot != std::string::npos; dot = path.rfind('.', dot - 1))
    paths.push_back(path.substr(0, dot));
}

// A model's module paths as PEFT's names meet them. "layer." stands for any layer's place.
struct Paths {
  std::vector<std::string> projections;
  std::vector<std::string> unknown_steps;  // linear layers and tables outside of the layers
  std::vector<std::string> no_linear;      // PEFT matches these too, and then raises
};

Paths paths_of(const DenseDecoder& decoder, const LoraSetup& lora) {
  Paths paths;
  const std::string layers = module_path(decoder, "layers");
  paths.unknown_steps = {"lm_head"};
  // PEFT adapts a table too, but DoRA's way of it has no rules here.
  (lora.use_dora ? paths.unknown_steps : paths.projections)
      .emplace_back(module_path(decoder, "embedding"));
  paths.no_linear = {layers, module_path(decoder, "final_norm"), "layer.mlp.act_fn"};
  add_parents(layers + ".", paths.no_linear);
  if (decoder.rotary_dim > 0) paths.no_linear.push_back("model.rotary_emb");
  for (const LayerModule& module : layer_modules(decoder)) {
    if (module.is_projection()) {
      paths.projections.emplace_back(module.path);
    } else {
      paths.no_linear.push_back(std::string("layer.") + module.path);
    }
    const std::string in_layer = std::string("layer.") + module.path;
    std::vector<std::string> parents;
    add_parents(in_layer, parents);
    for (std::string& parent : parents)
      if (parent != "layer") paths.no_linear.push_back(std::move(parent));
  }
  return paths;
}

// "q_proj, k_proj and o_proj", each once.
std::string targets_text(const DenseDecoder& decoder) {
  std::vector<std::string_view> names;
  for (const LayerModule& module : layer_modules(decoder)) {
    const bool known = std::find(names.begin(), names.end(), module.name()) != names.end();
    if (module.is_projection() && !known) names.push_back(module.name());
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

// "3.mlp.up_proj", "layers.3.mlp.up_proj", "model.layers.3.mlp.up_proj": one layer's module.
bool is_of_one_layer(std::string_view name, const Paths& paths, const DenseDecoder& decoder) {
  const std::string layers = std::string(module_path(decoder, "layers")) + ".";
  for (const std::string& module : paths.projections) {
    if (name.size() <= module.size() + 1 || !matches(name, module)) continue;
    std::string_view rest = name.substr(0, name.size() - module.size() - 1);
    for (std::string_view prefix = layers; !prefix.empty();
         prefix = prefix.substr(prefix.find('.') + 1)) {
      if (!rest.starts_with(prefix)) continue;
      rest.remove_prefix(prefix.size());
      break;
    }
    std::int64_t index = -1;
    const char* end = rest.data() + rest.size();
    const std::from_chars_result read = std::from_chars(rest.data(), end, index);
    return read.ec == std::errc() && read.ptr == end && index >= 0 &&
           index < decoder.num_hidden_layers;
  }
  return false;
}

std::string quoted(std::string_view name) {
  constexpr std::size_t kMaxShown = 60;
  return "\"" + shortened(name, kMaxShown) + "\"";
}

Error error_at(std::string_view place, std::size_t index, std::string message, std::string hint) {
  return {ErrorCode::SetupInconsistent,
          std::string(place) + "/" + std::to_string(index),
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

// Which modules lora.modules_to_save means: PEFT 0.21, utils/other.py, _set_trainable, compares
// ends of paths and passes over names without a match.
Errors apply_saved_modules(const DenseDecoder& decoder, TrainSetup& setup) {
  const Paths paths = paths_of(decoder, setup.lora);
  const std::string embedding = module_path(decoder, "embedding");
  std::vector<std::string> others = paths.no_linear;
  others.insert(others.end(), paths.projections.begin(), paths.projections.end());
  Errors errors;
  for (std::size_t i = 0; i < setup.lora.modules_to_save.size(); ++i) {
    const std::string& name = setup.lora.modules_to_save[i];
    const auto means = [&](std::string_view path) { return path.ends_with(name); };
    if (means(embedding) && adapts_embedding(setup.lora, decoder)) {
      errors.push_back(error_at(kSavedPlace,
                                i,
                                "got " + quoted(name) +
                                    ", which lora.target_modules names too: PEFT refuses a module "
                                    "that is both adapted and trained in full",
                                "Take it out of one of the two."));
    } else if (std::any_of(others.begin(), others.end(), [&](const std::string& path) {
                 return path != embedding && means(path);
               })) {
      setup.not_modelled.push_back("lora.modules_to_save with " + quoted(name) +
                                   " is not modelled yet: only the embedding and lm_head are");
    } else if (!means(embedding) && !means("lm_head")) {
      setup.notes.push_back("lora.modules_to_save: no module of this model is called " +
                            quoted(name) + ".");
    }
  }
  return errors;
}

Errors apply_target_modules(const DenseDecoder& decoder, TrainSetup& setup) {
  if (setup.lora.all_linear) return {};
  const Paths paths = paths_of(decoder, setup.lora);
  const std::string what_there_is = "This model has " + targets_text(decoder) + ".";
  Errors errors;
  std::vector<std::string> unmatched;
  const std::vector<std::string>& names = setup.lora.target_modules;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (any_matches(paths.projections, name)) continue;
    if (any_matches(paths.no_linear, name)) {
      errors.push_back(
          error_at(kPlace,
                   i,
                   "got " + quoted(name) + ", which is no linear layer, expected the name of one",
                   what_there_is));
    } else if (any_matches(paths.unknown_steps, name) || is_of_one_layer(name, paths, decoder)) {
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

}  // namespace

Errors apply_lora_targets(const Architecture& architecture, TrainSetup& setup) {
  const bool adapted = setup.method == Method::Lora || setup.method == Method::Qlora;
  if (!adapted || !architecture.dense) return {};
  Errors errors = apply_target_modules(*architecture.dense, setup);
  for (Error& error : apply_saved_modules(*architecture.dense, setup))
    errors.push_back(std::move(error));
  return errors;
}

}  // namespace peakline
