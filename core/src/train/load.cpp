#include "train/load.h"

#include <algorithm>
#include <utility>

namespace peakline {

namespace {

constexpr std::int64_t kQuantBlock = 64;    // bitsandbytes blocksize of 4-bit weights
constexpr std::int64_t kNestedBlock = 256;  // and of their statistics under double quantisation
constexpr std::int64_t kCodes4bit = 16;
constexpr std::int64_t kCodes8bit = 256;

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
    if (!full_) adapters();
    collect();
    return std::move(loaded_);
  }

 private:
  static Linear* projection(DecoderLayer& layer, ModuleRole role) {
    switch (role) {
      case ModuleRole::Query:
        return &layer.q_proj;
      case ModuleRole::Key:
        return &layer.k_proj;
      case ModuleRole::Value:
        return &layer.v_proj;
      case ModuleRole::QueryKeyValue:
        return &layer.qkv_proj;
      case ModuleRole::Output:
        return &layer.o_proj;
      case ModuleRole::Gate:
        return &layer.gate_proj;
      case ModuleRole::Up:
        return &layer.up_proj;
      case ModuleRole::GateUp:
        return &layer.gate_up_proj;
      case ModuleRole::Down:
        return &layer.down_proj;
      case ModuleRole::ProjectIn:
      case ModuleRole::ProjectOut:
      case ModuleRole::AttentionNorm:
      case ModuleRole::AttentionOutNorm:
      case ModuleRole::MlpNorm:
      case ModuleRole::MlpOutNorm:
      case ModuleRole::QueryNorm:
      case ModuleRole::KeyNorm:
        break;
    }
    return nullptr;
  }

  static std::optional<Norm>& norm_of(DecoderLayer& layer, ModuleRole role) {
    switch (role) {
      case ModuleRole::QueryNorm:
        return layer.q_norm;
      case ModuleRole::KeyNorm:
        return layer.k_norm;
      case ModuleRole::AttentionOutNorm:
        return layer.attention_out_norm;
      case ModuleRole::MlpNorm:
        return layer.mlp_norm;
      case ModuleRole::MlpOutNorm:
        return layer.mlp_out_norm;
      default:
        return layer.attention_norm;
    }
  }

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
    // Rule R012: turning checkpointing on makes the embedding's output require grad, frozen or not,
    // so the first layer keeps what its input's gradient needs (modeling_utils.py,
    // transformers 5.24).
    o.input_requires_grad = setup_.gradient_checkpointing;
    o.compute_dtype = setup_.quantization.bnb_4bit_compute_dtype;
    return o;
  }

  Tensor parameter(const Shape& shape, DType dtype, const char* op = "empty.memory_format") {
    const bool prepared = plain_dtype_ != setup_.dtype && dtype == plain_dtype_;
    Tensor tensor = e_.factory(prepared ? "_to_copy" : op, shape, dtype);
    e_.set_requires_grad(tensor, full_);
    e_.mark(tensor, full_ ? Role::WeightTrainable : Role::WeightFrozen);
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
    if (shape_.norm_bias) made.bias = parameter(shape, plain_dtype_, "zeros");
    return made;
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
    for (const LayerModule& m : outer_) linear_parameters(outer_linear(m), m, quantised_);
    const bool norm_first = final_norm_first();
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
    if (shape_.lm_head_bias) model.lm_head_bias = named("lm_head", Shape{shape_.vocab_size});
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
    const DType bias_dtype = quantised_ ? setup_.quantization.bnb_4bit_compute_dtype : plain_dtype_;
    if (m.bias) linear.bias = parameter(Shape{m.out}, bias_dtype);
  }

  // Whether the last norm's parameters come before the layers'.
  bool final_norm_first() const {
    bool norm_seen = false;
    for (const std::string_view line : shape_.modules) {
      norm_seen = norm_seen || line.starts_with("final_norm ");
      if (line.starts_with("layers ")) return norm_seen;
    }
    return false;
  }

  Linear& outer_linear(const LayerModule& m) {
    std::optional<Linear>& place =
        m.role == ModuleRole::ProjectIn ? loaded_.model.project_in : loaded_.model.project_out;
    return place ? *place : place.emplace();
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
  bool is_packed(std::int64_t layer, const LayerModule& module) const {
    if (!quantised_ || !module.is_projection()) return false;
    const bool ends_with_layers = shape_.tie_word_embeddings && !shape_.norm_weight;
    const bool last = layer + 1 == shape_.num_hidden_layers && module.role == ModuleRole::Down;
    return !(ends_with_layers && last);
  }

  void pack_linear(Linear& linear, const LayerModule& m, std::int32_t layer) {
    ModuleScope scope(e_, m.path, layer);
    linear.name = m.path;
    linear.packed = std::make_unique<Packed4bit>(pack(m.out, m.in));
  }

  void pack_layers() {
    for (const LayerModule& m : outer_) pack_linear(outer_linear(m), m, -1);
    for (std::size_t i = 0; i < loaded_.model.layers.size(); ++i) {
      for (const LayerModule& m : modules_) {
        if (!is_packed(static_cast<std::int64_t>(i), m)) continue;
        pack_linear(*projection(loaded_.model.layers[i], m.role), m, static_cast<std::int32_t>(i));
      }
    }
  }

  Tensor quant(const char* op, const Shape& shape, DType dtype) {
    Tensor tensor = e_.factory(op, shape, dtype);
    e_.mark(tensor, Role::Quant);
    return tensor;
  }

  // bitsandbytes 0.50, functional.py, quantize_4bit. Rule R023: two codes a byte, one absmax per 64
  // weights; double quantisation stores the absmax as 8-bit codes with one float32 per 256 of them.
  Packed4bit pack(std::int64_t out, std::int64_t in) {
    Packed4bit packed;
    packed.shape = Shape{out, in};
    packed.dtype = setup_.dtype;
    const std::int64_t blocks = divide_up(out * in, kQuantBlock);
    packed.packed =
        quant("bitsandbytes.quantize_4bit", Shape{divide_up(out * in, 2), 1}, DType::UInt8);
    packed.code = quant("_to_copy", Shape{kCodes4bit}, DType::Float32);
    if (!setup_.quantization.bnb_4bit_use_double_quant) {
      packed.absmax = quant("bitsandbytes.quantize_4bit", Shape{blocks}, DType::Float32);
      return packed;
    }
    packed.offset = quant("mean", Shape{}, DType::Float32);
    // functional.py, name2qmap: made at the first use, kept as long as the process lives.
    if (!loaded_.dynamic_code.defined())
      loaded_.dynamic_code = quant("_to_copy", Shape{kCodes8bit}, DType::Float32);
    packed.nested_code = quant("_to_copy", Shape{kCodes8bit}, DType::Float32);
    packed.absmax = quant("bitsandbytes.quantize_blockwise", Shape{blocks}, DType::UInt8);
    packed.nested_absmax = quant(
        "bitsandbytes.quantize_blockwise", Shape{divide_up(blocks, kNestedBlock)}, DType::Float32);
    return packed;
  }

  // Rule R011: adapters are born in the model's type; PEFT casts 16-bit ones to float32 unless told
  // otherwise.
  DType adapter_dtype() const {
    if (setup_.lora.adapter_dtype) return *setup_.lora.adapter_dtype;
    if (setup_.trainer == Trainer::None) return DType::Float32;  // the loop casts what it trains
    return setup_.lora.autocast_adapter_dtype ? DType::Float32 : setup_.dtype;
  }

  // Those that are born in their final type stand before those that are cast to it at the end.
  void adapters() {
    for (const bool cast : {false, true}) {
      for (const LayerModule& m : outer_) {
        if (is_lora_target(setup_.lora, m)) adapt(outer_linear(m), -1, m, cast);
      }
      for (std::size_t i = 0; i < loaded_.model.layers.size(); ++i) {
        for (const LayerModule& m : modules_) {
          if (!is_lora_target(setup_.lora, m)) continue;
          Linear& linear = *projection(loaded_.model.layers[i], m.role);
          adapt(linear, static_cast<std::int32_t>(i), m, cast);
        }
      }
    }
  }

  void adapt(Linear& linear, std::int32_t layer, const LayerModule& m, bool cast) {
    const DType dtype = adapter_dtype();
    const bool born = linear.weight.defined() && linear.weight.dtype() == dtype;
    if (born == cast) return;
    ModuleScope scope(e_, m.path, layer);
    linear.lora_a = adapter(Shape{setup_.lora.r, m.in}, dtype);
    linear.lora_b = adapter(Shape{m.out, setup_.lora.r}, dtype);
    linear.lora_dropout = setup_.lora.lora_dropout > 0.0;
  }

  Tensor adapter(const Shape& shape, DType dtype) {
    Tensor tensor = e_.factory("_to_copy", shape, dtype);
    e_.set_requires_grad(tensor, true);
    e_.mark(tensor, Role::WeightTrainable);
    return tensor;
  }

  void add(const Tensor& tensor, bool decays, bool embedding = false) {
    if (tensor.defined() && tensor.requires_grad())
      loaded_.trainable.push_back({tensor, decays, embedding});
  }

  void collect() {
    CausalLm& model = loaded_.model;
    add(model.embed_tokens, true, true);
    if (model.embedding_norm) collect_norm(*model.embedding_norm);
    add(model.embed_positions, true, true);
    for (const LayerModule& m : outer_) collect_linear(outer_linear(m));
    const bool norm_first = final_norm_first();
    if (norm_first && model.norm) collect_norm(*model.norm);
    for (DecoderLayer& layer : model.layers) {
      for (const LayerModule& m : modules_) collect_module(layer, m);
    }
    if (!norm_first && model.norm) collect_norm(*model.norm);
    if (!shape_.tie_word_embeddings) add(model.lm_head, true);
    add(model.lm_head_bias, false);
  }

  void collect_norm(const Norm& norm) {
    add(norm.weight, false);
    add(norm.bias, false);
  }

  void collect_module(DecoderLayer& layer, const LayerModule& m) {
    if (!m.is_projection()) return collect_norm(*norm_of(layer, m.role));
    collect_linear(*projection(layer, m.role));
  }

  void collect_linear(const Linear& linear) {
    add(linear.weight, true);
    add(linear.bias, false);
    add(linear.lora_a, true);
    add(linear.lora_b, true);
  }

  Engine& e_;
  const DenseDecoder& shape_;
  const TrainSetup& setup_;
  const std::vector<LayerModule> modules_;
  const std::vector<LayerModule> outer_;  // projections outside of the layers
  bool quantised_ = false;
  bool full_ = false;
  DType plain_dtype_ = DType::BFloat16;
  std::int32_t layer_ = -1;  // whose parameters are being made
  LoadedModel loaded_;
};

}  // namespace

bool is_lora_target(const LoraSetup& lora, const LayerModule& module) {
  if (!module.is_projection()) return false;
  if (lora.all_linear) return true;
  // PEFT matches the end of a module's path at a dot: "q_proj" and "self_attn.q_proj". Names that
  // go on to the layer's number are not modelled: estimate/lora_targets.cpp.
  return std::any_of(
      lora.target_modules.begin(), lora.target_modules.end(), [&](const std::string& name) {
        return name == module.name() || name == module.path;
      });
}

LoadedModel load_model(Engine& e, const DenseDecoder& shape, const TrainSetup& setup) {
  return Loader(e, shape, setup).load();
}

}  // namespace peakline
