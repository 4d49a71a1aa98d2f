// How a person wants to train. Spelling and meaning: contracts of transformers' TrainingArguments,
// PEFT's LoraConfig and bitsandbytes; one JSON document in (partial), one resolved setup out, with
// the origin of every value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "peakline/dtype.h"
#include "peakline/json.h"
#include "peakline/quantity.h"
#include "peakline/result.h"

namespace peakline {

enum class Method : std::uint8_t { Full, Lora, Qlora, Inference };
enum class Trainer : std::uint8_t {
  Transformers,
  None,
  Trl,
  Torchtune,
  Unsloth,
  Axolotl,
  Llamafactory
};
enum class AttentionMask : std::uint8_t { None, Ones, Padded };
enum class Attention : std::uint8_t { LibraryChoice, Sdpa, Eager, FlashAttention2, SdpaEfficient };
enum class Autocast : std::uint8_t { Off, Bf16, Fp16 };

struct LoraSetup {
  std::int64_t r = 16;
  std::int64_t lora_alpha = 32;
  double lora_dropout = 0.0;
  bool all_linear = true;                   // target_modules == "all-linear"
  std::vector<std::string> target_modules;  // module names where not all_linear
  std::vector<std::string> modules_to_save;
  bool autocast_adapter_dtype = true;  // PEFT: adapters of a 16-bit model are kept in float32
  std::optional<DType> adapter_dtype;
  std::string bias = "none";
  bool use_dora = false;
  bool use_rslora = false;
};

struct QuantizationSetup {
  bool load_in_8bit = false;
  std::string bnb_4bit_quant_type = "nf4";
  bool bnb_4bit_use_double_quant = true;
  DType bnb_4bit_compute_dtype = DType::BFloat16;
  bool prepare_model_for_kbit_training = true;
};

// PYTORCH_CUDA_ALLOC_CONF, in its spelling.
struct AllocatorSetup {
  bool expandable_segments = false;
  std::optional<std::int64_t> max_split_size_mb;
  std::optional<double> garbage_collection_threshold;  // share of the card's memory, 0 to 1
};

struct GpuSetup {
  std::string name;  // as in the catalogue, or "custom"
  std::int64_t count = 1;
  Bytes total;  // what the driver reports where a source states it, else the marketed size
  bool total_is_reported = false;
  Bytes used_by_others;
  int compute_capability = 80;  // major * 10 + minor
  std::int64_t sm_count = 108;
};

// Where the weights live during a step.
struct PlacementSetup {
  bool streaming = false;
  std::int64_t resident_blocks = 0;
  std::int64_t ring_slots = 2;
  bool offload_adapters = false;
  bool activations_on_host = false;
};

// The machine around the card, as far as it was said.
struct HostSetup {
  std::optional<Bytes> ram;
  std::optional<Bytes> pinned;
  std::optional<Bytes> disk_free;
};

// Where a value of the resolved setup comes from.
enum class Origin : std::uint8_t { Given, TrainerDefault, Card, Derived };

struct ResolvedValue {
  std::string key;  // JSON pointer without the leading slash: "lora.r"
  Origin origin = Origin::TrainerDefault;
};

struct TrainSetup {
  Method method = Method::Lora;
  Trainer trainer = Trainer::Transformers;
  DType dtype = DType::BFloat16;
  Autocast autocast = Autocast::Bf16;
  std::int64_t per_device_train_batch_size = 1;
  std::int64_t gradient_accumulation_steps = 1;
  std::int64_t max_length = 2048;
  AttentionMask attention_mask = AttentionMask::Ones;
  bool gradient_checkpointing = false;
  bool use_reentrant = false;
  Attention attn_implementation = Attention::LibraryChoice;
  bool use_cache = false;
  std::string optim = "adamw_torch_fused";
  double max_grad_norm = 1.0;
  bool use_liger_kernel = false;
  LoraSetup lora;
  QuantizationSetup quantization;
  AllocatorSetup allocator;
  PlacementSetup placement;
  GpuSetup gpu;
  HostSetup host;

  json::Value document;                // the resolved setup as JSON, for the report
  std::vector<ResolvedValue> origins;  // one per leaf of `document`
  std::vector<std::string> notes;      // what was given and changes nothing, one sentence each
  // Settings in force that change memory in a way the step does not know ("packing = true is not
  // modelled yet"): where this is not empty the step must not be run, and the answer is
  // Answer::NotModelled.
  std::vector<std::string> not_modelled;
};

// Reads a partial setup and resolves every default. Errors: all mistakes at once, each with its
// pointer and, for an unknown key or value, the nearest known one as hint.
[[nodiscard]] Result<TrainSetup> parse_train_setup(std::string_view text);

// One row per setup key, for --help, the page's controls and the schema test.
struct SetupKey {
  std::string_view name;     // "lora.r"
  std::string_view kind;     // "integer", "number", "boolean", "choice", "string", "list", "object"
  std::string_view choices;  // "full | lora"; the word a list may be ("all-linear"); "" where open
  std::string_view meaning;  // one sentence: what it is, unit, what a higher value costs
};
[[nodiscard]] const std::vector<SetupKey>& setup_keys();

}  // namespace peakline
