// Autocast: what is cast, in which order, and how long a cast lives. The expected logs are those of
// torch 2.13 on the same programs.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>

#include "support/event_log.h"

namespace peakline::test {
namespace {

constexpr DType kHalf = DType::BFloat16;

TEST_CASE("a cast of a float32 leaf that requires grad is kept to the end of the scope",
          "[symbolic][autocast]") {
  EventLog run;
  Tensor w = run.leaf("w", Shape{16, 8});
  Tensor x = run.plain("x", Shape{4, 8});
  run.skip();
  {
    AutocastScope scope(run.e, kHalf);
    Tensor y = run.e.linear(x, w, {});
    CHECK(run.log() == "+_to_copy[16,8] +_to_copy[4,8] +mm[4,16]");
    Tensor z = run.e.linear(x, w, {});
    CHECK(run.log() == "+_to_copy[4,8] +mm[4,16]");
    y.reset();
    z.reset();
    CHECK(run.log() == canonical("-_to_copy[4,8] -mm[4,16] -_to_copy[4,8] -mm[4,16]"));
  }
  CHECK(run.log() == "-_to_copy[16,8]");
}

TEST_CASE("only the outermost scope drops the cache", "[symbolic][autocast]") {
  EventLog run;
  Tensor w = run.leaf("w", Shape{16, 8});
  Tensor x = run.plain("x", Shape{4, 8}, kHalf);
  {
    AutocastScope outer(run.e, kHalf);
    {
      AutocastScope inner(run.e, kHalf);
      Tensor y = run.e.linear(x, w, {});
    }
    run.skip();
    Tensor y = run.e.linear(x, w, {});
    CHECK(run.log() == "+mm[4,16]");
    y.reset();
    run.skip();
  }
  CHECK(run.log() == "-_to_copy[16,8]");
}

TEST_CASE("a scope that turns autocast off casts nothing and keeps the cache",
          "[symbolic][autocast]") {
  EventLog run;
  Tensor w = run.leaf("w", Shape{16, 8});
  Tensor x = run.plain("x", Shape{4, 8});
  AutocastScope outer(run.e, kHalf);
  { Tensor y = run.e.linear(x, w, {}); }
  run.skip();
  {
    AutocastScope off(run.e, std::nullopt);
    Tensor y = run.e.linear(x, w, {});
    CHECK(run.log() == "+mm[4,16]");
    CHECK(y.dtype() == DType::Float32);
  }
  run.skip();
  Tensor y = run.e.linear(x, w, {});
  CHECK(run.log() == "+_to_copy[4,8] +mm[4,16]");
}

TEST_CASE("a frozen float32 weight is cast at each use, and the cast is what is saved",
          "[symbolic][autocast]") {
  EventLog run;
  Tensor w = run.plain("w", Shape{16, 8});
  Tensor p = run.leaf("p", Shape{4, 8}, kHalf);
  run.skip();
  Tensor z;
  {
    AutocastScope scope(run.e, kHalf);
    Tensor y = run.e.linear(p, w, {});
    CHECK(run.log() == "+_to_copy[16,8] +mm[4,16]");
    z = run.e.linear(p, w, {});
    CHECK(run.log() == "+_to_copy[16,8] +mm[4,16]");
    y.reset();
    CHECK(run.log() == "-_to_copy[16,8] -mm[4,16]");
  }
  CHECK(run.log().empty());
  Tensor loss = run.e.sum(std::move(z));
  CHECK(run.backward(loss) == canonical("+ones_like[] +mm[4,8] -_to_copy[16,8] -ones_like[]"));
}

TEST_CASE("a cast activation is not cached", "[symbolic][autocast]") {
  EventLog run;
  Tensor p = run.leaf("p", Shape{4, 8});
  Tensor w = run.leaf("w", Shape{16, 8}, kHalf);
  AutocastScope scope(run.e, kHalf);
  Tensor h = run.e.neg(p);
  run.skip();
  Tensor y = run.e.linear(h, w, {});
  Tensor z = run.e.linear(h, w, {});
  CHECK(run.log() == "+_to_copy[4,8] +mm[4,16] +_to_copy[4,8] +mm[4,16]");
}

TEST_CASE("weights that have the scope's type are used as they are", "[symbolic][autocast]") {
  EventLog run;
  Tensor w = run.leaf("w", Shape{16, 8}, kHalf);
  Tensor x = run.plain("x", Shape{4, 8}, kHalf);
  run.skip();
  AutocastScope scope(run.e, kHalf);
  Tensor y = run.e.linear(x, w, {});
  CHECK(run.log() == "+mm[4,16]");
}

TEST_CASE("a call's arguments are cast from right to left", "[symbolic][autocast]") {
  EventLog run;
  AutocastScope scope(run.e, kHalf);
  SECTION("bias, weight, input") {
    Tensor w = run.leaf("w", Shape{16, 8});
    Tensor c = run.leaf("c", Shape{16});
    Tensor x = run.leaf("x", Shape{4, 8});
    Tensor h = run.e.mul_scalar(x);
    run.skip();
    Tensor y = run.e.linear(h, w, c);
    CHECK(run.log() == "+_to_copy[16] +_to_copy[16,8] +_to_copy[4,8] +addmm[4,16]");
  }
  SECTION("the second factor, the first") {
    Tensor a = run.leaf("a", Shape{4, 8});
    Tensor b = run.leaf("b", Shape{8, 16});
    run.skip();
    Tensor y = run.e.matmul(a, b);
    CHECK(run.log() == "+_to_copy[8,16] +_to_copy[4,8] +mm[4,16]");
  }
  SECTION("values, keys, queries") {
    Tensor q = run.plain("q", Shape{1, 4, 16, 64});
    Tensor k = run.plain("k", Shape{1, 2, 16, 64});
    Tensor v = run.plain("v", Shape{1, 1, 16, 64});
    run.skip();
    Tensor y = run.e.scaled_dot_product_attention(q, k, v, {}, {});
    CHECK(run.log().starts_with("+_to_copy[1,1,16,64] +_to_copy[1,2,16,64] +_to_copy[1,4,16,64]"));
  }
}

TEST_CASE("autocast leaves pointwise operations, norms and embeddings alone",
          "[symbolic][autocast]") {
  EventLog run;
  AutocastScope scope(run.e, kHalf);
  Tensor x = run.leaf("x", Shape{4, 8});
  Tensor i = run.plain("i", Shape{4}, DType::Int64);
  Tensor h = run.e.silu(x);
  h = run.e.mul(std::move(h), x);
  h = run.e.square(std::move(h));
  h = run.e.mean_last(std::move(h));
  h = run.e.rsqrt(std::move(h));
  CHECK(h.dtype() == DType::Float32);
  Tensor taken = run.e.embedding(x, i);
  CHECK(taken.dtype() == DType::Float32);
  CHECK(run.log().find("_to_copy") == std::string::npos);
}

TEST_CASE("gradients go back through the casts", "[symbolic][autocast]") {
  EventLog run;
  Tensor w = run.leaf("w", Shape{16, 8});
  Tensor p = run.leaf("p", Shape{4, 8});
  Tensor y;
  {
    AutocastScope scope(run.e, kHalf);
    Tensor h = run.e.neg(p);
    y = run.e.linear(std::move(h), w, {});
  }
  Tensor loss = run.e.sum(std::move(y));
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +mm[16,8] +mm[4,8] -_to_copy[16,8] -_to_copy[4,8] +_to_copy[4,8] "
                  "-mm[4,8] +_to_copy[16,8] -mm[16,8] +neg[4,8] -_to_copy[4,8] -ones_like[]"));
  CHECK(run.e.grad(w).dtype() == DType::Float32);
  CHECK(run.e.grad(p).dtype() == DType::Float32);
}

TEST_CASE("a cast that was cached for a dead weight is not found for a new one",
          "[symbolic][autocast]") {
  // Records are pooled: the next leaf takes the dead one's place in memory.
  EventLog run;
  Tensor x = run.plain("x", Shape{4, 8}, kHalf);
  NoGrad no_grad(run.e);
  AutocastScope scope(run.e, kHalf);
  {
    Tensor w = run.leaf("w", Shape{16, 8});
    Tensor y = run.e.linear(x, w, {});
  }
  Tensor v = run.leaf("v", Shape{32, 8});
  run.skip();
  Tensor y = run.e.linear(x, v, {});
  CHECK(run.log() == "+_to_copy[32,8] +mm[4,32]");
}

}  // namespace
}  // namespace peakline::test
