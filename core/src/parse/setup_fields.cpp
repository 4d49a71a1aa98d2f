#include "parse/setup_fields.h"

#include <charconv>
#include <cstdlib>
#include <vector>

#include "peakline/train_setup.h"

namespace peakline {
namespace {

constexpr double kMaxDimension = 2147483647;    // 2^31 - 1, the largest dimension any rule accepts
constexpr double kMaxBytes = 9007199254740992;  // 2^53: what a JSON number holds exactly
constexpr double kMaxRank = 65536;

constexpr std::string_view kOptimizers =
    "adamw_torch | adamw_torch_fused | adamw_torch_xla | adamw_torch_npu_fused | adafactor | "
    "adamw_anyprecision | adamw_torch_4bit | adamw_torch_8bit | ademamix | sgd | adagrad | "
    "adamw_bnb_8bit | adamw_8bit | ademamix_8bit | lion_8bit | lion_32bit | paged_adamw_32bit | "
    "paged_adamw_8bit | paged_ademamix_32bit | paged_ademamix_8bit | paged_lion_32bit | "
    "paged_lion_8bit | rmsprop | rmsprop_bnb | rmsprop_bnb_8bit | rmsprop_bnb_32bit | "
    "galore_adamw | galore_adamw_8bit | galore_adafactor | galore_adamw_layerwise | "
    "galore_adamw_8bit_layerwise | galore_adafactor_layerwise | lomo | adalomo | grokadamw | "
    "schedule_free_radam | schedule_free_adamw | schedule_free_sgd | apollo_adamw | "
    "apollo_adamw_layerwise | stable_adamw";

constexpr SetupField choice(std::string_view name,
                            std::string_view choices,
                            std::string_view fallback,
                            Effect effect,
                            std::string_view meaning) {
  return {name, FieldKind::Choice, false, choices, 0, 0, fallback, effect, meaning};
}
constexpr SetupField flag(std::string_view name,
                          std::string_view fallback,
                          Effect effect,
                          std::string_view meaning) {
  return {name, FieldKind::Boolean, false, "", 0, 0, fallback, effect, meaning};
}
constexpr SetupField integer(std::string_view name,
                             double low,
                             double high,
                             std::string_view fallback,
                             Effect effect,
                             std::string_view meaning) {
  return {name, FieldKind::Integer, false, "", low, high, fallback, effect, meaning};
}
constexpr SetupField number(std::string_view name,
                            double low,
                            double high,
                            std::string_view fallback,
                            Effect effect,
                            std::string_view meaning) {
  return {name, FieldKind::Number, false, "", low, high, fallback, effect, meaning};
}
constexpr SetupField other(std::string_view name,
                           FieldKind kind,
                           std::string_view fallback,
                           Effect effect,
                           std::string_view meaning) {
  return {name, kind, false, "", 0, kMaxDimension, fallback, effect, meaning};
}
constexpr SetupField or_null(SetupField field) {
  field.nullable = true;
  return field;
}
constexpr SetupField version(std::string_view name,
                             std::string_view fallback,
                             std::string_view meaning) {
  return or_null(other(name, FieldKind::Text, fallback, Effect::None, meaning));
}

using enum Effect;

constexpr SetupField kFields[] = {
    integer("schema", 1, 1, "1", None, "Version of this document."),
    choice("method",
           "full | lora | qlora | inference",
           "lora",
           Modelled,
           "What is trained: every weight, adapters, or adapters on a 4-bit base."),
    choice(
        "trainer",
        "transformers | none | trl | torchtune | unsloth | axolotl | llamafactory",
        "transformers",
        Modelled,
        "The program that runs the loop; it decides the defaults. none is a plain PyTorch loop."),
    choice("dtype",
           "bfloat16 | float16 | float32",
           "bfloat16",
           Modelled,
           "Type the weights are loaded in; float32 doubles them."),
    or_null(choice("autocast",
                   "bf16 | fp16",
                   "bf16",
                   Modelled,
                   "Type of mixed-precision arithmetic; null computes in the weights' type.")),
    integer("per_device_train_batch_size",
            1,
            kMaxDimension,
            "1",
            Modelled,
            "Sequences per step and card; activations and logits grow with it."),
    integer("gradient_accumulation_steps",
            1,
            kMaxDimension,
            "1",
            Modelled,
            "Batches per optimizer step; above 1 the gradients outlive a batch."),
    integer("max_length",
            1,
            kMaxDimension,
            "2048",
            Modelled,
            "Tokens per sequence; activations and logits grow with it."),
    flag("packing", "false", Later, "Several samples in one sequence, told apart by position ids."),
    choice(
        "attention_mask",
        "none | ones | padded",
        "ones",
        Modelled,
        "The mask the collator passes: none, all ones, or with padding (which costs a full mask)."),
    or_null(other("lengths",
                  FieldKind::Integers,
                  "null",
                  Later,
                  "Tokens of each sequence of a batch, where they differ.")),
    flag("gradient_checkpointing",
         "false",
         Modelled,
         "Keep only each layer's input and compute the rest again in backward: less memory, "
         "slower."),
    flag("use_reentrant",
         "false",
         Modelled,
         "Which of PyTorch's two checkpointing variants is used."),
    choice("checkpoint_policy",
           "all | every_n | selective",
           "all",
           Later,
           "Which layers are checkpointed."),
    flag("activation_offloading", "false", Later, "Keep saved activations in host memory."),
    or_null(
        choice("attn_implementation",
               "sdpa | eager | flash_attention_2 | sdpa_efficient",
               "null",
               Modelled,
               "Attention kernel; null is the library's own choice, eager keeps S x S scores.")),
    flag(
        "use_cache",
        "false",
        Modelled,
        "Keep keys and values of every layer until the model's outputs go; checkpoints take none."),
    choice(
        "optim",
        kOptimizers,
        "adamw_torch_fused",
        Modelled,
        "Optimizer, in the names of TrainingArguments; Adam keeps two states per trained weight."),
    other("optim_args", FieldKind::Members, "{}", Later, "Arguments of the optimizer."),
    or_null(other("optim_target_modules",
                  FieldKind::Texts,
                  "null",
                  Later,
                  "Modules that a low-rank optimizer projects.")),
    number("max_grad_norm",
           0,
           1e30,
           "1.0",
           Modelled,
           "Gradient clipping; 0 turns it off and saves its temporaries."),
    flag("use_liger_kernel",
         "false",
         Modelled,
         "Fused kernels of liger_kernel, which never hold the logits."),
    choice("loss",
           "default | chunked | trl",
           "default",
           Later,
           "How the loss is computed from the logits."),
    choice("objective.kind",
           "sft | classification | qa | masked_lm | seq2seq | dpo | grpo",
           "sft",
           Later,
           "What the loss is."),
    integer(
        "objective.num_labels", 1, kMaxDimension, "2", Later, "Classes of a classification head."),
    integer("objective.label_length", 0, kMaxDimension, "0", Later, "Tokens of a seq2seq target."),
    number("objective.completion_share",
           0,
           1,
           "0.5",
           Later,
           "Share of a sequence that is completion."),
    choice("objective.reference",
           "none | adapter_off | adapter_copy | separate",
           "none",
           Later,
           "The reference model of preference training."),
    integer(
        "lora.r", 1, kMaxRank, "16", Modelled, "Rank of the adapters; their size grows with it."),
    integer(
        "lora.lora_alpha", 1, kMaxDimension, "32", None, "Scale of the adapters; costs no memory."),
    number("lora.lora_dropout",
           0,
           0.999999,
           "0.0",
           Modelled,
           "Dropout before each adapter; above 0 keeps a mask and a copy of its input."),
    {"lora.target_modules",
     FieldKind::Targets,
     false,
     kAllLinear,
     0,
     0,
     kAllLinear,
     Modelled,
     "Layers that get adapters: all-linear or a list of module names."},
    other("lora.modules_to_save",
          FieldKind::Texts,
          "[]",
          Modelled,
          "Modules trained in full beside the adapters: a copy of each, its gradient and states."),
    flag("lora.autocast_adapter_dtype",
         "true",
         Modelled,
         "Keep the adapters of a 16-bit model in float32."),
    or_null(choice("lora.adapter_dtype",
                   "bfloat16 | float16 | float32",
                   "null",
                   Modelled,
                   "Type of what trains beside a frozen base, where it is cast by hand; DoRA's "
                   "magnitudes keep theirs.")),
    choice("lora.bias", "none | all | lora_only", "none", Modelled, "Which biases are trained."),
    flag("lora.use_dora",
         "false",
         Modelled,
         "Weight-decomposed adapters: whole weights in every layer and nearly twice the "
         "activations."),
    flag("lora.use_rslora", "false", None, "Rank-stabilised scale; costs no memory."),
    flag("quantization.load_in_8bit",
         "false",
         Modelled,
         "8-bit instead of 4-bit base weights: a byte a weight, and inputs that only reentrant "
         "checkpoints let go of."),
    choice("quantization.bnb_4bit_quant_type",
           "nf4 | fp4",
           "nf4",
           Modelled,
           "Code book of the 4-bit weights."),
    flag("quantization.bnb_4bit_use_double_quant",
         "true",
         Modelled,
         "Quantise the scales too: saves about 0.4 bit per weight."),
    choice("quantization.bnb_4bit_compute_dtype",
           "bfloat16 | float16 | float32",
           "bfloat16",
           Modelled,
           "Type 4-bit weights are unpacked to."),
    flag("quantization.prepare_model_for_kbit_training",
         "true",
         Modelled,
         "PEFT's preparation: raises norms, embeddings and head to float32."),
    choice("placement.kind",
           "resident | streaming",
           "resident",
           Modelled,
           "Where the weights live during a step."),
    or_null(integer("placement.resident_blocks",
                    0,
                    kMaxDimension,
                    "null",
                    Modelled,
                    "Blocks kept on the card.")),
    integer("placement.ring_slots", 1, 1024, "2", Modelled, "Blocks in flight while streaming."),
    flag("placement.offload_adapters",
         "false",
         Modelled,
         "Keep adapters and their states in host memory."),
    choice("placement.activation_cache",
           "gpu | host",
           "gpu",
           Modelled,
           "Where block inputs are kept."),
    choice("parallel.kind",
           "none | ddp | zero1 | zero2 | zero3 | fsdp1 | fsdp2 | device_map",
           "none",
           Later,
           "How several cards share the work."),
    integer("parallel.world_size", 1, 1048576, "1", Later, "Number of processes."),
    integer("parallel.tp", 1, 1048576, "1", Later, "Tensor-parallel degree."),
    integer("parallel.pp", 1, 1048576, "1", Later, "Pipeline-parallel degree."),
    flag("parallel.offload_optimizer", "false", Later, "Optimizer states in host memory."),
    flag("parallel.offload_param", "false", Later, "Weights in host memory."),
    integer("vision.images", 0, kMaxDimension, "0", Later, "Images per sequence."),
    integer("vision.height", 0, kMaxDimension, "0", Later, "Pixels."),
    integer("vision.width", 0, kMaxDimension, "0", Later, "Pixels."),
    choice("vision.tower",
           "frozen | lora | train",
           "frozen",
           Later,
           "What is trained of the vision tower."),
    choice("routing", "balanced | worst", "balanced", Later, "How tokens spread over experts."),
    flag(
        "allocator.expandable_segments",
        "false",
        Modelled,
        "PYTORCH_CUDA_ALLOC_CONF expandable_segments: segments grow in place; less fragmentation."),
    or_null(integer(
        "allocator.max_split_size_mb",
        21,
        kMaxDimension,
        "null",
        Modelled,
        "PYTORCH_CUDA_ALLOC_CONF max_split_size_mb: larger cached blocks are never split.")),
    or_null(
        number("allocator.garbage_collection_threshold",
               0,
               1,
               "null",
               Modelled,
               "PYTORCH_CUDA_ALLOC_CONF garbage_collection_threshold: share of memory above which "
               "idle blocks go back. No effect without "
               "torch.cuda.set_per_process_memory_fraction, which no trainer calls.")),
    version("stack.torch", "2.13", "Version of PyTorch the rules are taken from."),
    version("stack.transformers", "5.24", "Version of transformers."),
    version("stack.peft", "0.21", "Version of PEFT."),
    version("stack.accelerate", "1.15", "Version of accelerate."),
    version("stack.bitsandbytes", "0.50", "Version of bitsandbytes."),
    version("stack.trl", "null", "Version of TRL."),
    version("stack.liger_kernel", "null", "Version of liger_kernel."),
    version("stack.flash_attn", "null", "Version of flash_attn."),
    version("stack.deepspeed", "null", "Version of DeepSpeed."),
    other("gpu.name",
          FieldKind::Text,
          "RTX 3060 12GB",
          Modelled,
          "A card of the catalogue, or custom."),
    integer("gpu.count",
            1,
            1048576,
            "1",
            Later,
            "Number of equal cards; more than one is not modelled yet."),
    integer(
        "gpu.total_bytes", 1, kMaxBytes, "1", Modelled, "Memory the driver reports for one card."),
    integer("gpu.used_by_others_bytes",
            0,
            kMaxBytes,
            "0",
            Modelled,
            "Memory that other programs and the desktop hold."),
    other("gpu.compute_capability",
          FieldKind::Text,
          "8.0",
          Modelled,
          "CUDA compute capability such as 8.6; decides kernels and bf16."),
    integer("gpu.sm_count",
            1,
            4096,
            "108",
            Modelled,
            "Streaming multiprocessors; some kernels split by it."),
    or_null(flag(
        "gpu.cudnn_attention", "null", Later, "Whether PyTorch may choose cuDNN's attention.")),
    or_null(integer("host.ram_bytes", 0, kMaxBytes, "null", Modelled, "Host memory.")),
    or_null(integer(
        "host.pinned_bytes", 0, kMaxBytes, "null", Modelled, "Host memory that may be pinned.")),
    or_null(integer("host.disk_free_bytes", 0, kMaxBytes, "null", Modelled, "Free disk space.")),
};

std::string_view kind_name(FieldKind kind) {
  switch (kind) {
    case FieldKind::Integer:
      return "integer";
    case FieldKind::Number:
      return "number";
    case FieldKind::Boolean:
      return "boolean";
    case FieldKind::Choice:
      return "choice";
    case FieldKind::Text:
      return "string";
    case FieldKind::Texts:
    case FieldKind::Integers:
    case FieldKind::Targets:
      return "list";
    case FieldKind::Members:
      return "object";
  }
  return "?";
}

}  // namespace

std::span<const SetupField> setup_fields() {
  return kFields;
}

const SetupField* find_setup_field(std::string_view name) {
  for (const SetupField& field : kFields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

bool is_setup_group(std::string_view name) {
  for (const SetupField& field : kFields) {
    const bool longer = field.name.size() > name.size() && field.name[name.size()] == '.';
    if (longer && field.name.substr(0, name.size()) == name) return true;
  }
  return false;
}

json::Value field_literal(FieldKind kind, std::string_view text) {
  if (text == "null") return {json::Null{}, 0, 0};
  if (text == "[]") return {json::Array{}, 0, 0};
  if (text == "{}") return {json::Object{}, 0, 0};
  if (kind == FieldKind::Boolean) return {text == "true", 0, 0};
  if (kind == FieldKind::Number) return {std::strtod(std::string(text).c_str(), nullptr), 0, 0};
  if (kind == FieldKind::Integer) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return {value, 0, 0};
  }
  return {std::string(text), 0, 0};
}

std::string pointer_to(std::string_view name) {
  std::string result = "/" + std::string(name);
  for (char& c : result) {
    if (c == '.') c = '/';
  }
  return result;
}

const std::vector<SetupKey>& setup_keys() {
  static const std::vector<SetupKey> keys = [] {
    std::vector<SetupKey> rows;
    for (const SetupField& field : kFields) {
      rows.push_back({field.name, kind_name(field.kind), field.choices, field.meaning});
    }
    return rows;
  }();
  return keys;
}

}  // namespace peakline
