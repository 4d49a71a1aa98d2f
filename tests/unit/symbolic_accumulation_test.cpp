// Where two gradients meet: in the buffer of a node, and in the .grad of a leaf. The expected logs
// are those of torch 2.13 on the same programs.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>

#include "support/event_log.h"
#include "symbolic/tensor.h"

namespace peakline::test {
namespace {

using symbolic::record_of;

Tensor sum_of(Engine& e, Tensor a, Tensor b) {
  Tensor y = e.add(std::move(a), std::move(b));
  return e.sum(std::move(y));
}

TEST_CASE("a second gradient is added in place where the first is alone", "[symbolic][sums]") {
  EventLog run;
  Tensor p = run.leaf("p", Shape{4, 8});
  Tensor u = run.plain("u", Shape{16, 8});
  Tensor x = run.e.neg(p);
  Tensor a = run.e.linear(x, u, {});
  Tensor b = run.e.linear(std::move(x), u, {});
  Tensor loss = sum_of(run.e, std::move(a), std::move(b));
  CHECK(run.backward(loss) == canonical("+ones_like[] +mm[4,8] +mm[4,8] -mm[4,8] +neg[4,8] "
                                        "-mm[4,8] -ones_like[]"));
}

TEST_CASE("a gradient that is a view is never alone: the sum is a new tensor", "[symbolic][sums]") {
  EventLog run;
  Tensor p = run.leaf("p", Shape{2, 4, 8});
  Tensor u = run.plain("u", Shape{16, 8});
  Tensor x = run.e.neg(p);
  Tensor a = run.e.linear(x, u, {});
  Tensor b = run.e.linear(std::move(x), u, {});
  Tensor loss = sum_of(run.e, std::move(a), std::move(b));
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +mm[8,8] +mm[8,8] +add.Tensor[2,4,8] -mm[8,8] -mm[8,8] "
                  "+neg[2,4,8] -add.Tensor[2,4,8] -ones_like[]"));
}

TEST_CASE("the new sum takes later gradients in place", "[symbolic][sums]") {
  EventLog run;
  Engine& e = run.e;
  Tensor p = run.leaf("p", Shape{2, 4, 8});
  Tensor u = run.plain("u", Shape{8, 8});
  Tensor x = e.neg(p);
  Tensor first = e.silu(x);
  Tensor second = e.linear(x, u, {});
  Tensor third = e.linear(std::move(x), u, {});
  Tensor both = e.add(std::move(first), std::move(second));
  Tensor loss = sum_of(e, std::move(both), std::move(third));
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +mm[8,8] +mm[8,8] +add.Tensor[2,4,8] -mm[8,8] -mm[8,8] "
                  "+silu_backward[2,4,8] -neg[2,4,8] -silu_backward[2,4,8] +neg[2,4,8] "
                  "-add.Tensor[2,4,8] -ones_like[]"));
}

TEST_CASE("a fresh gradient takes views in place", "[symbolic][sums]") {
  EventLog run;
  Engine& e = run.e;
  Tensor p = run.leaf("p", Shape{2, 4, 8});
  Tensor u = run.plain("u", Shape{8, 8});
  Tensor x = e.neg(p);
  Tensor a = e.linear(x, u, {});
  Tensor b = e.linear(x, u, {});
  Tensor c = e.silu(std::move(x));
  Tensor both = e.add(std::move(a), std::move(b));
  Tensor loss = sum_of(e, std::move(both), std::move(c));
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +silu_backward[2,4,8] -neg[2,4,8] +mm[8,8] -mm[8,8] +mm[8,8] "
                  "-mm[8,8] +neg[2,4,8] -silu_backward[2,4,8] -ones_like[]"));
}

TEST_CASE("the product under a 4-bit linear is no view: its gradient is alone",
          "[symbolic][sums]") {
  // matmul of [2, 4, out] with a matrix ends in _unsafe_view, which holds no base.
  EventLog run;
  Engine& e = run.e;
  Packed4bit packed;
  packed.shape = Shape{64, 64};
  packed.packed = run.plain("codes", Shape{2048, 1}, DType::UInt8);
  packed.absmax = run.plain("absmax", Shape{64});
  Tensor p = run.leaf("p", Shape{2, 4, 64}, DType::BFloat16);
  Tensor x = e.neg(p);
  Tensor a = e.linear_4bit(x, packed, {});
  Tensor b = e.linear_4bit(std::move(x), packed, {});
  Tensor loss = sum_of(e, std::move(a), std::move(b));
  CHECK(run.backward(loss).find("add.Tensor") == std::string::npos);
}

TEST_CASE("mul with itself: two fresh gradients, one buffer", "[symbolic][sums]") {
  EventLog run;
  Tensor p = run.leaf("p", Shape{2, 4});
  Tensor a = run.e.neg(p);
  Tensor y = run.e.mul(a, a);
  a.reset();
  Tensor loss = run.e.sum(std::move(y));
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +mul.Tensor[2,4] +mul.Tensor[2,4] -neg[2,4] "
                  "-mul.Tensor[2,4] +neg[2,4] -mul.Tensor[2,4] -ones_like[]"));
}

TEST_CASE("a leaf steals a gradient that is a view but has one handle", "[symbolic][accumulate]") {
  EventLog run;
  Tensor w = run.leaf("w", Shape{16, 8});
  Tensor x = run.plain("x", Shape{2, 4, 8});
  Tensor y = run.e.linear(x, w, {});
  Tensor loss = run.e.sum(std::move(y));
  CHECK(run.backward(loss) == canonical("+ones_like[] +mm[16,8] -ones_like[]"));
  CHECK(run.e.grad(w).sizes() == Shape{16, 8});
}

TEST_CASE("a leaf adds in place into a gradient it already has", "[symbolic][accumulate]") {
  EventLog run;
  Tensor w = run.leaf("w", Shape{16, 8});
  Tensor x = run.plain("x", Shape{2, 4, 8});
  const auto backward = [&] {
    Tensor y = run.e.linear(x, w, {});
    Tensor loss = run.e.sum(std::move(y));
    return run.backward(loss);
  };
  CHECK(backward() == canonical("+ones_like[] +mm[16,8] -ones_like[]"));
  run.skip();
  CHECK(backward() == canonical("+ones_like[] +mm[16,8] -mm[16,8] -ones_like[]"));
  run.skip();
  run.e.clear_grad(w);
  CHECK(run.log() == "-mm[16,8]");
  CHECK_FALSE(run.e.grad(w).defined());
}

TEST_CASE("a leaf clones a gradient that lies differently in memory", "[symbolic][accumulate]") {
  EventLog run;
  Tensor w = run.leaf("w", Shape{4, 8});
  Tensor m = run.plain("m", Shape{8, 4});
  Tensor t = run.e.transpose(w, 0, 1);
  Tensor y = run.e.mul(std::move(t), m);
  Tensor loss = run.e.sum(y);
  CHECK(run.backward(loss) == canonical("+ones_like[] +mul.Tensor[8,4] +new_empty_strided[4,8] "
                                        "-mul.Tensor[8,4] -ones_like[]"));
  CHECK(symbolic::is_contiguous(Shape{4, 8}, record_of(run.e.grad(w)).strides));
}

TEST_CASE("of two leaves that share a gradient the first clones and the second steals",
          "[symbolic][accumulate]") {
  EventLog run;
  Tensor a = run.leaf("a", Shape{2, 4});
  Tensor b = run.leaf("b", Shape{2, 4});
  Tensor y = run.e.add(a, b);
  Tensor z = run.e.silu(std::move(y));
  Tensor loss = run.e.sum(std::move(z));
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +silu_backward[2,4] -add.Tensor[2,4] +new_empty_strided[2,4] "
                  "-ones_like[]"));
}

TEST_CASE("a broadcast addend gets a sum, the other the gradient itself",
          "[symbolic][accumulate]") {
  EventLog run;
  Tensor p = run.leaf("p", Shape{2, 4});
  Tensor q = run.leaf("q", Shape{1, 4});
  Tensor a = run.e.add(p, q);
  Tensor y = run.e.silu(std::move(a));
  Tensor loss = run.e.sum(std::move(y));
  CHECK(run.backward(loss) == canonical("+ones_like[] +silu_backward[2,4] -add.Tensor[2,4] "
                                        "+sum.dim_IntList[1,4] -ones_like[]"));
  CHECK(run.e.grad(q).sizes() == Shape{1, 4});
}

TEST_CASE("a gradient carries its parameter's role", "[symbolic][accumulate]") {
  EventLog run;
  Tensor w = run.leaf("w", Shape{16, 8});
  Tensor x = run.leaf("x", Shape{2, 4, 8});
  run.e.mark(w, Role::WeightTrainable);
  Tensor y = run.e.linear(x, w, {});
  Tensor loss = run.e.sum(std::move(y));
  run.e.backward(loss);
  const auto role_of = [&](const Tensor& tensor) {
    const std::int32_t index = record_of(tensor).storage->event_tensor;
    return run.events().tensors[static_cast<std::size_t>(index)].role;
  };
  CHECK(role_of(run.e.grad(w)) == Role::Gradient);
  CHECK(role_of(run.e.grad(x)) == Role::Unknown);
}

}  // namespace
}  // namespace peakline::test
