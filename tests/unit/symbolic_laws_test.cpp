// What must hold for every program: random ones, made of every operation, under every mode.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "peakline/symbolic.h"

namespace peakline::test {
namespace {

// xorshift64*: the same numbers with every compiler and library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  int below(int n) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<int>((state_ * 0x2545F4914F6CDD1Du >> 33) % static_cast<std::uint64_t>(n));
  }
  bool once_in(int n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kLength = 16;
constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kVocabulary = 128;

// Keeps a pool of [B, S, H] activations and applies operations to them.
class Program {
 public:
  Program(Engine& e, std::uint64_t seed) : e_(e), random_(seed) {
    for (int i = 0; i < 6; ++i) weights_.push_back(leaf(Shape{kWidth, kWidth}));
    for (int i = 0; i < 3; ++i) scales_.push_back(leaf(Shape{kWidth}));
    table_ = leaf(Shape{kVocabulary, kWidth});
    indices_ = e_.ones(Shape{kBatch, kLength}, DType::Int64);
    target_ = e_.ones(Shape{kBatch * kLength}, DType::Int64);
    packed_.shape = Shape{kWidth, kWidth};
    packed_.packed = e_.ones(Shape{kWidth * kWidth / 2, 1}, DType::UInt8);
    packed_.absmax = e_.ones(Shape{kWidth * kWidth / 64}, DType::Float32);
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }

 private:
  Tensor leaf(const Shape& shape) {
    Tensor tensor = e_.ones(shape, random_.once_in(2) ? DType::Float32 : DType::BFloat16);
    e_.set_requires_grad(tensor, !random_.once_in(4));
    e_.mark(tensor, tensor.requires_grad() ? Role::WeightTrainable : Role::WeightFrozen);
    return tensor;
  }
  const Tensor& any(const std::vector<Tensor>& from) {
    return from[static_cast<std::size_t>(random_.below(static_cast<int>(from.size())))];
  }

  // A micro batch: forward under random modes, then mostly backward.
  void step() {
    {
      const bool scoped = random_.once_in(2);
      AutocastScope scope(e_, scoped ? std::optional(DType::BFloat16) : std::nullopt);
      pool_.push_back(e_.embedding(table_, indices_));
      const int operations = 4 + random_.below(16);
      for (int i = 0; i < operations; ++i) operate();
    }
    if (random_.once_in(5)) {
      pool_.clear();  // dropped without a backward
    } else {
      finish();
    }
    for (const Tensor& weight : weights_) {
      if (random_.once_in(2)) e_.clear_grad(weight);
    }
  }

  void finish() {
    Tensor hidden = any(pool_);
    pool_.clear();
    e_.set_phase(Phase::Loss);
    Tensor loss;
    if (random_.once_in(3)) {
      Tensor flat = e_.reshape(std::move(hidden), Shape{kBatch * kLength, kWidth});
      loss = e_.liger_fused_linear_cross_entropy(std::move(flat), table_, target_);
    } else {
      Tensor logits = e_.linear(std::move(hidden), table_, {});
      Tensor wide = e_.to(std::move(logits), DType::Float32);
      Tensor flat = e_.view(std::move(wide), Shape{kBatch * kLength, kVocabulary});
      loss = e_.cross_entropy(flat, target_);
    }
    Tensor scaled = e_.div_scalar(std::move(loss));
    e_.set_phase(Phase::Backward);
    e_.backward(std::move(scaled));
    e_.set_phase(Phase::Forward);
  }

  void operate() {
    if (random_.once_in(4) && pool_.size() > 1) {
      pool_.erase(pool_.begin() + random_.below(static_cast<int>(pool_.size())));
    }
    Tensor x = any(pool_);
    if (random_.once_in(6)) {
      const int seed = random_.below(1 << 20);
      const auto again = [this, seed](const Tensor& input) {
        const Random outer = std::exchange(random_, Random(static_cast<std::uint64_t>(seed)));
        Tensor out = e_.mul_scalar(input);
        const int count = 1 + random_.below(4);
        for (int i = 0; i < count; ++i) out = layer(std::move(out));
        random_ = outer;
        return out;
      };
      pool_.push_back(e_.checkpoint(again, x, random_.once_in(2)));
      return;
    }
    if (random_.once_in(12)) {
      pool_.push_back(e_.detach(std::move(x)));
      return;
    }
    const bool frozen = random_.once_in(8);
    const bool outer = e_.set_grad_enabled(!frozen);
    pool_.push_back(layer(std::move(x)));
    e_.set_grad_enabled(outer);
  }

  // One [B, S, H] -> [B, S, H] operation.
  Tensor layer(Tensor x) {
    switch (random_.below(16)) {
      case 0:
        return e_.linear(std::move(x), any(weights_), {});
      case 1: {
        const Tensor& weight = any(weights_);
        return e_.linear(std::move(x), weight, any(scales_));
      }
      case 2:
        return e_.add(std::move(x), any(scales_));
      case 3: {
        Tensor gate = e_.silu(x);
        return e_.mul(std::move(gate), std::move(x));
      }
      case 4:
        return norm(std::move(x));
      case 5:
        return attention(std::move(x));
      case 6:
        return e_.dropout(std::move(x));
      case 7:
        return e_.to(std::move(x), random_.once_in(2) ? DType::Float32 : DType::BFloat16);
      case 8:
        return e_.linear_4bit(std::move(x), packed_, {});
      case 9:
        return rotate(std::move(x));
      case 10:
        return e_.relu(std::move(x));
      case 11:
        return e_.gelu(std::move(x));
      case 12:
        return e_.softmax_last(std::move(x), DType::Float32);
      case 13:
        return e_.liger_rms_norm(std::move(x), any(scales_));
      case 14: {
        Tensor up = e_.neg(x);
        Tensor gate = e_.clone(std::move(x));
        return e_.liger_silu_mul(std::move(gate), std::move(up));
      }
      default:
        return e_.mul_scalar(std::move(x));
    }
  }

  Tensor norm(Tensor x) {
    Tensor wide = e_.to(std::move(x), DType::Float32);
    Tensor squares = e_.square(wide);
    Tensor mean = e_.mean_last(std::move(squares));
    Tensor shifted = e_.add_scalar(std::move(mean));
    Tensor scale = e_.rsqrt(std::move(shifted));
    Tensor scaled = e_.mul(std::move(wide), std::move(scale));
    return e_.mul(any(scales_), std::move(scaled));
  }

  Tensor heads(Tensor x, std::int64_t count) {
    Tensor part = e_.slice(std::move(x), -1, 0, count * 16);
    Tensor split = e_.reshape(std::move(part), Shape{kBatch, kLength, count, 16});
    return e_.transpose(std::move(split), 1, 2);
  }

  Tensor attention(Tensor x) {
    const bool grouped = random_.once_in(2);
    const bool rotated = random_.once_in(3);
    Tensor q = heads(x, 4);
    Tensor k = heads(x, grouped ? 2 : 4);
    Tensor v = heads(x, grouped ? 2 : 4);
    if (rotated) {
      Tensor cos = e_.ones(Shape{1, kLength, 16}, x.dtype());
      e_.liger_rope(q, k, cos, cos);
    }
    AttentionOptions options;
    options.is_causal = true;
    options.enable_gqa = grouped;
    x.reset();
    Tensor out =
        e_.scaled_dot_product_attention(std::move(q), std::move(k), std::move(v), {}, options);
    Tensor turned = e_.transpose(std::move(out), 1, 2);
    Tensor dense = e_.contiguous(std::move(turned));
    return e_.reshape(std::move(dense), Shape{kBatch, kLength, kWidth});
  }

  Tensor rotate(Tensor x) {
    Tensor first = e_.slice(x, -1, 0, kWidth / 2);
    Tensor second = e_.slice(std::move(x), -1, kWidth / 2, kWidth);
    Tensor negative = e_.neg(std::move(second));
    return e_.cat(std::move(negative), std::move(first), -1);
  }

  Engine& e_;
  Random random_;
  std::vector<Tensor> weights_;
  std::vector<Tensor> scales_;
  Tensor table_;
  Tensor indices_;
  Tensor target_;
  Packed4bit packed_;
  std::vector<Tensor> pool_;
};

// Everything is dropped at the end, the engine last.
Events events_of(std::uint64_t seed, int steps = 4) {
  Events events;
  const auto engine = make_symbolic_engine({}, events);
  engine->set_phase(Phase::Forward);
  Program program(*engine, seed);
  program.run(steps);
  return events;
}

// FNV-1a over the events and the bytes and sizes of what they allocate. Frees between two
// allocations are sorted, as everywhere where events are compared.
std::uint64_t hash_of(const Events& run) {
  Events events = run;
  const auto is_free = [](std::int32_t event) { return event < 0; };
  for (auto at = events.events.begin(); at != events.events.end();) {
    const auto first = std::find_if(at, events.events.end(), is_free);
    at = std::find_if_not(first, events.events.end(), is_free);
    std::sort(first, at);
  }
  std::uint64_t hash = 0xCBF29CE484222325u;
  const auto mix = [&](std::int64_t number) {
    for (int shift = 0; shift < 64; shift += 8) {
      hash = (hash ^ static_cast<unsigned char>(number >> shift & 0xFF)) * 0x100000001B3u;
    }
  };
  for (const std::int32_t event : events.events) mix(event);
  for (const EventTensor& tensor : events.tensors) {
    mix(tensor.bytes.count());
    for (const std::int64_t dim : tensor.dims) mix(dim);
  }
  return hash;
}

// The first broken law, or nothing.
std::string broken_law(const Events& events) {
  std::vector<int> state(events.tensors.size(), 0);  // 0 unborn, 1 alive, 2 dead
  Bytes live;
  for (std::size_t at = 0; at < events.events.size(); ++at) {
    const std::int32_t event = events.events[at];
    const std::string place = " at event " + std::to_string(at);
    const auto index = static_cast<std::size_t>(event >= 0 ? event : -event - 1);
    if (index >= state.size()) return "no such tensor" + place;
    const EventTensor& tensor = events.tensors[index];
    if (state[index] != (event >= 0 ? 0 : 1)) return "born or freed out of turn" + place;
    state[index] = event >= 0 ? 1 : 2;
    const std::int32_t noted = event >= 0 ? tensor.born : tensor.died;
    if (noted != static_cast<std::int32_t>(at)) return "born or died not noted" + place;
    live = event >= 0 ? live + tensor.bytes : live - tensor.bytes;
    if (live < Bytes(0)) return "less than nothing is alive" + place;
  }
  for (std::size_t i = 0; i < state.size(); ++i) {
    const EventTensor& tensor = events.tensors[i];
    if (tensor.bytes.count() % kAllocationGranularity != 0) return "not rounded to 512";
    Elements elements(1);
    for (std::int8_t d = 0; d < tensor.rank; ++d) {
      elements = elements * tensor.dims[static_cast<std::size_t>(d)];
    }
    if (tensor.bytes != rounded_to_block(size_of(elements, tensor.dtype)))
      return "bytes of another shape";
    if (state[i] != 2) return "leaked: " + std::string(tensor.op);
  }
  return {};
}

TEST_CASE("every storage is freed once, after it is born, and nothing leaks", "[symbolic][laws]") {
  std::size_t events = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    const Events run = events_of(seed);
    events += run.events.size();
    REQUIRE(broken_law(run).empty());
  }
  CHECK(events > 100'000);
}

TEST_CASE("events are the same under every compiler", "[symbolic][laws]") {
  // g++, clang and em++ evaluate arguments in different orders. A change of the engine changes
  // these numbers too: then look at why, and take the new ones.
  struct Row {
    std::uint64_t seed;
    std::uint64_t hash;
  };
  for (const Row& row : {Row{3, 0x655ed2ce114449ef},
                         Row{29, 0x9e306e20e83ea4b8},
                         Row{77, 0x561fa46afc509753},
                         Row{1234, 0x216b8517b95d37f2}}) {
    INFO("seed " << row.seed);
    CHECK(hash_of(events_of(row.seed, 8)) == row.hash);
  }
}

TEST_CASE("the same program gives the same events twice", "[symbolic][laws]") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    INFO("seed " << seed);
    CHECK(hash_of(events_of(seed)) == hash_of(events_of(seed)));
  }
}

}  // namespace
}  // namespace peakline::test
