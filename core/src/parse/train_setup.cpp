// A partial setup in, a resolved one out. Order of precedence: given, trainer's table, card, our
// assumption.
#include "peakline/train_setup.h"

#include "parse/setup_values.h"
#include "peakline/data/trainer_defaults.h"

namespace peakline {
namespace {

// A choice is checked before it is read, so the last name needs no test of its own.
Method method_of(const std::string& name) {
  if (name == "full") return Method::Full;
  if (name == "lora") return Method::Lora;
  if (name == "qlora") return Method::Qlora;
  return Method::Inference;
}

Trainer trainer_of(const std::string& name) {
  if (name == "transformers") return Trainer::Transformers;
  if (name == "none") return Trainer::None;
  if (name == "trl") return Trainer::Trl;
  if (name == "torchtune") return Trainer::Torchtune;
  if (name == "unsloth") return Trainer::Unsloth;
  if (name == "axolotl") return Trainer::Axolotl;
  return Trainer::Llamafactory;
}

DType dtype_of(const std::string& name) {
  if (name == "bfloat16") return DType::BFloat16;
  if (name == "float16") return DType::Float16;
  return DType::Float32;
}

AttentionMask mask_of(const std::string& name) {
  if (name == "none") return AttentionMask::None;
  if (name == "ones") return AttentionMask::Ones;
  return AttentionMask::Padded;
}

Attention attention_of(const std::string& name) {
  if (name == "sdpa") return Attention::Sdpa;
  if (name == "eager") return Attention::Eager;
  if (name == "flash_attention_2") return Attention::FlashAttention2;
  if (name == "sdpa_efficient") return Attention::SdpaEfficient;
  return Attention::LibraryChoice;
}

Autocast autocast_of(const std::string& name) {
  if (name == "bf16") return Autocast::Bf16;
  if (name == "fp16") return Autocast::Fp16;
  return Autocast::Off;
}

void apply_trainer_table(SetupValues& values) {
  const std::string trainer = values.text("trainer");
  for (const std::string_view table : {std::string_view(trainer), std::string_view("any")}) {
    for (const data::TrainerDefaultsRow& row : data::kTrainerDefaultsRows) {
      if (row.trainer == table) values.set_default(row.key, row.value, Origin::TrainerDefault);
    }
  }
}

// bf16 exists from compute capability 8.0. Below it a full run keeps float32 weights, because the
// gradient scaler refuses float16 gradients, and an adapter run a float16 base.
void apply_card(SetupValues& values) {
  if (capability_of(values) < kFirstBfloat16Capability) {
    const bool full = values.text("method") == "full";
    values.set_default("dtype", full ? "float32" : "float16", Origin::Card);
    values.set_default("autocast", "fp16", Origin::Card);
    values.set_default("quantization.bnb_4bit_compute_dtype", "float16", Origin::Card);
  }
  values.set_default("dtype", "bfloat16", Origin::Derived);
  // Mixed precision in the weights' own half type, bf16 where they are float32.
  values.set_default(
      "autocast", values.text("dtype") == "float16" ? "fp16" : "bf16", Origin::Derived);
}

// Rule R013: PEFT's preparation calls gradient_checkpointing_enable(kwargs={}), so that nobody
// chooses a variant and torch's own default is reentrant (torch/utils/checkpoint.py). A trainer
// that is told to checkpoint enables it again, with the other.
void apply_preparation(SetupValues& values) {
  const std::string_view key = "quantization.prepare_model_for_kbit_training";
  const bool prepares = quantises(values) && (!values.given(key) || values.flag(key));
  if (!prepares || values.given("gradient_checkpointing")) return;
  values.set_default("gradient_checkpointing", "true", Origin::Derived);
  values.set_default("use_reentrant", "true", Origin::Derived);
}

void apply_fallbacks(SetupValues& values) {
  if (values.given("lora.r") && !values.given("lora.lora_alpha")) {
    values.set("lora.lora_alpha", {values.integer("lora.r") * 2, 0, 0}, Origin::Derived);
  }
  if (values.text("optim") == "adamw_8bit") {  // transformers' own alias
    values.set("optim", {std::string("adamw_bnb_8bit"), 0, 0}, Origin::Given);
  }
  for (const SetupField& field : setup_fields()) {
    values.set_default(field.name, field.fallback, Origin::Derived);
  }
}

}  // namespace

bool quantises(const SetupValues& values) {
  const std::string method = values.text("method");
  return method == "qlora" || (method == "lora" && values.flag("quantization.load_in_8bit"));
}

namespace {

LoraSetup lora_of(const SetupValues& values) {
  LoraSetup lora;
  lora.r = values.integer("lora.r");
  lora.lora_alpha = values.integer("lora.lora_alpha");
  lora.lora_dropout = values.number("lora.lora_dropout");
  lora.target_modules = values.texts("lora.target_modules");
  lora.all_linear = lora.target_modules.empty();
  lora.modules_to_save = values.texts("lora.modules_to_save");
  lora.autocast_adapter_dtype = values.flag("lora.autocast_adapter_dtype");
  if (!values.is_null("lora.adapter_dtype"))
    lora.adapter_dtype = dtype_of(values.text("lora.adapter_dtype"));
  lora.bias = values.text("lora.bias");
  lora.use_dora = values.flag("lora.use_dora");
  lora.use_rslora = values.flag("lora.use_rslora");
  return lora;
}

AllocatorSetup allocator_of(const SetupValues& values) {
  AllocatorSetup allocator;
  allocator.expandable_segments = values.flag("allocator.expandable_segments");
  if (!values.at("allocator.max_split_size_mb").is_null()) {
    allocator.max_split_size_mb = values.integer("allocator.max_split_size_mb");
  }
  if (!values.at("allocator.garbage_collection_threshold").is_null()) {
    allocator.garbage_collection_threshold =
        values.number("allocator.garbage_collection_threshold");
  }
  return allocator;
}

QuantizationSetup quantization_of(const SetupValues& values) {
  QuantizationSetup quantization;
  quantization.load_in_8bit = values.flag("quantization.load_in_8bit");
  quantization.bnb_4bit_quant_type = values.text("quantization.bnb_4bit_quant_type");
  quantization.bnb_4bit_use_double_quant = values.flag("quantization.bnb_4bit_use_double_quant");
  quantization.bnb_4bit_compute_dtype =
      dtype_of(values.text("quantization.bnb_4bit_compute_dtype"));
  quantization.prepare_model_for_kbit_training =
      values.flag("quantization.prepare_model_for_kbit_training");
  return quantization;
}

GpuSetup gpu_of(const SetupValues& values, bool total_is_reported) {
  GpuSetup gpu;
  gpu.name = values.text("gpu.name");
  gpu.count = values.integer("gpu.count");
  gpu.total = Bytes(values.integer("gpu.total_bytes"));
  gpu.total_is_reported = total_is_reported;
  gpu.used_by_others = Bytes(values.integer("gpu.used_by_others_bytes"));
  gpu.compute_capability = capability_of(values);
  gpu.sm_count = values.integer("gpu.sm_count");
  return gpu;
}

PlacementSetup placement_of(const SetupValues& values) {
  PlacementSetup placement;
  placement.streaming = values.text("placement.kind") == "streaming";
  placement.resident_blocks = values.integer("placement.resident_blocks");
  placement.ring_slots = values.integer("placement.ring_slots");
  placement.offload_adapters = values.flag("placement.offload_adapters");
  placement.activations_on_host = values.text("placement.activation_cache") == "host";
  return placement;
}

HostSetup host_of(const SetupValues& values) {
  const auto bytes = [&values](std::string_view name) -> std::optional<Bytes> {
    if (values.is_null(name)) return std::nullopt;
    return Bytes(values.integer(name));
  };
  return {bytes("host.ram_bytes"), bytes("host.pinned_bytes"), bytes("host.disk_free_bytes")};
}

TrainSetup setup_of(const SetupValues& values, bool total_is_reported) {
  TrainSetup setup;
  setup.method = quantises(values) ? Method::Qlora : method_of(values.text("method"));
  setup.trainer = trainer_of(values.text("trainer"));
  setup.dtype = dtype_of(values.text("dtype"));
  setup.autocast = autocast_of(values.text("autocast"));
  setup.per_device_train_batch_size = values.integer("per_device_train_batch_size");
  setup.gradient_accumulation_steps = values.integer("gradient_accumulation_steps");
  setup.max_length = values.integer("max_length");
  setup.attention_mask = mask_of(values.text("attention_mask"));
  setup.gradient_checkpointing = values.flag("gradient_checkpointing");
  setup.use_reentrant = values.flag("use_reentrant");
  setup.attn_implementation = attention_of(values.text("attn_implementation"));
  setup.use_cache = values.flag("use_cache");
  setup.optim = values.text("optim");
  setup.max_grad_norm = values.number("max_grad_norm");
  setup.use_liger_kernel = values.flag("use_liger_kernel");
  setup.lora = lora_of(values);
  setup.quantization = quantization_of(values);
  setup.allocator = allocator_of(values);
  setup.placement = placement_of(values);
  setup.host = host_of(values);
  setup.gpu = gpu_of(values, total_is_reported);
  setup.document = values.document();
  setup.origins = values.origins();
  return setup;
}

}  // namespace

Result<TrainSetup> parse_train_setup(std::string_view text) {
  Result<json::Value> document = json::parse(text);
  if (!document) return std::move(document.error());
  if (!document->as_object()) {
    return Error{ErrorCode::JsonNotAnObject,
                 "",
                 "got " + document->describe() + ", expected an object of settings",
                 "Write {} for all defaults, or {\"method\": \"qlora\"}."};
  }
  Errors errors;
  std::vector<std::string> notes;
  SetupValues values = read_given_setup(*document, errors);
  // Only adapters on a 4-bit base can be trained block by block.
  if (values.text("placement.kind") == "streaming")
    values.set_default("method", "qlora", Origin::Derived);
  values.set_default("method", find_setup_field("method")->fallback, Origin::Derived);
  values.set_default("trainer", find_setup_field("trainer")->fallback, Origin::Derived);
  resolve_gpu(values, errors, notes);
  const bool total_is_reported = has_reported_total(values);
  apply_preparation(values);
  apply_trainer_table(values);
  apply_card(values);
  apply_fallbacks(values);
  check_consistency(values, errors);
  if (!errors.empty()) return errors;
  TrainSetup setup = setup_of(values, total_is_reported);
  setup.notes = std::move(notes);
  note_effects(values, setup);
  return setup;
}

}  // namespace peakline
