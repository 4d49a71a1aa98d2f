// What the values of a setup mean together: contradictions, settings without effect, settings not
// modelled.
#include <algorithm>

#include "parse/setup_values.h"
#include "parse/shortened.h"

namespace peakline {
namespace {

constexpr std::int64_t kMaxTokensPerStep = std::int64_t{1} << 31;
// A sentence shows the beginning of a long value; the report's setup has the whole.
constexpr std::size_t kMaxShownValue = 80;
constexpr std::string_view kOldCard = "below compute capability 8.0";

bool begins_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

void contradiction(Errors& errors, std::string_view name, std::string message, std::string hint) {
  errors.push_back(
      {ErrorCode::SetupInconsistent, pointer_to(name), std::move(message), std::move(hint)});
}

// True where one of the values to be compared is a mistake of its own.
template <std::size_t N>
bool any_refused(const SetupValues& values, const std::string_view (&names)[N]) {
  return std::any_of(std::begin(names), std::end(names), [&](std::string_view name) {
    return values.refused(name);
  });
}

void check_card(const SetupValues& values, Errors& errors) {
  constexpr std::string_view kCompared[] = {"gpu.name", "gpu.compute_capability"};
  if (any_refused(values, kCompared)) return;
  if (capability_of(values) >= kFirstBfloat16Capability) return;
  const std::string card =
      values.text("gpu.name") + " (" + values.text("gpu.compute_capability") + ")";
  if (values.given("autocast") && values.text("autocast") == "bf16") {
    contradiction(errors,
                  "autocast",
                  "got bf16 on a card " + std::string(kOldCard) + ": " + card,
                  "Use fp16, or leave it out.");
  }
  if (values.given("dtype") && values.text("dtype") == "bfloat16") {
    contradiction(errors,
                  "dtype",
                  "got bfloat16 on a card " + std::string(kOldCard) + ": " + card,
                  "Use float16 or float32, or leave it out.");
  }
  if (values.text("attn_implementation") == "flash_attention_2") {
    contradiction(errors,
                  "attn_implementation",
                  "got flash_attention_2 on a card " + std::string(kOldCard) + ": " + card,
                  "Use sdpa or null.");
  }
}

void refuse_half_adapters(const SetupValues& values, const std::string& why, Errors& errors) {
  const bool by_hand = !values.is_null("lora.adapter_dtype");
  const bool half_base = !by_hand && values.text("dtype") == "float16";
  const bool prepared =
      quantises(values) && values.flag("quantization.prepare_model_for_kbit_training");
  const bool copies = !values.texts("lora.modules_to_save").empty() && !prepared;
  if (half_base && (copies || values.text("lora.bias") != "none")) {
    contradiction(errors,
                  copies ? "lora.modules_to_save" : "lora.bias",
                  "got parameters of a float16 model to be trained" + why,
                  "Use lora.adapter_dtype float32, or float32 weights.");
  }
  if (values.text("lora.adapter_dtype") == "float16") {
    contradiction(errors,
                  "lora.adapter_dtype",
                  "got adapters in float16" + why,
                  "Use float32 adapters, or leave it out.");
  } else if (half_base && !values.flag("lora.autocast_adapter_dtype")) {
    contradiction(errors,
                  "lora.autocast_adapter_dtype",
                  "got false on float16 weights, so adapters in float16," + why,
                  "Use true, which keeps the adapters in float32.");
  }
}

// torch 2.13 amp/grad_scaler.py: unscale_ raises "Attempting to unscale FP16 gradients". Clipping
// calls it, and so does the scaler's step unless the optimizer is fused.
void check_scaler(const SetupValues& values, Errors& errors) {
  constexpr std::string_view kCompared[] = {"method",
                                            "trainer",
                                            "dtype",
                                            "autocast",
                                            "optim",
                                            "max_grad_norm",
                                            "lora.adapter_dtype",
                                            "lora.modules_to_save",
                                            "lora.bias",
                                            "lora.autocast_adapter_dtype"};
  if (any_refused(values, kCompared)) return;
  const std::string method = values.text("method");
  const bool scaled = values.text("autocast") == "fp16" && values.text("trainer") != "none" &&
                      method != "inference";
  const bool clips = values.number("max_grad_norm") > 0;
  const bool unscales = clips || values.text("optim") != "adamw_torch_fused";
  if (!scaled || !unscales) return;
  const std::string why = std::string(" with fp16 autocast") +
                          (clips ? " and max_grad_norm above 0" : "") +
                          ": PyTorch's gradient scaler refuses float16 gradients";
  if (method == "full") {
    if (values.text("dtype") == "float16") {
      contradiction(errors,
                    "dtype",
                    "got trained weights in float16" + why,
                    "Use float32 weights, or autocast bf16 where the card has it.");
    }
    return;
  }
  refuse_half_adapters(values, why, errors);
}

void check_placement(const SetupValues& values, Errors& errors) {
  constexpr std::string_view kCompared[] = {"method", "placement.kind"};
  if (any_refused(values, kCompared) || values.text("placement.kind") != "streaming") return;
  if (values.flag("quantization.load_in_8bit")) {
    contradiction(errors,
                  "quantization.load_in_8bit",
                  "got true with streaming, which takes 4-bit blocks",
                  "Leave it out.");
  }
  if (values.text("method") == "qlora") return;
  contradiction(errors,
                "placement.kind",
                "got streaming with the method " + values.text("method") +
                    ", expected qlora: adapters on 4-bit blocks are what can be streamed",
                "Use method qlora, or leave it out.");
}

// Which other setting switches this one off; empty where none does. An 8-bit base is one whatever
// the method is: full training of it is refused, adapters are trained on it.
std::string why_idle(const SetupValues& values, std::string_view name) {
  const std::string method = values.text("method");
  const bool adapters = method == "lora" || method == "qlora";
  if (name == "quantization.load_in_8bit") return "";
  if (begins_with(name, "lora.") && !adapters) return "the method " + method + " has no adapters";
  if (begins_with(name, "quantization.") && !quantises(values))
    return "the method " + method + " does not quantise";
  if (begins_with(name, "quantization.bnb_4bit_") && values.flag("quantization.load_in_8bit"))
    return "the base is 8-bit";
  if (begins_with(name, "placement.") && name != "placement.kind" &&
      values.text("placement.kind") != "streaming")
    return "the weights are resident";
  if (name == "use_reentrant" && !values.flag("gradient_checkpointing"))
    return "gradient_checkpointing is off";
  if (name == "use_cache" && values.flag(name) && values.flag("gradient_checkpointing"))
    return "layers that are checkpointed take no cache";
  return "";
}

void note_idle(const SetupValues& values, std::vector<std::string>& notes) {
  for (const SetupField& field : setup_fields()) {
    const std::string why = values.given(field.name) ? why_idle(values, field.name) : std::string();
    if (!why.empty()) notes.push_back(std::string(field.name) + " has no effect: " + why + ".");
  }
}

bool same_value(const json::Value& a, const json::Value& b) {
  return json::dump(a) == json::dump(b);
}

void note_not_modelled(const SetupValues& values, TrainSetup& setup) {
  for (const SetupField& field : setup_fields()) {
    const json::Value& value = values.at(field.name);
    if (!values.given(field.name) || !why_idle(values, field.name).empty()) continue;
    if (same_value(value, field_literal(field.kind, field.fallback))) continue;
    const std::string assignment =
        std::string(field.name) + " = " + shortened(json::dump(value), kMaxShownValue);
    if (field.effect == Effect::Later) {
      setup.not_modelled.push_back(assignment + " is not modelled yet");
    } else if (begins_with(field.name, "stack.")) {
      setup.notes.push_back(assignment + ": the rules are those of version " +
                            std::string(field.fallback) + "; other versions may differ.");
    }
  }
}

}  // namespace

void check_consistency(const SetupValues& values, Errors& errors) {
  const std::int64_t batch = values.integer("per_device_train_batch_size");
  const std::int64_t length = values.integer("max_length");
  if (Tokens(batch) * length > Tokens(kMaxTokensPerStep)) {
    errors.push_back({ErrorCode::SetupOutOfRange,
                      "/per_device_train_batch_size",
                      "got " + std::to_string(batch) + " sequences of " + std::to_string(length) +
                          " tokens, expected at most 2147483648 tokens in a step",
                      "Use a smaller batch or a smaller max_length."});
  }
  check_card(values, errors);
  check_scaler(values, errors);
  check_placement(values, errors);
}

void note_effects(const SetupValues& values, TrainSetup& setup) {
  note_idle(values, setup.notes);
  note_not_modelled(values, setup);
  const std::string trainer = values.text("trainer");
  if (trainer != "transformers" && trainer != "none") {
    setup.not_modelled.push_back("the defaults of the trainer " + trainer +
                                 " are not modelled yet");
  }
  if (values.text("method") == "inference") {
    setup.not_modelled.push_back("inference is not modelled yet");
  }
}

}  // namespace peakline
