#include "train/load.h"

#include <optional>
#include <utility>

#include "train/adapters.h"
#include "train/packing.h"
#include "train/places.h"

namespace peakline {

namespace {

class Loader {
 public:
  Loader(Engine& e, const DenseDecoder& shape, const TrainSetup& setup)
      : e_(e),
        shape_(shape),
        setup_(setup),
        modules_(layer_modules(shape)),
        outer_(outer_projections(shape)) {
    quantised_ = setup.method == Method::Qlora;
    full_ = setup.method == Method::Full;
    if (!full_) by_hand_ = setup.lora.adapter_dtype;
    if (!full_ && setup.trainer == Trainer::None) by_hand_ = DType::Float32;
    all_biases_ = !full_ && setup.lora.bias == "all";
    // Rule R010: PEFT's k-bit preparation makes every 16-bit parameter that stays unpacked float32.
    const bool kbit = quantised_ && setup.quantization.prepare_model_for_kbit_training;
    plain_dtype_ = kbit ? DType::Float32 : setup.dtype;
  }

  LoadedModel load() {
    CausalLm& model = loaded_.model;
    model.options = options();
    model.layers.resize(static_cast<std::size_t>(shape_.num_hidden_layers));
    const bool kbit = plain_dtype_ != setup_.dtype;
    // The preparation's casts are born after packing; without it, packing comes last.
    if (kbit) {
      position_buffers();
      pack_layers();
      plain_parameters();
    } else if (quantised_) {
      plain_parameters();
      pack_layers();
    } else {
      plain_parameters();
    }
    if (!full_) add_adapters(e_, shape_, setup_, loaded_);
    collect();
    return std::move(loaded_);
  }

 private:
  ModelOptions options() const {
    ModelOptions o;
    static_cast<DecoderStructure&>(o) = shape_;
    o.has_full_layers = shape_.sliding.count(shape_.num_hidden_layers) < shape_.num_hidden_layers;
    o.use_liger_kernel = uses_liger();
    const bool by_choice = setup_.attn_implementation == Attention::LibraryChoice;
    o.eager_attention =
        setup_.attn_implementation == Attention::Eager || (by_choice && shape_.eager_by_default);
    o.efficient_attention = setup_.attn_implementation == Attention::SdpaEfficient;
    o.padded_batches = setup_.attention_mask == AttentionMask::Padded;
    o.gradient_checkpointing = setup_.gradient_checkpointing;
    o.use_reentrant = setup_.use_reentrant;
    // transformers 5.24, utils/generic.py, merge_with_config_defaults: checkpoints take no cache.
    o.use_cache = setup_.use_cache && !setup_.gradient_checkpointing;
    // Rule R012: turning checkpointing on makes the embedding's output require grad, frozen or not,
    // so the first layer keeps what its input's gradient needs (modeling_utils.py,
    // transformers 5.24).
    o.input_requires_grad = setup_.gradient_checkpointing;
    o.compute_dtype = setup_.quantization.bnb_4bit_compute_dtype;
    return o;
  }

  Tensor parameter(const Shape& shape,
                   DType dtype,
                   const char* op = "empty.memory_format",
                   bool trains_beside = false) {
    const bool trains = full_ || trains_beside;
    const bool prepared = plain_dtype_ != setup_.dtype && dtype == plain_dtype_;
    Tensor tensor = e_.factory(prepared ? "_to_copy" : op, shape, dtype);
    e_.set_requires_grad(tensor, trains);
    e_.mark(tensor, trains ? Role::WeightTrainable : Role::WeightFrozen);
    return tensor;
  }

  // liger_kernel 0.8.5, transformers/monkey_patch.py: what it does to the modules of a model.
  LigerNorm liger_norm(bool in_head) const {
    if (!uses_liger() || (in_head && shape_.liger_leaves_head_norms)) return LigerNorm::None;
    const bool copies = layer_ < 0 ? shape_.liger_final_norm_copies : shape_.liger_layer_norms_copy;
    return copies ? LigerNorm::OutOfPlace : LigerNorm::InPlace;
  }

  // Trainer leaves a model type that Liger does not know as it is.
  bool uses_liger() const { return setup_.use_liger_kernel && shape_.liger_kernels; }

  Norm norm(const char* name, const Shape& shape, bool in_head = false) {
    ModuleScope scope(e_, name, layer_);
    Norm made;
    made.name = name;
    made.kind = shape_.norm_kind;
    made.liger = liger_norm(in_head);
    if (shape_.norm_weight) made.weight = parameter(shape, plain_dtype_, "ones");
    const bool no_bias = in_head && shape_.separate_head_norms;
    if (shape_.norm_bias && !no_bias)
      made.bias = parameter(shape, plain_dtype_, "zeros", all_biases_);
    return made;
  }

  void separate_norms(std::vector<Norm>& norms, const LayerModule& m) {
    for (std::int64_t i = 0; i < m.heads; ++i)
      norms.push_back(norm(m.path, Shape{m.out / m.heads}, true));
  }

  Tensor named(const char* name, const Shape& shape) {
    ModuleScope scope(e_, name);
    return parameter(shape, plain_dtype_);
  }

  void plain_parameters() {
    CausalLm& model = loaded_.model;
    const std::int64_t h = shape_.hidden_size;
    model.embed_tokens =
        named(module_path(shape_, "embedding"), Shape{shape_.vocab_size, shape_.embedding_size});
    if (shape_.embedding_norm)
      model.embedding_norm = norm(module_path(shape_, "embedding_norm"), Shape{h});
    if (shape_.position_rows > 0)
      model.embed_positions =
          named(module_path(shape_, "positions"), Shape{shape_.position_rows, h});
    for (const LayerModule& m : outer_)
      linear_parameters(outer_linear(loaded_.model, m), m, quantised_);
    const bool norm_first = final_norm_first(shape_);
    if (norm_first && shape_.final_norm)
      model.norm = norm(module_path(shape_, "final_norm"), Shape{h});
    for (std::size_t i = 0; i < model.layers.size(); ++i) layer_parameters(model.layers[i], i);
    layer_ = -1;
    if (!norm_first && shape_.final_norm)
      model.norm = norm(module_path(shape_, "final_norm"), Shape{h});
    if (!model.inv_freq.defined() && !model.triangle.defined()) position_buffers();
    model.lm_head = shape_.tie_word_embeddings
                        ? model.embed_tokens
                        : named("lm_head", Shape{shape_.vocab_size, shape_.embedding_size});
    if (shape_.lm_head_bias) {
      ModuleScope scope(e_, "lm_head");
      model.lm_head_bias =
          parameter(Shape{shape_.vocab_size}, plain_dtype_, "empty.memory_format", all_biases_);
    }
    if (shape_.embedding_holds_scale) {
      model.embedding_scale = e_.factory("empty.memory_format", Shape{}, DType::Float32);
      e_.mark(model.embedding_scale, Role::Buffer);
    }
  }

  void layer_parameters(DecoderLayer& layer, std::size_t index) {
    layer_ = static_cast<std::int32_t>(index);
    layer.sliding = shape_.sliding.at(layer_);
    layer.rotates = !shape_.unrotated.at(layer_);
    for (const LayerModule& m : modules_) {
      if (!m.is_projection()) {
        const bool in_head = m.role == ModuleRole::QueryNorm || m.role == ModuleRole::KeyNorm;
        if (shape_.separate_head_norms && m.heads > 0) {
          separate_norms(m.role == ModuleRole::QueryNorm ? layer.q_norms : layer.k_norms, m);
          continue;
        }
        const Shape shape = m.heads > 0 ? Shape{m.heads, m.out / m.heads} : Shape{m.out};
        norm_of(layer, m.role) = norm(m.path, shape, in_head);
        continue;
      }
      if (shape_.windowed_scores && !layer.window.defined()) window_table(layer);
      linear_parameters(*projection(layer, m.role), m, is_packed(layer_, m));
    }
  }

  void linear_parameters(Linear& linear, const LayerModule& m, bool packed) {
    ModuleScope scope(e_, m.path, layer_);
    linear.name = m.path;
    // Packing turns a weight that lies [in, out].
    linear.input_major = shape_.input_major && !packed;
    const Shape shape = shape_.input_major ? Shape{m.in, m.out} : Shape{m.out, m.in};
    if (!packed) linear.weight = parameter(shape, plain_dtype_);
    // Linear4bit casts its bias to the compute type at the first forward and keeps it so.
    const bool in_4bit = packed && !setup_.quantization.load_in_8bit;
    const DType bias_dtype = in_4bit ? setup_.quantization.bnb_4bit_compute_dtype : plain_dtype_;
    const bool trains = !full_ && trains_bias(setup_.lora, m);
    if (m.bias) linear.bias = parameter(Shape{m.out}, bias_dtype, "empty.memory_format", trains);
  }

  // A local layer cuts the far corner out of its triangle.
  void window_table(DecoderLayer& layer) {
    const std::int64_t rows = shape_.position_rows;
    layer.window = shape_.local.at(layer_)
                       ? e_.factory("bitwise_xor.Tensor", Shape{1, 1, rows, rows}, DType::Bool)
                       : e_.factory("tril", Shape{rows, rows}, DType::Bool);
    e_.mark(layer.window, Role::Buffer);
  }

  void position_buffers() {
    if (shape_.triangle_buffer) {
      const std::int64_t rows = shape_.position_rows;
      loaded_.model.triangle = e_.factory("tril", Shape{rows, rows}, DType::Bool);
      e_.mark(loaded_.model.triangle, Role::Buffer);
    }
    if (shape_.rotary_dim == 0) return;
    CausalLm& model = loaded_.model;
    ModuleScope scope(e_, "model.rotary_emb");
    frequencies(model.inv_freq, model.original_inv_freq);
    // transformers 5.24, modeling_rope_utils.py, longrope_frequency_update: made in the first
    // forward and kept.
    if (shape_.second_frequencies) {
      model.long_inv_freq = e_.factory("mul.Tensor", Shape{shape_.rotary_dim / 2}, DType::Float32);
      e_.mark(model.long_inv_freq, Role::Buffer);
    }
    if (shape_.two_rotations) frequencies(model.sliding_inv_freq, model.sliding_original_inv_freq);
  }

  void frequencies(Tensor& inv_freq, Tensor& original) {
    const Shape shape{shape_.rotary_dim / 2};
    inv_freq = e_.factory("mul.Tensor", shape, DType::Float32);
    original = e_.factory("clone", shape, DType::Float32);
    e_.mark(inv_freq, Role::Buffer);
    e_.mark(original, Role::Buffer);
  }

  // transformers 5.24, quantizers/base.py, get_keys_to_not_convert: the module of a model's last
  // parameter stays plain. That is the head, or a norm; without either, a projection.
  // So do linears of a class of the model's own (integrations/bitsandbytes.py).
  bool is_packed(std::int64_t layer, const LayerModule& module) const {
    if (!quantised_ || !module.is_projection() || shape_.written_out_linears) return false;
    const bool ends_with_layers = shape_.tie_word_embeddings && !shape_.norm_weight;
    const bool last = layer + 1 == shape_.num_hidden_layers && module.role == ModuleRole::Down;
    return !(ends_with_layers && last);
  }

  void pack_linear(Linear& linear, const LayerModule& m, std::int32_t layer) {
    ModuleScope scope(e_, m.path, layer);
    linear.name = m.path;
    if (setup_.quantization.load_in_8bit) {
      linear.packed_8bit = std::make_unique<Packed8bit>(pack_8bit(e_, m.out, m.in));
      return;
    }
    linear.packed =
        std::make_unique<Packed4bit>(pack_4bit(e_, setup_, m.out, m.in, loaded_.dynamic_code));
  }

  void pack_layers() {
    for (const LayerModule& m : outer_) pack_linear(outer_linear(loaded_.model, m), m, -1);
    for (std::size_t i = 0; i < loaded_.model.layers.size(); ++i) {
      for (const LayerModule& m : modules_) {
        if (!is_packed(static_cast<std::int64_t>(i), m)) continue;
        pack_linear(*projection(loaded_.model.layers[i], m.role), m, static_cast<std::int32_t>(i));
      }
    }
  }

  // What is trained, in the type it is given by hand at last: TRL 1.16 casts what a quantised model
  // trains, but for DoRA's magnitudes; a plain loop takes float32.
  void add(Tensor& tensor, bool decays, bool embedding = false) {
    if (by_hand_ && tensor.requires_grad() && tensor.dtype() != *by_hand_) {
      ModuleScope scope(e_, "");
      tensor = parameter(tensor.sizes(), *by_hand_, "_to_copy", true);
    }
    add_as_is(tensor, decays, embedding);
  }

  void add_as_is(const Tensor& tensor, bool decays, bool embedding = false) {
    if (tensor.requires_grad()) loaded_.trainable.push_back({tensor, decays, embedding});
  }

  void collect() {
    CausalLm& model = loaded_.model;
    add(model.embed_tokens, true, true);
    add(model.lora_embedding_a, true);
    add(model.lora_embedding_b, true);
    if (model.embedding_norm) collect_norm(*model.embedding_norm);
    add(model.embed_positions, true, true);
    for (const LayerModule& m : outer_) collect_linear(outer_linear(loaded_.model, m));
    const bool norm_first = final_norm_first(shape_);
    if (norm_first && model.norm) collect_norm(*model.norm);
    for (DecoderLayer& layer : model.layers) {
      for (const LayerModule& m : modules_) collect_module(layer, m);
    }
    if (!norm_first && model.norm) collect_norm(*model.norm);
    if (model.lm_head.record() != model.embed_tokens.record()) add(model.lm_head, true);
    add(model.lm_head_bias, false);
  }

  void collect_norm(Norm& norm) {
    add(norm.weight, false);
    add(norm.bias, false);
  }

  void collect_module(DecoderLayer& layer, const LayerModule& m) {
    if (shape_.separate_head_norms && m.heads > 0) {
      for (Norm& each : m.role == ModuleRole::QueryNorm ? layer.q_norms : layer.k_norms)
        collect_norm(each);
      return;
    }
    if (!m.is_projection()) return collect_norm(*norm_of(layer, m.role));
    collect_linear(*projection(layer, m.role));
  }

  void collect_linear(Linear& linear) {
    add(linear.weight, true);
    add(linear.bias, false);
    add(linear.lora_a, true);
    add(linear.lora_b, true);
    if (setup_.trainer == Trainer::None) {
      add(linear.lora_magnitude, true);
    } else {
      add_as_is(linear.lora_magnitude, true);
    }
  }

  Engine& e_;
  const DenseDecoder& shape_;
  const TrainSetup& setup_;
  const std::vector<LayerModule> modules_;
  const std::vector<LayerModule> outer_;  // projections outside of the layers
  bool quantised_ = false;
  bool full_ = false;
  bool all_biases_ = false;  // train beside the adapters
  DType plain_dtype_ = DType::BFloat16;
  std::optional<DType> by_hand_;  // of what trains beside a frozen base
  std::int32_t layer_ = -1;       // whose parameters are being made
  LoadedModel loaded_;
};

}  // namespace

LoadedModel load_model(Engine& e, const DenseDecoder& shape, const TrainSetup& setup) {
  return Loader(e, shape, setup).load();
}

}  // namespace peakline
