// The pieces of a decoder as they stand in memory: parameters, and which adapter or packing sits on
// them. Letters: B batch, S sequence, H hidden, A heads, K key/value heads, D head_dim, F
// intermediate, V vocabulary.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "peakline/architecture.h"
#include "peakline/engine.h"

namespace peakline {

struct Linear {
  const char* name = "";
  Tensor weight;  // [out, in]; undefined where packed
  Tensor bias;    // [out], may be undefined
  std::unique_ptr<Packed4bit> packed;
  Tensor lora_a;  // [R, in], undefined without an adapter
  Tensor lora_b;  // [out, R]
  bool lora_dropout = false;
};

struct Norm {
  const char* name = "";
  NormKind kind = NormKind::Rms;
  Tensor weight;  // [n]; undefined where the norm has none
  Tensor bias;    // [n]; fused layer norms only, may be undefined
};

struct DecoderLayer {
  Linear q_proj;               // [A * D, H]
  Linear k_proj;               // [K * D, H]
  Linear v_proj;               // [K * D, H]
  Linear qkv_proj;             // [(A + 2 * K) * D, H], in place of the three
  Linear o_proj;               // [H, A * D]
  std::optional<Norm> q_norm;  // [D]
  std::optional<Norm> k_norm;
  Linear gate_proj;     // [F, H]
  Linear up_proj;       // [F, H]
  Linear gate_up_proj;  // [2 * F, H], in place of both
  Linear down_proj;     // [H, F]
  Norm input_layernorm;
  Norm post_attention_layernorm;
  bool sliding = false;
};

// What the forward pass needs to know beside the parameters.
struct ModelOptions {
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t head_dim = 0;
  std::optional<std::int64_t> sliding_window;  // tokens; only where some layer slides
  bool has_full_layers = true;
  bool fused_qkv = false;
  bool rotary_slices = false;  // the rotation slices each head, turned or not
  bool fused_gate_up = false;
  bool residual_dropout = false;
  bool use_liger_kernel = false;
  bool eager_attention = false;  // else scaled_dot_product_attention
  bool efficient_attention =
      false;  // with heads repeated by hand, pinned to the memory-efficient kernel
  bool padded_batches = false;
  bool scaled_embeddings = false;  // times a number of the config
  bool scaled_residuals = false;
  bool scaled_logits = false;
  bool gradient_checkpointing = false;
  bool use_reentrant = false;
  bool input_requires_grad = false;       // the hook of enable_input_require_grads on the embedding
  DType compute_dtype = DType::BFloat16;  // of packed linears
};

struct CausalLm {
  ModelOptions options;
  Tensor embed_tokens;  // [V, H]
  std::vector<DecoderLayer> layers;
  Norm norm;
  Tensor inv_freq;  // [D / 2] float32
  Tensor original_inv_freq;
  Tensor lm_head;  // [V, H]; the embedding itself where tied
};

}  // namespace peakline
