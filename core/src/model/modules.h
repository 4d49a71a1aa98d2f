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
  Tensor weight;  // [out, in]; undefined where packed, either way
  Tensor bias;    // [out], may be undefined
  std::unique_ptr<Packed4bit> packed;
  std::unique_ptr<Packed8bit> packed_8bit;
  Tensor lora_a;          // [R, in], undefined without an adapter
  Tensor lora_b;          // [out, R]
  Tensor lora_magnitude;  // [out], under DoRA
  bool lora_dropout = false;
  bool input_major = false;  // the weight lies [in, out]
};

// Whether Liger's kernel computes a norm, and where its backward writes.
enum class LigerNorm : std::uint8_t { None, InPlace, OutOfPlace };

struct Norm {
  const char* name = "";
  LigerNorm liger = LigerNorm::None;
  NormKind kind = NormKind::Rms;
  Tensor weight;  // [n]; undefined where the norm has none
  Tensor bias;    // [n]; fused layer norms only, may be undefined
};

struct DecoderLayer {
  Linear q_proj;            // [A * D, H]
  Linear k_proj;            // [K * D, H]
  Linear v_proj;            // [K * D, H]
  Linear qkv_proj;          // [(A + 2 * K) * D, H], in place of the three
  Linear q_down_proj;       // [Q, H]; then q_proj is [A * D, Q]
  Linear latent_down_proj;  // [C + R, H]
  Linear latent_up_proj;    // [A * (N + V), C]
  std::optional<Norm> q_down_norm;
  std::optional<Norm> latent_norm;
  Linear o_proj;               // [H, A * D]
  std::optional<Norm> q_norm;  // [D], or of all heads
  std::optional<Norm> k_norm;
  std::vector<Norm> q_norms;  // one for each head, in their place
  std::vector<Norm> k_norms;
  Linear gate_proj;     // [F, H]
  Linear up_proj;       // [F, H]
  Linear gate_up_proj;  // [2 * F, H], in place of both
  Linear down_proj;     // [H, F]
  // Of what each block reads, and of what it adds to the residual.
  std::optional<Norm> attention_norm;
  std::optional<Norm> attention_out_norm;
  std::optional<Norm> mlp_norm;
  std::optional<Norm> mlp_out_norm;
  Tensor window;  // bool [P, P], where attention reads its window from a table
  bool sliding = false;
  bool rotates = true;
};

// What the forward pass needs to know beside the parameters.
struct ModelOptions : DecoderStructure {
  bool has_full_layers = true;
  bool use_liger_kernel = false;
  bool eager_attention = false;  // else scaled_dot_product_attention
  bool efficient_attention =
      false;  // with heads repeated by hand, pinned to the memory-efficient kernel
  bool padded_batches = false;
  bool gradient_checkpointing = false;
  bool use_reentrant = false;
  bool use_cache = false;
  bool input_requires_grad = false;       // the hook of enable_input_require_grads on the embedding
  DType compute_dtype = DType::BFloat16;  // of packed linears
};

struct CausalLm {
  ModelOptions options;
  Tensor embed_tokens;      // [V, H]
  Tensor lora_embedding_a;  // [R, V], undefined without an adapter
  Tensor lora_embedding_b;  // [H, R]
  std::optional<Norm> embedding_norm;
  Tensor embed_positions;             // [P, H], where positions are learned
  std::optional<Linear> project_in;   // [H, W], where tokens' rows are narrower
  std::optional<Linear> project_out;  // [W, H]
  std::vector<DecoderLayer> layers;
  std::optional<Norm> norm;
  Tensor inv_freq;  // [rotary_dim / 2] float32
  Tensor original_inv_freq;
  Tensor long_inv_freq;     // for long sequences, where the rotation has a second set
  Tensor sliding_inv_freq;  // where sliding layers turn by tables of their own
  Tensor sliding_original_inv_freq;
  Tensor triangle;         // bool [P, P], kept by some and read by none
  Tensor embedding_scale;  // []; where the embedding module multiplies
  Tensor lm_head;          // [V, H]; the embedding itself where tied
  Tensor lm_head_bias;     // [V], may be undefined
};

}  // namespace peakline
