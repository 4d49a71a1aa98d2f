#include "train/adapters.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "train/places.h"

namespace peakline {

namespace {

class Adapters {
 public:
  Adapters(Engine& e, const DenseDecoder& shape, const TrainSetup& setup, LoadedModel& loaded)
      : e_(e),
        shape_(shape),
        lora_(setup.lora),
        loaded_(loaded),
        modules_(layer_modules(shape)),
        outer_(outer_projections(shape)) {}

  // Adapters are born in their base's type; those that change it are cast once all else is there.
  void add() {
    adapters(false);
    trained_copies();
    adapters(true);
  }

 private:
  template <typename Visit>
  void for_each_projection(Visit visit) {
    for (const LayerModule& m : outer_) visit(outer_linear(loaded_.model, m), m, -1);
    for (std::size_t i = 0; i < loaded_.model.layers.size(); ++i) {
      for (const LayerModule& m : modules_) {
        if (!m.is_projection()) continue;
        visit(*projection(loaded_.model.layers[i], m.role), m, static_cast<std::int32_t>(i));
      }
    }
  }

  // Rule R011: adapters are born in the model's type; PEFT casts 16-bit ones to float32 unless told
  // otherwise.
  DType dtype_on(DType base) const {
    return lora_.autocast_adapter_dtype && is_half(base) ? DType::Float32 : base;
  }

  // No adapter follows an int8 weight: those are born in float32, as an undefined weight reads.
  static DType base_dtype(const Linear& linear) {
    return linear.packed != nullptr ? linear.packed->dtype : linear.weight.dtype();
  }

  void adapters(bool cast) {
    CausalLm& model = loaded_.model;
    const DType table = model.embed_tokens.dtype();
    if (adapts_embedding(lora_, shape_) && (table != dtype_on(table)) == cast) {
      const DType dtype = dtype_on(table);
      ModuleScope scope(e_, module_path(shape_, "embedding"));
      model.lora_embedding_a = parameter("_to_copy", Shape{lora_.r, shape_.vocab_size}, dtype);
      model.lora_embedding_b = parameter("_to_copy", Shape{shape_.embedding_size, lora_.r}, dtype);
    }
    for_each_projection([&](Linear& linear, const LayerModule& m, std::int32_t layer) {
      const DType base = base_dtype(linear);
      const DType dtype = dtype_on(base);
      if (!is_lora_target(lora_, m) || (base != dtype) != cast) return;
      ModuleScope scope(e_, m.path, layer);
      linear.lora_a = parameter("_to_copy", Shape{lora_.r, m.in}, dtype);
      linear.lora_b = parameter("_to_copy", Shape{m.out, lora_.r}, dtype);
      if (lora_.use_dora)
        linear.lora_magnitude = parameter("linalg_vector_norm", Shape{m.out}, dtype);
      linear.lora_dropout = lora_.lora_dropout > 0.0;
    });
  }

  Tensor parameter(const char* op, const Shape& shape, DType dtype) {
    Tensor tensor = e_.factory(op, shape, dtype);
    e_.set_requires_grad(tensor, true);
    e_.mark(tensor, Role::WeightTrainable);
    return tensor;
  }

  // PEFT 0.21, utils/other.py, ModulesToSaveWrapper. Rule R025: the original stays beside its
  // trained copy, which has its type; a tied head keeps the original.
  void trained_copies() {
    CausalLm& model = loaded_.model;
    copy(model.embed_tokens, module_path(shape_, "embedding"));
    copy(model.lm_head, "lm_head");
    copy(model.lm_head_bias, "lm_head");
  }

  void copy(Tensor& weight, const char* path) {
    if (!weight.defined() || !is_saved(lora_, path)) return;
    ModuleScope scope(e_, path);
    loaded_.originals.push_back(weight);
    weight = parameter("clone", weight.sizes(), weight.dtype());
  }

  Engine& e_;
  const DenseDecoder& shape_;
  const LoraSetup& lora_;
  LoadedModel& loaded_;
  const std::vector<LayerModule> modules_;
  const std::vector<LayerModule> outer_;  // projections outside of the layers
};

// PEFT matches the end of a module's path at a dot: "q_proj" and "self_attn.q_proj".
bool ends_at_dot(std::string_view path, std::string_view name) {
  return path.ends_with(name) &&
         (path.size() == name.size() || path[path.size() - name.size() - 1] == '.');
}

}  // namespace

void add_adapters(Engine& e,
                  const DenseDecoder& shape,
                  const TrainSetup& setup,
                  LoadedModel& loaded) {
  Adapters(e, shape, setup, loaded).add();
}

bool is_lora_target(const LoraSetup& lora, const LayerModule& module) {
  if (!module.is_projection()) return false;
  if (lora.all_linear) return true;
  // Names that go on to the layer's number are not modelled: estimate/lora_targets.cpp.
  return std::any_of(
      lora.target_modules.begin(), lora.target_modules.end(), [&](const std::string& name) {
        return name == module.name() || name == module.path;
      });
}

bool adapts_embedding(const LoraSetup& lora, const DenseDecoder& shape) {
  return std::any_of(
      lora.target_modules.begin(), lora.target_modules.end(), [&](const std::string& name) {
        return ends_at_dot(module_path(shape, "embedding"), name);
      });
}

bool is_saved(const LoraSetup& lora, std::string_view path) {
  return std::any_of(lora.modules_to_save.begin(),
                     lora.modules_to_save.end(),
                     [&](const std::string& name) { return path.ends_with(name); });
}

bool trains_bias(const LoraSetup& lora, const LayerModule& module) {
  return lora.bias == "all" || (lora.bias == "lora_only" && is_lora_target(lora, module));
}

}  // namespace peakline
