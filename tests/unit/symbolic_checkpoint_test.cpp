// Checkpoints of both kinds: what forward keeps, what is made again, and when it dies. The expected
// logs are those of torch 2.13 on the same programs.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <memory>
#include <string>
#include <utility>

#include "support/event_log.h"

namespace peakline::test {
namespace {

// linear, silu, linear and, where asked, the residual: a layer in small.
struct Block {
  Engine& e;
  Tensor u;
  Tensor v;
  bool residual = false;

  Tensor operator()(const Tensor& x) const {
    Tensor h = e.linear(x, u, {});
    Tensor a = e.silu(std::move(h));
    Tensor y = e.linear(std::move(a), v, {});
    return residual ? e.add(x, std::move(y)) : y;
  }
};

Block block(EventLog& run, bool residual = false) {
  return {run.e, run.leaf("u", Shape{16, 8}), run.leaf("v", Shape{8, 16}), residual};
}

// The checkpointed block between two other operations; returns the log of backward.
struct Trip {
  std::string forward;
  std::string backward;
};

Trip trip(EventLog& run, bool use_reentrant, bool residual, bool autocast = false) {
  Engine& e = run.e;
  const Block f = block(run, residual);
  Tensor p = run.leaf("p", Shape{4, 8});
  run.skip();
  Trip out;
  Tensor y;
  {
    AutocastScope scope(e, autocast ? std::optional(DType::BFloat16) : std::nullopt);
    Tensor x = e.neg(p);
    y = e.checkpoint(f, x, use_reentrant);
    x.reset();
    out.forward = run.log();
  }
  Tensor z = e.relu(std::move(y));
  Tensor loss = e.sum(std::move(z));
  out.backward = run.backward(loss);
  CHECK(e.grad(f.u).sizes() == Shape{16, 8});
  CHECK(e.grad(f.v).sizes() == Shape{8, 16});
  CHECK(e.grad(p).sizes() == Shape{4, 8});
  return out;
}

const std::string kStart = "+ones_like[] +threshold_backward[4,8] -relu[4,8] ";

TEST_CASE("a checkpoint keeps its input and its output only", "[symbolic][checkpoint]") {
  const bool use_reentrant = GENERATE(false, true);
  EventLog run;
  const Trip out = trip(run, use_reentrant, false);
  CHECK(out.forward == canonical("+neg[4,8] +mm[4,16] +silu[4,16] -mm[4,16] +mm[4,8] -silu[4,16]"));
}

TEST_CASE("a checkpoint recomputes up to the last tensor that backward needs",
          "[symbolic][checkpoint]") {
  // Not made again: the last linear's product and the residual sum.
  EventLog run;
  const bool residual = GENERATE(false, true);
  const Trip out = trip(run, false, residual);
  const std::string layer =
      "+mm[4,16] +silu[4,16] +mm[8,16] +mm[4,16] -silu[4,16] " +
      std::string(residual ? "" : "-threshold_backward[4,8] ") +
      "+silu_backward[4,16] -mm[4,16] -mm[4,16] +mm[16,8] +mm[4,8] -silu_backward[4,16] "
      "-neg[4,8] ";
  const std::string end = residual ? "-mm[4,8] +neg[4,8] -threshold_backward[4,8] -ones_like[]"
                                   : "+neg[4,8] -mm[4,8] -ones_like[]";
  CHECK(out.backward == canonical(kStart + layer + end));
}

TEST_CASE("a reentrant checkpoint makes everything again and holds it through its own backward",
          "[symbolic][checkpoint]") {
  EventLog run;
  SECTION("without a residual") {
    CHECK(trip(run, true, false).backward ==
          canonical(kStart +
                    "+mm[4,16] +silu[4,16] +mm[4,8] +mm[8,16] +mm[4,16] -silu[4,16] "
                    "+silu_backward[4,16] -mm[4,16] -mm[4,16] +mm[16,8] +mm[4,8] "
                    "-silu_backward[4,16] -mm[4,8] -threshold_backward[4,8] -neg[4,8] +neg[4,8] "
                    "-mm[4,8] -ones_like[]"));
  }
  SECTION("with a residual, whose gradient is held by the frame: the sum is a new tensor") {
    CHECK(trip(run, true, true).backward ==
          canonical(kStart +
                    "+mm[4,16] +silu[4,16] +mm[4,8] +add.Tensor[4,8] -mm[4,8] +mm[8,16] "
                    "+mm[4,16] -silu[4,16] +silu_backward[4,16] -mm[4,16] -mm[4,16] +mm[16,8] "
                    "+mm[4,8] -silu_backward[4,16] +add.Tensor[4,8] -mm[4,8] -add.Tensor[4,8] "
                    "-threshold_backward[4,8] -neg[4,8] +neg[4,8] -add.Tensor[4,8] "
                    "-ones_like[]"));
  }
}

TEST_CASE("a recomputation runs under the autocast of its forward", "[symbolic][checkpoint]") {
  EventLog run;
  SECTION("non-reentrant") {
    CHECK(trip(run, false, false, true).backward ==
          canonical(kStart +
                    "+_to_copy[16,8] +_to_copy[4,8] +mm[4,16] +silu[4,16] +_to_copy[8,16] "
                    "+mm[8,16] +mm[4,16] -silu[4,16] -_to_copy[8,16] -threshold_backward[4,8] "
                    "+_to_copy[8,16] -mm[8,16] +silu_backward[4,16] -mm[4,16] -mm[4,16] "
                    "+mm[16,8] +mm[4,8] -_to_copy[4,8] -_to_copy[16,8] -silu_backward[4,16] "
                    "-neg[4,8] +_to_copy[4,8] -mm[4,8] +_to_copy[16,8] -mm[16,8] +neg[4,8] "
                    "-_to_copy[4,8] -ones_like[]"));
  }
  SECTION("reentrant") {
    CHECK(trip(run, true, false, true).backward ==
          canonical(kStart +
                    "+_to_copy[16,8] +_to_copy[4,8] +mm[4,16] +silu[4,16] +_to_copy[8,16] "
                    "+mm[4,8] +mm[8,16] +mm[4,16] -_to_copy[8,16] -silu[4,16] +_to_copy[8,16] "
                    "-mm[8,16] +silu_backward[4,16] -mm[4,16] -mm[4,16] +mm[16,8] +mm[4,8] "
                    "-silu_backward[4,16] -_to_copy[16,8] -_to_copy[4,8] +_to_copy[4,8] -mm[4,8] "
                    "+_to_copy[16,8] -mm[16,8] -mm[4,8] -threshold_backward[4,8] -neg[4,8] "
                    "+neg[4,8] -_to_copy[4,8] -ones_like[]"));
  }
}

TEST_CASE("of two checkpoints the second is recomputed and gone before the first",
          "[symbolic][checkpoint]") {
  const bool use_reentrant = GENERATE(false, true);
  EventLog run;
  const Block f = block(run);
  const Block g = block(run);
  Tensor p = run.leaf("p", Shape{4, 8});
  Tensor x = run.e.neg(p);
  Tensor y = run.e.checkpoint(f, x, use_reentrant);
  x.reset();
  Tensor z = run.e.checkpoint(g, y, use_reentrant);
  y.reset();
  Tensor loss = run.e.sum(std::move(z));
  const std::string last = use_reentrant ? "+mm[4,8] " : "";  // the second linear's product
  const std::string again = "+mm[4,16] +silu[4,16] " + last + "+mm[8,16] +mm[4,16] -silu[4,16] ";
  const std::string rest =
      "+silu_backward[4,16] -mm[4,16] -mm[4,16] +mm[16,8] +mm[4,8] "
      "-silu_backward[4,16] ";
  const std::string held = use_reentrant ? "-mm[4,8] " : "";
  CHECK(run.backward(loss) == canonical("+ones_like[] " + again + rest + held + "-mm[4,8] " +
                                        again + (use_reentrant ? "" : "-mm[4,8] ") + rest + held +
                                        held + "-neg[4,8] +neg[4,8] " + "-mm[4,8] -ones_like[]"));
}

TEST_CASE("what a checkpointed function captures lives as long as its graph",
          "[symbolic][checkpoint]") {
  EventLog run;
  Engine& e = run.e;
  Tensor u = run.plain("u", Shape{8, 8});
  Tensor p = run.leaf("p", Shape{4, 8});
  Tensor m = run.plain("m", Shape{4, 8});
  const auto function = [&e, u, m](const Tensor& x) {
    Tensor masked = e.mul(x, m);
    return e.linear(std::move(masked), u, {});
  };
  Tensor y = e.checkpoint(function, p, false);
  SECTION("until backward") {
    // The lambda above is the test's own copy.
    CHECK(m.use_count() == 3);
    Tensor loss = e.sum(std::move(y));
    e.backward(loss);
    CHECK(m.use_count() == 2);
  }
  SECTION("or until the result is dropped") {
    y.reset();
    CHECK(m.use_count() == 2);
  }
}

TEST_CASE("a checkpoint that is dropped before backward leaves nothing", "[symbolic][checkpoint]") {
  const bool use_reentrant = GENERATE(false, true);
  EventLog run;
  {
    const Block f = block(run, true);
    Tensor p = run.leaf("p", Shape{4, 8});
    Tensor y = run.e.checkpoint(f, p, use_reentrant);
    CHECK(run.live_bytes() == 4 * 512);
  }
  CHECK(run.live_bytes() == 0);
}

TEST_CASE("a checkpoint of nothing that needs gradients is a plain call",
          "[symbolic][checkpoint]") {
  const bool use_reentrant = GENERATE(false, true);
  EventLog run;
  Tensor x = run.plain("x", Shape{4, 8});
  run.skip();
  Tensor y = run.e.checkpoint([&](const Tensor& t) { return run.e.neg(t); }, x, use_reentrant);
  CHECK(run.log() == "+neg[4,8]");
  CHECK_FALSE(y.requires_grad());
}

TEST_CASE("the second result of a reentrant checkpoint goes back with zeros",
          "[symbolic][checkpoint]") {
  const bool use_reentrant = GENERATE(false, true);
  EventLog run;
  Tensor p = run.leaf("p", Shape{4, 8});
  Tensor second;
  const auto f = [&](const Tensor& x, Tensor& other) {
    other = run.e.tanh(x);
    return run.e.relu(other);
  };
  Tensor y = run.e.checkpoint_pair(f, p, use_reentrant, second);
  CHECK(second.requires_grad());
  Tensor loss = run.e.sum(std::move(y));
  CHECK(run.backward(loss) ==
        canonical(use_reentrant
                      ? "+ones_like[] +zeros[4,8] +tanh[4,8] +relu[4,8] +threshold_backward[4,8] "
                        "+add.Tensor[4,8] -threshold_backward[4,8] +tanh_backward[4,8] "
                        "-add.Tensor[4,8] -tanh[4,8] -relu[4,8] -zeros[4,8] -ones_like[]"
                      : "+ones_like[] +tanh[4,8] +relu[4,8] +threshold_backward[4,8] -relu[4,8] "
                        "+tanh_backward[4,8] -tanh[4,8] -threshold_backward[4,8] -ones_like[]"));
}

TEST_CASE("modes and module are as before after a recomputation", "[symbolic][checkpoint]") {
  const bool use_reentrant = GENERATE(false, true);
  EventLog run;
  run.e.enter_module({"outer", 3});
  trip(run, use_reentrant, true, true);
  CHECK_FALSE(run.e.autocast().has_value());
  CHECK(run.e.set_grad_enabled(true));
  CHECK(std::string(run.e.enter_module({}).name) == "outer");
  // Operations work again after the early stop.
  CHECK(run.e.ones(Shape{1}, DType::Float32).defined());
}

}  // namespace
}  // namespace peakline::test
