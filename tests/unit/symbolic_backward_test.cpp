// The order in which nodes and their gradients are computed, and when they die. The expected logs
// are those of torch 2.13 on the same programs.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <string>
#include <utility>

#include "support/event_log.h"
#include "symbolic/tensor.h"

namespace peakline::test {
namespace {

using symbolic::record_of;

// Which allocation made the storage of a gradient: a smaller number is an earlier one.
std::int32_t birth_of_gradient(Engine& e, const Tensor& leaf) {
  return record_of(e.grad(leaf)).storage->event_tensor;
}

TEST_CASE("nodes run from the last recorded to the first", "[symbolic][order]") {
  EventLog run;
  Tensor p = run.leaf("p", Shape{2, 4});
  Tensor q = run.leaf("q", Shape{2, 4});
  Tensor a = run.e.silu(p);
  Tensor b = run.e.neg(q);
  Tensor y = run.e.add(std::move(a), std::move(b));
  Tensor z = run.e.relu(std::move(y));
  Tensor loss = run.e.sum(std::move(z));
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +threshold_backward[2,4] -relu[2,4] +neg[2,4] "
                  "+silu_backward[2,4] -threshold_backward[2,4] -ones_like[]"));
}

TEST_CASE("a linear without bias computes the weight's gradient before the input's",
          "[symbolic][order]") {
  EventLog run;
  Tensor x = run.leaf("x", Shape{4, 8});
  Tensor w = run.leaf("w", Shape{16, 8});
  Tensor y = run.e.linear(x, w, {});
  Tensor z = run.e.silu(std::move(y));
  Tensor loss = run.e.sum(std::move(z));
  CHECK(run.backward(loss) == canonical("+ones_like[] +silu_backward[4,16] -mm[4,16] +mm[16,8] "
                                        "+mm[4,8] -silu_backward[4,16] -ones_like[]"));
  CHECK(birth_of_gradient(run.e, w) < birth_of_gradient(run.e, x));
}

TEST_CASE("a linear with bias computes the input's gradient before the weight's",
          "[symbolic][order]") {
  EventLog run;
  Tensor x = run.leaf("x", Shape{2, 4, 8});
  Tensor w = run.leaf("w", Shape{16, 8});
  Tensor c = run.leaf("c", Shape{16});
  Tensor y = run.e.linear(x, w, c);
  Tensor z = run.e.silu(std::move(y));
  Tensor loss = run.e.sum(std::move(z));
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +silu_backward[2,4,16] -addmm[8,16] +mm[8,8] +mm[16,8] "
                  "+sum.dim_IntList[1,16] -silu_backward[2,4,16] -ones_like[]"));
  CHECK(birth_of_gradient(run.e, x) < birth_of_gradient(run.e, w));
}

TEST_CASE("mul computes the gradient of other before that of self", "[symbolic][order]") {
  EventLog run;
  Tensor a = run.leaf("a", Shape{2, 4});
  Tensor b = run.leaf("b", Shape{2, 4});
  Tensor y = run.e.mul(a, b);
  Tensor loss = run.e.sum(std::move(y));
  run.e.backward(loss);
  CHECK(birth_of_gradient(run.e, b) < birth_of_gradient(run.e, a));
}

TEST_CASE("a batched product computes the gradient of other before that of self",
          "[symbolic][order]") {
  EventLog run;
  Tensor a = run.leaf("a", Shape{3, 2, 4});
  Tensor b = run.leaf("b", Shape{3, 4, 5});
  Tensor y = run.e.matmul(a, b);
  Tensor loss = run.e.sum(std::move(y));
  CHECK(run.backward(loss) == canonical("+ones_like[] +bmm[3,4,5] +bmm[3,2,4] -ones_like[]"));
}

TEST_CASE("broadcast gradients are summed down after all of a node's outputs exist",
          "[symbolic][order]") {
  EventLog run;
  Tensor p = run.leaf("p", Shape{2, 4});
  Tensor q = run.leaf("q", Shape{4}, DType::BFloat16);
  Tensor a = run.e.mul(p, q);
  Tensor y = run.e.silu(std::move(a));
  Tensor loss = run.e.sum(std::move(y));
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +silu_backward[2,4] -mul.Tensor[2,4] +mul.Tensor[2,4] "
                  "+mul.Tensor[2,4] +sum.dim_IntList[1,4] -mul.Tensor[2,4] +_to_copy[4] "
                  "-sum.dim_IntList[1,4] -silu_backward[2,4] -ones_like[]"));
  CHECK(run.e.grad(q).sizes() == Shape{4});
  CHECK(run.e.grad(q).dtype() == DType::BFloat16);
}

TEST_CASE("incoming gradients and saved tensors die when the node's outputs exist",
          "[symbolic][order]") {
  EventLog run;
  Tensor p = run.leaf("p", Shape{2, 4});
  Tensor q = run.leaf("q", Shape{2, 4});
  Tensor a = run.e.neg(p);
  Tensor b = run.e.add_scalar(q);
  Tensor c = run.e.mul(std::move(a), std::move(b));
  Tensor d = run.e.silu(std::move(c));
  Tensor loss = run.e.sum(std::move(d));
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +silu_backward[2,4] -mul.Tensor[2,4] +mul.Tensor[2,4] "
                  "+mul.Tensor[2,4] -silu_backward[2,4] -add.Tensor[2,4] -neg[2,4] +neg[2,4] "
                  "-mul.Tensor[2,4] -ones_like[]"));
}

TEST_CASE("a leaf takes its gradient as soon as all of its edges have delivered",
          "[symbolic][order]") {
  EventLog run;
  Tensor w = run.leaf("w", Shape{16, 8}, DType::BFloat16);
  Tensor i = run.plain("i", Shape{2, 4}, DType::Int64);
  const bool tied = GENERATE(true, false);
  Tensor head = tied ? w : run.leaf("v", Shape{16, 8}, DType::BFloat16);
  Tensor h = run.e.embedding(w, i);
  Tensor a = run.e.silu(std::move(h));
  Tensor y = run.e.linear(std::move(a), head, {});
  Tensor loss = run.e.sum(std::move(y));
  const std::string until_embedding =
      "+ones_like[] +mm[16,8] +mm[8,8] -silu[2,4,8] +silu_backward[2,4,8] -mm[8,8] "
      "-embedding[2,4,8] +embedding_dense_backward[16,8] -silu_backward[2,4,8] ";
  // A tied embedding holds the head's gradient to the end; their sum is a third matrix.
  const std::string sum = "+add.Tensor[16,8] -mm[16,8] -embedding_dense_backward[16,8] ";
  CHECK(run.backward(loss) == canonical(until_embedding + (tied ? sum : "") + "-ones_like[]"));
}

TEST_CASE("a gradient that cannot be viewed back is cloned", "[symbolic][order]") {
  EventLog run;
  Tensor p = run.leaf("p", Shape{2, 12});
  Tensor u = run.plain("u", Shape{5, 3});
  run.skip();
  Tensor x = run.e.neg(p);
  Tensor split = run.e.reshape(std::move(x), Shape{2, 3, 4});
  Tensor turned = run.e.transpose(std::move(split), 1, 2);
  Tensor flat = run.e.reshape(std::move(turned), Shape{8, 3});
  CHECK(run.log() == "+neg[2,12] +clone[2,4,3] -neg[2,12]");
  Tensor y = run.e.linear(std::move(flat), u, {});
  Tensor loss = run.e.sum(std::move(y));
  CHECK(run.backward(loss) == canonical("+ones_like[] +mm[8,3] +clone[2,3,4] -mm[8,3] "
                                        "+neg[2,12] -clone[2,3,4] -ones_like[]"));
}

TEST_CASE("a loss that needs no gradient has no backward", "[symbolic][order]") {
  EventLog run;
  Tensor x = run.plain("x", Shape{2, 4});
  Tensor loss = run.e.sum(x);
  CHECK(run.backward(loss).empty());
}

TEST_CASE("the gradient of a norm: mean, square, rsqrt", "[symbolic][order]") {
  EventLog run;
  Tensor p = run.leaf("p", Shape{2, 8}, DType::BFloat16);
  Tensor w = run.leaf("w", Shape{8}, DType::BFloat16);
  Tensor wide = run.e.to(p, DType::Float32);
  Tensor squares = run.e.square(wide);
  Tensor mean = run.e.mean_last(std::move(squares));
  Tensor scale = run.e.rsqrt(std::move(mean));
  Tensor scaled = run.e.mul(wide, std::move(scale));
  wide.reset();
  Tensor narrow = run.e.to(std::move(scaled), DType::BFloat16);
  Tensor y = run.e.mul(w, std::move(narrow));
  Tensor loss = run.e.sum(std::move(y));
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +mul.Tensor[2,8] +mul.Tensor[2,8] +sum.dim_IntList[1,8] "
                  "-mul.Tensor[2,8] -_to_copy[2,8] +_to_copy[2,8] -mul.Tensor[2,8] "
                  "+mul.Tensor[2,8] +mul.Tensor[2,8] +sum.dim_IntList[2,1] -mul.Tensor[2,8] "
                  "-_to_copy[2,8] +pow.Tensor_Scalar[2,1] +mul.Scalar[2,1] +mul.Tensor[2,1] "
                  "-mul.Scalar[2,1] -pow.Tensor_Scalar[2,1] -sum.dim_IntList[2,1] -rsqrt[2,1] "
                  "+div.Scalar[2,8] -mul.Tensor[2,1] +pow.Tensor_Scalar[2,8] +mul.Scalar[2,8] "
                  "+mul.Tensor[2,8] -mul.Scalar[2,8] -pow.Tensor_Scalar[2,8] -div.Scalar[2,8] "
                  "-_to_copy[2,8] -mul.Tensor[2,8] +_to_copy[2,8] -mul.Tensor[2,8] -ones_like[]"));
}

TEST_CASE("the gradient of a rotation: slices, cat, products", "[symbolic][order]") {
  EventLog run;
  Engine& e = run.e;
  Tensor p = run.leaf("p", Shape{1, 4, 8, 2});
  Tensor c = run.plain("c", Shape{1, 1, 8, 2});
  Tensor q = e.neg(p);
  Tensor x1 = e.slice(q, -1, 0, 1);
  Tensor x2 = e.slice(q, -1, 1, 2);
  Tensor negative = e.neg(std::move(x2));
  Tensor turned = e.cat(std::move(negative), std::move(x1), -1);
  Tensor straight = e.mul(std::move(q), c);
  Tensor crossed = e.mul(std::move(turned), c);
  Tensor y = e.add(std::move(straight), std::move(crossed));
  Tensor loss = e.sum(std::move(y));
  const std::string m = "mul.Tensor[1,4,8,2] ";
  const std::string s = "slice_backward[1,4,8,2] ";
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +" + m + "+" + m + "+neg[1,4,8,1] +" + s + "-neg[1,4,8,1] -" + s +
                  "+" + s + "-" + m + "-" + s + "+neg[1,4,8,2] -" + m + "-ones_like[]"));
}

TEST_CASE("the gradient of cross-entropy is made from the log-probabilities", "[symbolic][order]") {
  EventLog run;
  Tensor p = run.leaf("p", Shape{4, 16}, DType::BFloat16);
  Tensor t = run.plain("t", Shape{4}, DType::Int64);
  run.skip();
  Tensor wide = run.e.to(p, DType::Float32);
  Tensor loss = run.e.cross_entropy(wide, t);
  wide.reset();
  CHECK(run.log() == canonical("+_to_copy[4,16] +_log_softmax[4,16] +nll_loss_forward[] "
                               "+nll_loss_forward[] -_to_copy[4,16]"));
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +nll_loss_backward[4,16] -nll_loss_forward[] "
                  "+_log_softmax_backward_data[4,16] -nll_loss_backward[4,16] "
                  "-_log_softmax[4,16] +_to_copy[4,16] -_log_softmax_backward_data[4,16] "
                  "-ones_like[]"));
  CHECK(run.e.grad(p).dtype() == DType::BFloat16);
}

TEST_CASE("an expanded tensor's gradient is summed; keys repeated to every head are cloned once",
          "[symbolic][order]") {
  EventLog run;
  Engine& e = run.e;
  Tensor p = run.leaf("p", Shape{1, 2, 8, 4});
  run.skip();
  Tensor grouped = e.unsqueeze(p, 2);
  Tensor spread = e.expand(std::move(grouped), Shape{1, 2, 3, 8, 4});
  Tensor y = e.reshape(std::move(spread), Shape{1, 6, 8, 4});
  CHECK(run.log() == "+clone[1,2,3,8,4]");
  Tensor z = e.silu(std::move(y));
  Tensor loss = e.sum(std::move(z));
  CHECK(run.backward(loss) == canonical("+ones_like[] +silu_backward[1,6,8,4] -clone[1,2,3,8,4] "
                                        "+sum.dim_IntList[1,2,1,8,4] -silu_backward[1,6,8,4] "
                                        "-ones_like[]"));
  CHECK(e.grad(p).sizes() == p.sizes());
}

TEST_CASE("dropout's gradient needs only the mask", "[symbolic][order]") {
  EventLog run;
  Tensor p = run.leaf("p", Shape{2, 4});
  Tensor y = run.e.dropout(p);
  Tensor z = run.e.silu(std::move(y));
  Tensor loss = run.e.sum(std::move(z));
  CHECK(run.backward(loss) == canonical("+ones_like[] +silu_backward[2,4] -native_dropout[2,4] "
                                        "+native_dropout_backward[2,4] -silu_backward[2,4] "
                                        "-native_dropout[2,4] -ones_like[]"));
}

}  // namespace
}  // namespace peakline::test
