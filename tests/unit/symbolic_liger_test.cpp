// Liger's fused kernels. The expected logs are those of liger_kernel 0.8.5's own Python on the same
// programs, its launches left out.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>

#include "support/event_log.h"

namespace peakline::test {
namespace {

constexpr DType kHalf = DType::BFloat16;

TEST_CASE("Liger's norm keeps its input and one number per row", "[symbolic][liger]") {
  for (const bool trainable : {true, false}) {
    EventLog run;
    Tensor p = run.leaf("p", Shape{2, 4, 8}, kHalf);
    Tensor w = trainable ? run.leaf("w", Shape{8}, kHalf) : run.plain("w", Shape{8}, kHalf);
    Tensor x = run.e.neg(p);
    run.skip();
    Tensor y = run.e.liger_rms_norm(std::move(x), w);
    CHECK(run.log() == "+empty.memory_format[8,8] +empty.memory_format[8]");
    CHECK(y.sizes() == Shape{2, 4, 8});
    Tensor z = run.e.mul_scalar(std::move(y));
    CHECK(run.log() == "+mul.Tensor[2,4,8] -empty.memory_format[8,8]");
    Tensor loss = run.e.sum(std::move(z));
    // One float32 row per multiprocessor, summed to the weight's gradient.
    const std::string weight =
        "+empty.memory_format[108,8] +sum.dim_IntList[8] +_to_copy[8] -sum.dim_IntList[8] "
        "-empty.memory_format[108,8] ";
    CHECK(run.backward(loss) ==
          canonical("+ones_like[] +mul.Tensor[2,4,8] " + (trainable ? weight : "") +
                    "-neg[2,4,8] -empty.memory_format[8] +neg[2,4,8] -mul.Tensor[2,4,8] "
                    "-ones_like[]"));
  }
}

TEST_CASE("Liger's gated activation overwrites its inputs with their gradients",
          "[symbolic][liger]") {
  EventLog run;
  Tensor p = run.leaf("p", Shape{2, 4, 8}, kHalf);
  Tensor a = run.e.neg(p);
  Tensor b = run.e.add_scalar(p);
  run.skip();
  Tensor y = run.e.liger_silu_mul(std::move(a), std::move(b));
  CHECK(run.log() == "+empty_like[8,8]");
  Tensor z = run.e.mul_scalar(std::move(y));
  Tensor loss = run.e.sum(std::move(z));
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +mul.Tensor[2,4,8] -mul.Tensor[2,4,8] +neg[2,4,8] -neg[2,4,8] "
                  "+add.Tensor[2,4,8] -add.Tensor[2,4,8] -neg[2,4,8] -ones_like[]"));
}

TEST_CASE("Liger's rotation works in place", "[symbolic][liger]") {
  EventLog run;
  Engine& e = run.e;
  Tensor p = run.leaf("p", Shape{2, 8, 4, 16}, kHalf);
  Tensor q = run.leaf("q", Shape{2, 8, 2, 16}, kHalf);
  Tensor cos = run.plain("cos", Shape{1, 8, 16}, kHalf);
  Tensor sin = run.plain("sin", Shape{1, 8, 16}, kHalf);
  Tensor a = e.transpose(e.neg(p), 1, 2);
  Tensor b = e.transpose(e.neg(q), 1, 2);
  run.skip();
  e.liger_rope(a, b, cos, sin);
  CHECK(run.log().empty());
  CHECK(a.sizes() == Shape{2, 4, 8, 16});
  CHECK(b.sizes() == Shape{2, 2, 8, 16});
  Tensor u = e.mul_scalar(std::move(a));
  Tensor v = e.mul_scalar(std::move(b));
  Tensor left = e.sum(std::move(u));
  Tensor right = e.sum(std::move(v));
  Tensor loss = e.add(std::move(left), std::move(right));
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +mul.Tensor[2,2,8,16] +mul.Tensor[2,4,8,16] +clone[2,8,4,16] "
                  "+clone[2,8,2,16] -mul.Tensor[2,2,8,16] -mul.Tensor[2,4,8,16] +neg[2,8,2,16] "
                  "-clone[2,8,2,16] +neg[2,8,4,16] -clone[2,8,4,16] -ones_like[]"));
}

TEST_CASE("Liger's kernels run without recording gradients", "[symbolic][liger]") {
  // The forward of a Python autograd function does; what it makes while a checkpoint is recomputed
  // is therefore no recomputation in the rows' words.
  EventLog run;
  Tensor p = run.leaf("p", Shape{2, 4, 8}, kHalf);
  Tensor w = run.plain("w", Shape{8}, kHalf);
  Tensor y = run.e.liger_rms_norm(p, w);
  CHECK_FALSE(run.last().grad_mode);
  Tensor z = run.e.liger_silu_mul(p, p);
  CHECK_FALSE(run.last().grad_mode);
}

struct Loss {
  EventLog run;
  Tensor p = run.leaf("p", Shape{64, 32}, kHalf);
  Tensor target = run.plain("t", Shape{64}, DType::Int64);
  Tensor weight;
  Tensor loss;
  std::string forward;

  Loss(bool trainable, DType dtype, bool autocast) {
    weight = run.plain("w", Shape{256, 32}, dtype);
    run.e.set_requires_grad(weight, trainable);
    Tensor x = run.e.neg(p);
    run.skip();
    AutocastScope scope(run.e, autocast ? std::optional(kHalf) : std::nullopt);
    loss = run.e.liger_fused_linear_cross_entropy(x, weight, target);
    forward = run.log();
  }
};

const std::string kStart = "+zeros[64] +ne.Scalar[64] +sum[] -sum[] ";

TEST_CASE("Liger's loss makes the gradients in forward and logits of one chunk only",
          "[symbolic][liger]") {
  for (const bool trainable : {true, false}) {
    for (const bool autocast : {true, false}) {
      Loss t(trainable, kHalf, autocast);
      const std::string weight = trainable ? "+zeros_like[256,32] " : "";
      CHECK(t.forward == canonical("+zeros_like[64,32] " + weight + kStart +
                                   "+empty.memory_format[8,256] -empty.memory_format[8,256] "
                                   "+sum[] -ne.Scalar[64] -zeros[64]"));
      const std::string log = t.run.backward(t.loss);
      CHECK(log == canonical("+ones_like[] +neg[64,32] -zeros_like[64,32] -ones_like[]"));
      CHECK(t.run.e.grad(t.weight).defined() == trainable);
    }
  }
}

TEST_CASE("under autocast a float32 head is cast anew for the logits of every chunk",
          "[symbolic][liger]") {
  Loss t(true, DType::Float32, true);
  std::string chunks;
  for (int i = 0; i < 8; ++i) {
    // The transposed weight is a view, which the cache does not hold; the weight itself is a leaf.
    chunks += "+_to_copy[32,256] +mm[8,256] -_to_copy[32,256] ";
    if (i == 0) chunks += "+_to_copy[256,32] ";
    chunks += "+mm[8,32] -mm[8,32] -mm[8,256] ";
  }
  CHECK(t.forward == canonical("+zeros_like[64,32] +zeros_like[256,32] " + kStart + chunks +
                               "+sum[] -ne.Scalar[64] -zeros[64]"));
}

TEST_CASE("the number of chunks follows the vocabulary against the width", "[symbolic][liger]") {
  struct Row {
    std::int64_t tokens;
    std::int64_t width;
    std::int64_t vocabulary;
    std::int64_t chunk;
  };
  for (const Row& row : {Row{4096, 2048, 32000, 256},
                         Row{4096, 4096, 128256, 128},
                         Row{1000, 1024, 151936, 8},
                         Row{100, 4096, 4096, 100}}) {
    EventLog run;
    Tensor x = run.leaf("x", Shape{row.tokens, row.width}, kHalf);
    Tensor w = run.plain("w", Shape{row.vocabulary, row.width}, kHalf);
    Tensor t = run.plain("t", Shape{row.tokens}, DType::Int64);
    run.skip();
    Tensor loss = run.e.liger_fused_linear_cross_entropy(x, w, t);
    const std::string logits = "+empty.memory_format[" + std::to_string(row.chunk) + "," +
                               std::to_string(row.vocabulary) + "]";
    CHECK(run.log().find(logits) != std::string::npos);
  }
}

}  // namespace
}  // namespace peakline::test
