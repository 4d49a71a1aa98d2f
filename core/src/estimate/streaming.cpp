#include "estimate/streaming.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "estimate/patch.h"
#include "peakline/allocator.h"
#include "peakline/estimate.h"
#include "report/limits.h"
#include "report/terms.h"
#include "report/verdict.h"

namespace peakline {

namespace {

constexpr std::int64_t kPage = 4096;            // blocks start and end on pages, for direct reads
constexpr std::int64_t kHostSlots = 4;          // blocks on their way from disk, pinned
constexpr Bytes kHeadChunk = mebibytes(64);     // of the vocabulary, two in flight
constexpr Bytes kLogitsChunk = mebibytes(100);  // tokens are taken in turn to stay below
constexpr std::int64_t kAdapterStates = 4;      // float32 weight, gradient and two moments

// One block alone, as the engine runs it.
struct Block {
  Bytes weights;   // packed codes, statistics and norms
  Bytes adapters;  // float32
  Bytes step;      // reserved while it is recomputed and its gradients are made, both included
};

TrainSetup block_setup(const TrainSetup& asked) {
  TrainSetup setup = asked;
  const bool bf16 = asked.gpu.compute_capability >= 80;
  setup.method = Method::Qlora;
  setup.trainer = Trainer::Transformers;
  setup.dtype = bf16 ? DType::BFloat16 : DType::Float16;
  setup.autocast = bf16 ? Autocast::Bf16 : Autocast::Fp16;
  setup.quantization = QuantizationSetup{};
  setup.quantization.bnb_4bit_compute_dtype = setup.dtype;
  setup.quantization.prepare_model_for_kbit_training = false;
  setup.lora.autocast_adapter_dtype = true;
  setup.lora.adapter_dtype.reset();
  setup.gradient_checkpointing = false;
  setup.gradient_accumulation_steps = 1;
  setup.optim = "sgd";  // without states: they are a term of their own
  setup.max_grad_norm = 0.0;
  setup.use_liger_kernel = false;
  setup.use_cache = false;
  setup.allocator = {};
  return setup;
}

// One layer between an embedding and a head of next to nothing.
Architecture block_architecture(const Architecture& whole, std::int64_t layer) {
  constexpr std::int64_t kFewWords = 8;
  Architecture block = whole;
  DenseDecoder& decoder = *block.dense;
  for (LayerPattern* pattern : {&decoder.sliding, &decoder.local, &decoder.unrotated})
    *pattern = {0, {pattern->at(layer)}};
  decoder.num_hidden_layers = 1;
  decoder.vocab_size = kFewWords;
  decoder.tie_word_embeddings = false;
  block.num_layers = 1;
  block.vocab_size = kFewWords;
  return block;
}

Result<Block> run_block(const Architecture& whole, const TrainSetup& setup, std::int64_t layer) {
  const Result<Events> events = simulate_steady_step(block_architecture(whole, layer), setup);
  if (!events) return events.error();
  Block block;
  for (const EventTensor& tensor : events->tensors) {
    if (tensor.phase != Phase::Load) break;
    if (tensor.module.layer < 0) continue;
    (tensor.role == Role::WeightTrainable ? block.adapters : block.weights) += tensor.bytes;
  }
  block.step = replay(*events, {}).reserved;
  return block;
}

// The block whose step takes most: layers differ in what they attend to.
Result<Block> largest_block(const Architecture& whole, const TrainSetup& asked) {
  const TrainSetup setup = block_setup(asked);
  const DenseDecoder& decoder = *whole.dense;
  std::array<bool, 8> seen{};
  Block largest;
  for (std::int64_t layer = 0; layer < decoder.num_hidden_layers; ++layer) {
    const std::size_t kind = (decoder.sliding.at(layer) ? 1u : 0u) +
                             (decoder.local.at(layer) ? 2u : 0u) +
                             (decoder.unrotated.at(layer) ? 4u : 0u);
    if (std::exchange(seen[kind], true)) continue;
    Result<Block> block = run_block(whole, setup, layer);
    if (!block) return block;
    if (block->step > largest.step) largest = *block;
  }
  return largest;
}

Bytes padded(Bytes bytes) {
  return Bytes(round_up(bytes.count(), kPage));
}

struct Sizes {
  Bytes planes;    // a block's input and output for all tokens of a step
  Bytes inputs;    // every block's input, kept until backward
  Bytes table;     // the embedding
  Bytes head;      // its own matrix, where not tied
  Bytes adapters;  // of all blocks, float32
  std::int64_t resident = 0;
  std::int64_t slots = 0;
};

Sizes sizes_of(const DenseDecoder& decoder,
               const TrainSetup& setup,
               const PlacementSetup& placement,
               const Block& block) {
  const Tokens tokens = Tokens(setup.per_device_train_batch_size) *
                        setup.gradient_accumulation_steps * setup.max_length;
  const Bytes plane = Bytes(2) * decoder.hidden_size * tokens.count();
  const Bytes table = Bytes(2) * decoder.embedding_size * decoder.vocab_size;
  const std::int64_t layers = decoder.num_hidden_layers;
  Sizes sizes;
  sizes.planes = plane * 2;
  sizes.inputs = plane * layers;
  sizes.table = table + Bytes(2) * decoder.position_rows * decoder.hidden_size;
  sizes.head = decoder.tie_word_embeddings ? Bytes(0) : table;
  sizes.adapters = block.adapters * layers;
  sizes.resident = std::min(placement.resident_blocks, layers);
  sizes.slots = std::min(placement.ring_slots, layers - sizes.resident);
  return sizes;
}

// "a (1.0 GiB), b (2.0 GiB)" and their sum.
class Sum {
 public:
  void add(const std::string& what, Bytes bytes) {
    if (bytes <= Bytes(0)) return;
    total_ += bytes;
    text_ += (text_.empty() ? "" : ", ") + what + " " + format_bytes(bytes);
  }
  [[nodiscard]] Bytes total() const { return total_; }
  [[nodiscard]] Provenance as(std::string_view value) const {
    return {std::string(value), "derived", text_ + "."};
  }

 private:
  Bytes total_;
  std::string text_;
};

Sum sum_of_gpu(const Sizes& sizes,
               const PlacementSetup& placement,
               const Block& block,
               const GpuSetup& gpu) {
  const Bytes head = std::min(kHeadChunk * 2, sizes.table) + kLogitsChunk;
  const Bytes before = block.weights + block.adapters;
  Sum sum;
  if (block.step >= before + head) {
    sum.add("one block's weights, recomputation and gradients, simulated,", block.step);
  } else {
    sum.add("one block's weights", before);
    sum.add("two chunks of the head and a chunk's logits", head);
  }
  const std::int64_t others = sizes.slots + sizes.resident - 1;
  sum.add(std::to_string(others) + " more blocks on the card", block.weights * others);
  sum.add("a block's input and output for all tokens", sizes.planes);
  if (!placement.activations_on_host) sum.add("every block's input", sizes.inputs);
  if (!placement.offload_adapters)
    sum.add("adapters with gradients and AdamW's moments",
            sizes.adapters * kAdapterStates - block.adapters);
  sum.add("CUDA context", context_term(gpu).high);
  sum.add("cuBLAS workspaces", workspace_term(gpu).high);
  return sum;
}

Sum sum_of_host(const Sizes& sizes,
                const PlacementSetup& placement,
                const Block& block,
                Bytes& pinned) {
  Sum sum;
  sum.add(std::to_string(kHostSlots) + " pinned blocks on their way",
          padded(block.weights) * kHostSlots);
  if (placement.activations_on_host) sum.add("every block's input, pinned,", sizes.inputs);
  pinned = sum.total();
  sum.add("the embedding, read by rows,", sizes.table);
  if (placement.offload_adapters)
    sum.add("adapters with gradients and AdamW's moments", sizes.adapters * kAdapterStates);
  return sum;
}

std::string sentence_of(const Streaming& bytes) {
  return "By streaming 4-bit blocks from disk, training adapters would take " +
         format_bytes(bytes.gpu) + " of the card, " + format_bytes(bytes.host) +
         " of host memory (" + format_bytes(bytes.pinned) + " of it pinned) and " +
         format_bytes(bytes.disk) +
         " of disk beside the model's own files. How fast it would be is not estimated.";
}

// Whether even the smallest resident run of this model and length is too large.
bool nothing_resident_fits(std::string_view config, json::Value setup) {
  constexpr std::string_view kSmallest =
      R"({"method": "qlora", "gradient_checkpointing": true, "use_reentrant": false,
          "per_device_train_batch_size": 1, "gradient_accumulation_steps": 1,
          "optim": "paged_adamw_8bit", "use_liger_kernel": true, "lora": {"r": 1},
          "quantization": {"prepare_model_for_kbit_training": false,
                           "bnb_4bit_use_double_quant": true, "load_in_8bit": false},
          "allocator": {"expandable_segments": true}})";
  const Result<json::Value> patch = json::parse(kSmallest);
  if (!patch) return false;
  lay_over(setup, *patch);
  const Result<Report> smallest = estimate(config, json::dump(setup));
  return smallest && smallest->has_memory && !smallest->verdict.limits.empty() &&
         smallest->verdict.limits.front().answer == Answer::DoesNotFit;
}

// The block that is streamed, or why there is none.
Result<Block> streamed_block(const Architecture& architecture, const TrainSetup& setup) {
  if (!architecture.dense)
    return Error{ErrorCode::NotModelled, "config", architecture.not_modelled, ""};
  if (!setup.lora.modules_to_save.empty() || setup.lora.bias != "none")
    return Error{
        ErrorCode::NotModelled, "setup", "training more than adapters on streamed blocks", ""};
  return largest_block(architecture, setup);
}

StreamingNeed need_of(const DenseDecoder& decoder,
                      const TrainSetup& setup,
                      const PlacementSetup& placement,
                      const Block& block) {
  const Sizes sizes = sizes_of(decoder, setup, placement, block);
  StreamingNeed need;
  const Sum gpu = sum_of_gpu(sizes, placement, block, setup.gpu);
  const Sum host = sum_of_host(sizes, placement, block, need.bytes.pinned);
  Sum disk;
  disk.add("the block store's blocks",
           padded(block.weights) * decoder.num_hidden_layers + Bytes(kPage));
  disk.add("embedding", sizes.table);
  disk.add("head", sizes.head);
  need.bytes.gpu = gpu.total();
  need.bytes.host = host.total();
  need.bytes.disk = disk.total();
  need.bytes.sentence = sentence_of(need.bytes);
  const Term context = context_term(setup.gpu);
  const Term workspace = workspace_term(setup.gpu);
  need.gpu_low = need.bytes.gpu - (context.high - context.low) - (workspace.high - workspace.low);
  need.terms = {gpu.as("/verdict/streaming/gpu_bytes"),
                host.as("/verdict/streaming/host_bytes"),
                disk.as("/verdict/streaming/disk_bytes")};
  return need;
}

}  // namespace

Result<StreamingNeed> streaming_need(const Architecture& architecture, const TrainSetup& setup) {
  const Result<Block> block = streamed_block(architecture, setup);
  if (!block) return block.error();
  return need_of(*architecture.dense, setup, setup.placement, *block);
}

void judge_streaming(Report& report, StreamingNeed need) {
  const Term usable = usable_term(report.setup.gpu);
  const Streaming& bytes = need.bytes;
  Verdict& verdict = report.verdict;
  verdict.usable = usable.low;
  verdict.margin = usable.low - bytes.gpu;
  verdict.risk = risk_of(bytes.gpu, usable.low);
  verdict.answer = bytes.gpu <= usable.low       ? Answer::Fits
                   : need.gpu_low <= usable.high ? Answer::TooClose
                                                 : Answer::DoesNotFit;
  verdict.sentence = std::string(headline_of(verdict.answer)) + ": streaming needs " +
                     range_text(need.gpu_low, bytes.gpu) + " of the " +
                     range_text(usable.low, usable.high) + " that " + card_name(report.setup.gpu) +
                     " can use.";
  const HostSetup& host = report.setup.host;
  Limit gpu = limit_of(Resource::Gpu, bytes.gpu, usable.low, Answer::TooClose, "streaming");
  gpu.answer = verdict.answer;
  verdict.limits = {
      std::move(gpu),
      limit_of(Resource::HostRam, bytes.host, host.ram, Answer::DoesNotFit, "streaming"),
      limit_of(Resource::Pinned, bytes.pinned, host.pinned, Answer::DoesNotFit, "streaming"),
      limit_of(Resource::Disk, bytes.disk, host.disk_free, Answer::DoesNotFit, "streaming")};
  weigh_limits(report);
  for (Provenance& term : need.terms) report.provenance.push_back(std::move(term));
  verdict.streaming = std::move(need.bytes);
}

void add_streaming(Report& asked, std::string_view config_json, std::string_view setup_json) {
  const bool in_question = asked.has_memory && !asked.verdict.limits.empty() &&
                           asked.verdict.limits.front().answer == Answer::DoesNotFit;
  if (!in_question) return;
  Result<json::Value> setup = json::parse(setup_json);
  if (!setup || setup->as_object() == nullptr ||
      !nothing_resident_fits(config_json, std::move(*setup)))
    return;
  const Result<Block> block = streamed_block(asked.architecture, asked.setup);
  if (!block) return;
  const DenseDecoder& decoder = *asked.architecture.dense;
  // What the card holds goes to the host step by step until the card suffices.
  PlacementSetup placement;
  StreamingNeed need = need_of(decoder, asked.setup, placement, *block);
  for (bool* moved : {&placement.activations_on_host, &placement.offload_adapters}) {
    if (need.bytes.gpu <= asked.verdict.usable) break;
    *moved = true;
    need = need_of(decoder, asked.setup, placement, *block);
  }
  for (Provenance& term : need.terms) asked.provenance.push_back(std::move(term));
  asked.verdict.streaming = std::move(need.bytes);
}

}  // namespace peakline
