#include "peakline/rules.h"

#include <algorithm>
#include <array>

namespace peakline {

namespace {

constexpr std::string_view kTorch = "torch 2.13";
constexpr std::string_view kTransformers = "transformers 5.24";
constexpr std::string_view kPeft = "peft 0.21";
constexpr std::string_view kBitsandbytes = "bitsandbytes 0.50";
constexpr std::string_view kLiger = "liger-kernel 0.8.5";

constexpr std::array kRules = {
    Rule{"R010",
         "PEFT's k-bit preparation makes every 16-bit parameter that stays unpacked float32, the "
         "embedding and the norms too, and with them the hidden states that layers hand on.",
         "peft/utils/other.py, prepare_model_for_kbit_training",
         kPeft,
         "rows-qlora"},
    Rule{"R011",
         "Adapters are born in the model's type; PEFT casts 16-bit ones to float32 unless told "
         "otherwise.",
         "peft/tuners/tuners_utils.py, cast_adapter_dtype",
         kPeft,
         "padded-lora"},
    Rule{"R012",
         "Checkpointing makes the embedding's output require grad, frozen or not.",
         "transformers/modeling_utils.py, activation_checkpointing_enable",
         kTransformers,
         "alibi-lora"},
    Rule{"R013",
         "PEFT's k-bit preparation turns checkpointing on where the setup does not say, in torch's "
         "reentrant form, because it names none.",
         "peft/utils/other.py, prepare_model_for_kbit_training; torch/utils/checkpoint.py",
         kPeft,
         "tests/unit/train_setup_test.cpp"},
    Rule{
        "R020",
        "Every adapted linear casts its input to the adapter's type on its own and keeps the cast.",
        "peft/tuners/lora/layer.py, Linear.forward",
        kPeft,
        "padded-lora"},
    Rule{"R021",
         "An adapted 4-bit linear clones its base's result.",
         "peft/tuners/lora/bnb.py, Linear4bit.forward",
         kPeft,
         "rows-qlora"},
    Rule{"R022",
         "With many rows a packed weight is dequantised to a whole matrix for the time of the "
         "product.",
         "bitsandbytes/backends/cuda/ops.py, _dequant_linear_fallback",
         kBitsandbytes,
         "tests/unit/gemm_4bit_test.cpp"},
    Rule{"R023",
         "Packed weights: two 4-bit codes a byte, one absmax per 64 weights, itself 8-bit under "
         "double quantisation.",
         "bitsandbytes/functional.py, quantize_4bit",
         kBitsandbytes,
         "rows-qlora"},
    Rule{"R024",
         "DoRA makes W + BA whole in every adapted linear, BA by way of an identity matrix, and "
         "keeps "
         "the results of base and adapter for its magnitude.",
         "peft/tuners/lora/dora.py, DoraLinearLayer.forward",
         kPeft,
         "dora-lora"},
    Rule{"R025",
         "A module to save is copied in its own type and trained whole; the original stays, and a "
         "head tied to a copied embedding keeps it.",
         "peft/utils/other.py, ModulesToSaveWrapper",
         kPeft,
         "saved-head"},
    Rule{"R026",
         "An 8-bit base is a byte a weight and a float32 scale a row. Each of its products keeps "
         "its "
         "input until the loss goes, which only reentrant checkpoints prevent, and its backward "
         "reads "
         "the whole weight back in the input's type.",
         "bitsandbytes/autograd/_functions.py, MatMul8bitLt",
         kBitsandbytes,
         "int8-qlora"},
    Rule{
        "R030",
        "A mask is built only where a batch is padded, where attention is eager, or as soon as the "
        "sequence reaches the sliding window, padding or not.",
        "transformers/masking_utils.py, _ignore_causal_mask_sdpa",
        kTransformers,
        "padded-lora"},
    Rule{"R031",
         "Grouped keys and values are repeated to every query head wherever flash attention does "
         "not take them as they are: under a mask, in eager attention, without a fused kernel.",
         "transformers/integrations/sdpa_attention.py, use_gqa_in_sdpa",
         kTransformers,
         "padded-lora"},
    Rule{"R032",
         "A bool mask becomes an additive one anew in every layer, which keeps it.",
         "aten/src/ATen/native/transformers/attention.cpp, convert_boolean_attn_mask",
         kTorch,
         "padded-lora"},
    Rule{"R033",
         "Flash attention's backward holds a float32 dQ and, for grouped heads, dK and dV of every "
         "query head.",
         "aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp",
         kTorch,
         "d100-full"},
    Rule{"R034",
         "Where no fused kernel takes the inputs, attention materialises the S x S scores.",
         "aten/src/ATen/native/transformers/attention.cpp, _scaled_dot_product_attention_math",
         kTorch,
         "math-qlora"},
    Rule{"R035",
         "Eager attention keeps whole S x S matrices of every head: the float32 softmax and its "
         "cast.",
         "transformers/models/*/modeling_*.py, eager_attention_forward",
         kTransformers,
         "eager-ones"},
    Rule{"R036",
         "A key-value cache copies every layer's keys and values, and the copies live as long as "
         "the "
         "model's outputs do.",
         "transformers/cache_utils.py, DynamicLayer.update",
         kTransformers,
         "cache-lora"},
    Rule{"R040",
         "The causal loss casts the whole logits to float32; log-probabilities and two gradients "
         "of that size follow.",
         "transformers/loss/loss_utils.py, ForCausalLMLoss",
         kTransformers,
         "d100-full"},
    Rule{"R041",
         "Liger computes the loss by chunks of tokens, and the gradients with it in forward; whole "
         "logits never exist.",
         "liger_kernel/ops/fused_linear_cross_entropy.py",
         kLiger,
         "fused-liger"},
    Rule{"R042",
         "Under mixed precision accelerate copies the returned logits to float32.",
         "accelerate/utils/operations.py, convert_outputs_to_fp32",
         "accelerate 1.15",
         "d100-full"},
    Rule{"R043",
         "Soft caps keep the tanh of whole logits, and in eager attention that of whole scores.",
         "transformers/models/*/modeling_*.py, eager_attention_forward",
         kTransformers,
         "soft-caps"},
    Rule{"R050",
         "foreach AdamW takes the square roots of all second moments at once: one more copy of the "
         "parameters.",
         "torch/optim/adamw.py, _multi_tensor_adamw",
         kTorch,
         "plain-t4"},
    Rule{"R051",
         "8-bit AdamW keeps embeddings and tensors below 4096 elements in 32 bit.",
         "bitsandbytes/optim/optimizer.py; transformers/trainer.py",
         kBitsandbytes,
         "bnb8-full"},
    Rule{"R052",
         "Paged optimizer states of large tensors live in managed memory, which no CUDA counter "
         "sees.",
         "bitsandbytes/optim/optimizer.py, get_state_buffer",
         kBitsandbytes,
         "paged_ademamix_8bit"},
    Rule{"R060",
         "Autocast keeps a 16-bit copy of every float32 weight that trains until its scope closes.",
         "aten/src/ATen/autocast_mode.cpp, cached_cast",
         kTorch,
         "gelu-float32"},
    Rule{"R061",
         "Norms run in float32, the fused layer norm under autocast, and keep the cast input for "
         "backward.",
         "transformers/models/*/modeling_*.py, *RMSNorm.forward; "
         "aten/src/ATen/autocast_mode.h, layer_norm",
         kTransformers,
         "d100-full"},
    Rule{"R062",
         "An activation written out in Python keeps its steps: a float32 power and its sums under "
         "autocast, where one kernel keeps its input alone.",
         "transformers/activations.py, NewGELUActivation.forward",
         kTransformers,
         "gelu-written-out"},
};

// "self_attn.q_proj", "mlp.down_proj": parts of a block that are no norm and no activation.
bool is_projection(std::string_view module) {
  const auto has = [module](std::string_view part) {
    return module.find(part) != std::string_view::npos;
  };
  return has(".") && !module.starts_with("model.") && !has("norm") && !has(".act");
}

std::string_view id_at_load(const EventTensor& tensor) {
  const std::string_view op = tensor.op;
  if (tensor.role == Role::Optimizer && tensor.dtype == DType::UInt8) return "R051";
  if (op.starts_with("bitsandbytes.quantize")) return "R023";
  if (tensor.dtype == DType::Int8) return "R026";
  if (tensor.role == Role::WeightTrainable && op == "clone") return "R025";
  if (op != "_to_copy" || tensor.dtype != DType::Float32) return {};
  if (tensor.role == Role::WeightFrozen) return "R010";
  return tensor.role == Role::WeightTrainable ? "R011" : "";
}

// Copies are told apart by shape: weights are matrices, activations have a batch in front.
std::string_view id_of_copy(const EventTensor& tensor) {
  const bool widened = tensor.dtype == DType::Float32;
  const std::string_view module = tensor.module.name;
  if (tensor.phase == Phase::Loss) return "R040";
  if (tensor.phase == Phase::Forward && module.empty() && widened && tensor.rank == 3)
    return "R042";
  if (module.find("norm") != std::string_view::npos) return widened ? "R061" : "";
  if (!is_projection(module)) return {};
  if (tensor.rank == 3) return widened ? "R020" : "";
  return widened ? "R024" : "R060";
}

// Outside of every module only Liger's loss makes matrices in forward.
bool is_of_fused_loss(const EventTensor& tensor) {
  const std::string_view op = tensor.op;
  return tensor.phase == Phase::Forward && std::string_view(tensor.module.name).empty() &&
         tensor.rank == 2 &&
         (op == "zeros_like" || op == "empty.memory_format" || op == "mm" || op == "_to_copy");
}

// [B, 1, S, S], made once for all layers.
bool is_of_mask(const EventTensor& tensor) {
  const std::string_view op = tensor.op;
  return tensor.module.layer < 0 && tensor.rank == 4 && tensor.dims[1] == 1 &&
         (op == "bitwise_and.Tensor" || op == "le.Tensor" || op == "gt.Tensor" ||
          op == "where.self");
}

// A weight's matrix, or a number for each of its rows: plain adapters make neither.
bool is_of_dora(const EventTensor& tensor) {
  const std::string_view op = tensor.op;
  const bool sum = op == "mul.Tensor" || op == "add.Tensor" || op == "eye";
  return (tensor.rank == 2 && sum) || (tensor.rank == 1 && op == "linalg_vector_norm");
}

std::string_view module_of(const EventTensor& tensor) {
  return tensor.module.name;
}

std::string_view id_of(const EventTensor& tensor) {
  const std::string_view op = tensor.op;
  if (tensor.phase == Phase::Load || tensor.role == Role::Optimizer) return id_at_load(tensor);
  if (op == "_foreach_sqrt") return "R050";
  if (op == "hidden:flash_backward") return "R033";
  if (op == "_softmax") return "R035";
  if (op == "tanh")
    return module_of(tensor).find("mlp") == std::string_view::npos ? "R043" : "R062";
  if (op == "_safe_softmax") return "R034";
  if (op == "where.self" && tensor.module.layer >= 0) return "R032";
  if (is_of_mask(tensor)) return "R030";
  if (op == "clone" && tensor.rank == 5) return "R031";
  if (is_of_fused_loss(tensor)) return "R041";
  if (op.starts_with("bitsandbytes.dequantize")) return "R022";
  if (op == "_log_softmax" || op == "_log_softmax_backward_data" || op == "nll_loss_backward")
    return "R040";
  if (op == "_to_copy") return id_of_copy(tensor);
  if (!is_projection(tensor.module.name)) return {};
  if (tensor.dtype == DType::Int8 || tensor.dtype == DType::Int32) return "R026";
  if (op == "empty.memory_format" && tensor.rank == 2) return "R022";
  if (is_of_dora(tensor)) return "R024";
  return op == "clone" ? "R021" : "";
}

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

const Rule* find_rule(std::string_view id) {
  const auto found =
      std::find_if(kRules.begin(), kRules.end(), [&](const Rule& rule) { return rule.id == id; });
  return found == kRules.end() ? nullptr : &*found;
}

const Rule* rule_of(const EventTensor& tensor) {
  return find_rule(id_of(tensor));
}

std::vector<SettingRule> rules_of(const TrainSetup& setup) {
  std::vector<SettingRule> found;
  const auto add = [&found](std::string_view id, std::string_view setting) {
    if (const Rule* rule = find_rule(id)) found.push_back({rule, setting});
  };
  const bool prepared =
      std::any_of(setup.origins.begin(), setup.origins.end(), [](const ResolvedValue& value) {
        return value.key == "gradient_checkpointing" && value.origin == Origin::Derived;
      });
  if (prepared && setup.gradient_checkpointing) add("R013", "/setup/gradient_checkpointing");
  const bool packed = setup.method == Method::Qlora;
  if (packed && setup.quantization.prepare_model_for_kbit_training)
    add("R010", "/setup/quantization/prepare_model_for_kbit_training");
  const bool frozen = setup.method == Method::Lora || setup.method == Method::Qlora;
  if (frozen && setup.gradient_checkpointing) add("R012", "/setup/gradient_checkpointing");
  if (frozen && setup.lora.use_dora) add("R024", "/setup/lora/use_dora");
  if (frozen && !setup.lora.modules_to_save.empty()) add("R025", "/setup/lora/modules_to_save");
  if (setup.use_cache && !setup.gradient_checkpointing) add("R036", "/setup/use_cache");
  if (packed && setup.quantization.load_in_8bit) add("R026", "/setup/quantization/load_in_8bit");
  if (setup.optim.starts_with("paged_")) add("R052", "/setup/optim");
  return found;
}

}  // namespace peakline
