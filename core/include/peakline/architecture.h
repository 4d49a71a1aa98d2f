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
#include "peakline/text_list.h"

namespace peakline {

// Letters used in comments everywhere: B batch, S sequence, H hidden, A heads, K key/value heads,
// D head_dim, F intermediate, V vocabulary, L layers, R rank.

enum class HiddenAct : std::uint8_t {
  Silu,
  Gelu,
  GeluTanh,
  GeluUnfused,     // the tanh approximation written out
  GeluRecomputed,  // the same as a function that keeps its input alone
  Relu,
};

// How a norm is computed: what it keeps for backward depends on it.
enum class NormKind : std::uint8_t {
  Rms,           // float32 root mean square, cast back, then times the weight
  RmsWide,       // the same, times the weight before the cast
  RmsOffset,     // times 1 + weight in float32, then cast back
  Layer,         // the fused layer norm
  LayerWide,     // the fused layer norm of a float32 cast, cast back
  LayerUnfused,  // a layer norm without bias, written out in float32
};

// A norm on q and on k, before the rotation.
enum class HeadNorm : std::uint8_t {
  None,
  EachHead,  // over D, for each head alike
  AllHeads,  // over all heads at once
  PerHead,   // over D, for each head with weights of its own
};

enum class RotaryKind : std::uint8_t {
  Halves,           // the two halves of a head are turned against each other, in its own type
  HalvesWide,       // by float32 tables, and cast back
  InterleavedWide,  // neighbours are turned against each other, in float32
};

enum class Scale : std::uint8_t { None, Multiplied, Divided };

// Where blocks drop what they add to the residual.
enum class BlockDropout : std::uint8_t {
  None,
  Inside,      // the block's own last operation
  Outside,     // on the block's result
  AtResidual,  // a temporary of the sum
  AfterMlp,    // on the mlp's result alone
};

// How a model knows where a token stands.
enum class Positions : std::uint8_t {
  Rotary,
  Learned,           // a table's rows, added to the embeddings before a mask is made
  LearnedAfterMask,  // the same, after it
  LearnedCounted,    // the rows counted by the batch's mask
  Alibi,             // a bias on the scores that grows with the distance
};

// How the result of one projection becomes q, k and v.
enum class QkvSplit : std::uint8_t {
  None,            // three projections, or slices of one
  Thirds,          // split in one node
  SharedHead,      // all queries, one key, one value
  ThirdsOfHead,    // each head's q, k and v side by side
  SelectedOfHead,  // the same, selected one by one
  IndexedHeads,    // all queries are a slice; key and value, one each, are copied by an index
  IndexedGroups,   // the same in every group of heads, and spread to all of its queries
};

// Attention through narrow rows: keys and values come out of one, and queries may.
struct LatentSizes {
  std::int64_t query_rank = 0;      // 0: queries are projected at once
  std::int64_t key_value_rank = 0;  // 0: no latent attention
  std::int64_t unrotated = 0;       // of a head of q and k
  std::int64_t rotated = 0;         // and the rest, which all heads of k share
  std::int64_t value_dim = 0;       // of a head of v
};

// Which results a layer's Python frame keeps, and in what shape its mlp sees them.
enum class LayerForm : std::uint8_t {
  Usual,
  NamedResults,  // every block's result has a name
  Rows,          // the mlp sees [B * S, H]
  BiasedScores,  // scores start from alibi, and the blocks add the residual themselves
  SummedBlocks,  // attention's result is added in place to that of a parallel mlp
};

// Which layers have a property: none before `begin`, from there in turn as the cycle says.
struct LayerPattern {
  std::int64_t begin = 0;
  std::vector<bool> cycle;  // empty: none

  [[nodiscard]] bool at(std::int64_t layer) const;
  [[nodiscard]] std::int64_t count(std::int64_t num_layers) const;
};

// How a decoder's layers compute. What is not said is as in Llama.
struct DecoderStructure {
  std::int64_t num_attention_heads = 0;  // A
  std::int64_t num_key_value_heads = 0;  // K
  std::int64_t head_dim = 0;             // D
  std::int64_t rotary_dim = 0;  // the first entries of a head that positions turn; D where all
  std::optional<std::int64_t> sliding_window;  // tokens; present only where layers really use it

  LatentSizes latent;
  bool parallel_blocks = false;      // attention and mlp read one norm, their results are added
  bool residual_added_last = false;  // to the sum of both
  bool frame_holds_names = false;    // a layer keeps its first norm's result until it returns
  bool fused_qkv = false;            // one projection makes q, k and v: slices of its result
  bool norms_split_heads = false;    // the norms on q and k come last, on what is transposed
  bool splits_heads_last = false;    // once q, k and v are all made
  bool plain_mlp = false;            // up, activation, down: no gate
  bool fused_gate_up = false;        // one projection makes gate and up
  QkvSplit qkv_split = QkvSplit::None;
  Positions positions = Positions::Rotary;
  LayerForm layer_form = LayerForm::Usual;
  bool embedding_norm = false;       // embeddings are normed before the first layer
  bool residual_after_norm = false;  // what a block adds to is its norm's result
  bool norm_for_each_block = false;  // parallel blocks read a norm of their own each
  bool always_masked = false;        // a mask is built for batches that need none, too
  bool alibi_in_mask = false;        // and alibi is part of it
  bool written_out_linears = false;  // x @ weight.T, then + bias
  bool norms_after_sums = false;     // a block's norm comes after its residual
  bool scaled_query = false;         // q times a number before attention
  bool softmax_as_is = false;        // eager attention does not ask for a float32 softmax
  bool windowed_scores = false;      // attention reads its window from a table of its own
  bool returns_weights = false;      // a layer returns attention's weights beside its result
  bool divided_last_states = false;  // by a number, before the head
  bool viewed_last_states = false;   // the last norm's result goes through a view
  HiddenAct hidden_act = HiddenAct::Silu;
  HeadNorm qk_norm = HeadNorm::None;
  RotaryKind rotary_kind = RotaryKind::Halves;
  bool two_rotations = false;          // sliding layers have tables of their own
  bool rotary_slices = false;          // the rotation slices each head, even where it turns all
  bool rotary_slices_held = false;     // and attention keeps the slices until it returns
  bool scaled_embeddings = false;      // times a number
  bool embedding_holds_scale = false;  // the embedding module multiplies, by a buffer of its own
  bool scaled_residuals = false;
  Scale logit_scale = Scale::None;
  bool capped_scores = false;  // cap * tanh(x / cap) on the scores of eager attention
  bool capped_logits = false;
  bool liger_keeps_logits = false;  // its loss reads them whole and overwrites them
  bool embedding_dropout = false;
  bool embedding_dropout_rebinds = false;  // what was dropped takes the embeddings\' name
  bool clipped_projections = false;        // q, k and v are clamped in place
  bool query_scaled_by_position = false;   // by a factor of each token\'s place, once rotated
  bool separate_head_norms = false;        // the norms on q and k: a layer norm for each head
  bool attention_dropout = false;          // on attention weights
  BlockDropout block_dropout = BlockDropout::None;
};

struct DenseDecoder : DecoderStructure {
  std::int64_t vocab_size = 0;         // V
  std::int64_t hidden_size = 0;        // H
  std::int64_t intermediate_size = 0;  // F
  std::int64_t num_hidden_layers = 0;  // L
  std::int64_t embedding_size = 0;     // of a token's row; H unless projected in and out
  std::int64_t position_rows = 0;      // of the table, where positions are learned
  bool input_major = false;            // weights lie [in, out]
  bool final_norm = true;
  bool second_frequencies = false;  // for sequences beyond the first training's, kept beside
  bool triangle_buffer = false;     // a lower triangle of all positions is kept
  TextList modules;                 // "role path" lines; empty: the usual names
  bool tie_word_embeddings = false;
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  bool lm_head_bias = false;
  NormKind norm_kind = NormKind::Rms;
  bool norm_weight = true;
  bool norm_bias = false;
  LayerPattern sliding;
  LayerPattern local;             // layers whose own table leaves far tokens out
  LayerPattern unrotated;         // layers that know no positions
  bool eager_by_default = false;  // the class takes no scaled_dot_product_attention
  bool liger_kernels = false;     // liger-kernel 0.8.5 patches this model type
  // Which of its norms Liger's kernel replaces, and whose backward does not write in place.
  bool liger_leaves_head_norms = false;
  bool liger_layer_norms_copy = false;
  bool liger_final_norm_copies = false;
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
