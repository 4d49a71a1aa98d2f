// A validated model: what the configuration means. Structure comes from fields and from the
// variants that core/data/families.json gives a model_type; no code looks at a name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "peakline/layer_modules.h"
#include "peakline/model_config.h"
#include "peakline/quantity.h"
#include "peakline/result.h"

namespace peakline {

// Letters used in comments everywhere: B batch, S sequence, H hidden, A heads, K key/value heads,
// D head_dim, F intermediate, V vocabulary, L layers, R rank.

enum class HiddenAct : std::uint8_t { Silu, Gelu, GeluTanh, Relu };

// How a norm is computed: what it keeps for backward depends on it.
enum class NormKind : std::uint8_t {
  Rms,           // float32 root mean square, cast back, then times the weight
  RmsWide,       // the same, times the weight before the cast
  RmsOffset,     // times 1 + weight in float32, then cast back
  Layer,         // the fused layer norm
  LayerWide,     // the fused layer norm of a float32 cast, cast back
  LayerUnfused,  // a layer norm without bias, written out in float32
};

// The Llama-shaped decoder: rotary, grouped heads, rms norms, gated MLP, residuals in sequence.
struct DenseDecoder {
  std::int64_t vocab_size = 0;                // V
  std::int64_t hidden_size = 0;               // H
  std::int64_t intermediate_size = 0;         // F
  std::int64_t num_hidden_layers = 0;         // L
  std::int64_t num_attention_heads = 0;       // A
  std::int64_t num_key_value_heads = 0;       // K
  std::int64_t head_dim = 0;                  // D
  std::span<const std::string_view> modules;  // "role path" lines; empty: the usual names
  HiddenAct hidden_act = HiddenAct::Silu;
  bool tie_word_embeddings = false;
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  bool scaled_embeddings = false;  // embeddings, block outputs and logits times a number
  bool scaled_residuals = false;
  bool scaled_logits = false;
  bool liger_kernels = false;     // liger-kernel 0.8.5 patches this model type
  bool fused_qkv = false;         // one projection makes q, k and v: slices of its result
  bool rotary_slices = false;     // the rotation slices each head, even where it turns all of it
  bool fused_gate_up = false;     // one projection makes gate and up
  bool residual_dropout = false;  // on what each block adds to the residual
  std::int64_t rotary_dim = 0;    // the first entries of a head that positions turn; D where all
  bool qk_norm = false;           // an rms norm over D on q and on k, before the rotation
  std::optional<std::int64_t> sliding_window;  // tokens; present only where layers really use it
  std::int64_t num_sliding_layers = 0;         // the last ones; L where every layer slides
  bool sliding_layers_first = false;  // true: the window applies to the first layers instead
};

struct Parameters {
  Elements total;      // what model.num_parameters() says (tied weights once)
  bool exact = false;  // false: fields leave something open, `assumptions` says what
  Elements embedding;  // input embedding (and position embeddings)
  Elements head;       // lm_head where not tied
  Elements linear;     // weights that bitsandbytes would quantise
  Elements other;      // norms, biases, everything else
};

struct Architecture {
  std::string model_type;    // the beginning of a very long one
  std::string stated_dtype;  // of the saved weights, "float32"; empty where the config does not say
  std::int64_t num_layers = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_position_embeddings = 0;  // 0 where absent
  std::optional<DenseDecoder> dense;         // present where the step is modelled
  std::string not_modelled;  // why `dense` is absent: one sentence; empty where present
  // Absent where the fields do not suffice; the reason is in `notes`.
  std::optional<Parameters> parameters;
  // The second reading where fields leave two (tie flag absent).
  std::optional<Parameters> alternative;
  std::vector<std::string> assumptions;  // what was assumed, one sentence each, ordered
  std::vector<std::string> notes;
};

// Validates and resolves. Errors: missing or contradictory fields of a shape this core knows, with
// pointers into the config. A model it does not know is not an error: `dense` stays empty and says
// why.
[[nodiscard]] Result<Architecture> build_architecture(const ModelConfig& config);

}  // namespace peakline
