// Products, embeddings and 4-bit linears: what they allocate. The expected logs are those of
// torch 2.13 and bitsandbytes 0.50 on the same programs.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>

#include "support/event_log.h"

namespace peakline::test {
namespace {

TEST_CASE("products fold leading dimensions and keep them in the result", "[symbolic][products]") {
  EventLog run;
  Engine& e = run.e;
  Tensor x = run.plain("x", Shape{2, 3, 8}, DType::BFloat16);
  Tensor w = run.plain("w", Shape{16, 8}, DType::BFloat16);
  Tensor c = run.plain("c", Shape{16}, DType::BFloat16);
  Tensor b = run.plain("b", Shape{8, 5}, DType::BFloat16);
  Tensor bb = run.plain("bb", Shape{2, 8, 5}, DType::BFloat16);
  Tensor q = run.plain("q", Shape{2, 4, 6, 8});
  Tensor k = run.plain("k", Shape{2, 4, 8, 6});
  run.skip();
  struct Row {
    Tensor out;
    std::string log;
    Shape sizes;
  };
  const auto row = [&](Tensor out, const Shape& sizes) { return Row{out, run.log(), sizes}; };
  const Row linear = row(e.linear(x, w, {}), Shape{2, 3, 16});
  const Row biased = row(e.linear(x, w, c), Shape{2, 3, 16});
  const Row product = row(e.matmul(x, b), Shape{2, 3, 5});
  const Row batched = row(e.matmul(x, bb), Shape{2, 3, 5});
  const Row heads = row(e.matmul(q, k), Shape{2, 4, 6, 6});
  CHECK(linear.log == "+mm[6,16]");
  CHECK(biased.log == "+addmm[6,16]");
  CHECK(product.log == "+mm[6,5]");
  CHECK(batched.log == "+bmm[2,3,5]");
  CHECK(heads.log == "+bmm[8,6,6]");
  for (const Row& r : {linear, biased, product, batched, heads}) CHECK(r.out.sizes() == r.sizes);
  CHECK(linear.out.dtype() == DType::BFloat16);
  CHECK(heads.out.dtype() == DType::Float32);
}

TEST_CASE("the gradient of a product's plain matrix is contiguous, a weight's is turned",
          "[symbolic][products]") {
  EventLog run;
  Tensor a = run.leaf("a", Shape{2, 3, 4});
  Tensor b = run.leaf("b", Shape{4, 5});
  Tensor y = run.e.matmul(a, b);
  Tensor loss = run.e.sum(std::move(y));
  CHECK(run.backward(loss) == canonical("+ones_like[] +mm[4,5] +mm[6,4] -ones_like[]"));
}

TEST_CASE("an embedding keeps its indices and gives the whole table a gradient",
          "[symbolic][products]") {
  EventLog run;
  Tensor w = run.leaf("w", Shape{16, 8}, DType::BFloat16);
  Tensor i = run.plain("i", Shape{2, 4}, DType::Int64);
  run.skip();
  Tensor y = run.e.embedding(w, i);
  CHECK(y.sizes() == Shape{2, 4, 8});
  CHECK(y.dtype() == DType::BFloat16);
  i.reset();
  CHECK(run.log() == "+embedding[2,4,8]");
  Tensor loss = run.e.sum(std::move(y));
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +embedding_dense_backward[16,8] -i -ones_like[]"));
}

TEST_CASE("a frozen embedding keeps nothing", "[symbolic][products]") {
  EventLog run;
  Tensor w = run.plain("w", Shape{16, 8});
  Tensor i = run.plain("i", Shape{2, 4}, DType::Int64);
  Tensor y = run.e.embedding(w, i);
  run.skip();
  i.reset();
  CHECK(run.log() == "-i");
  CHECK_FALSE(y.requires_grad());
}

// A [256, 128] weight as bitsandbytes packs it.
Packed4bit packed(EventLog& run, const Shape& shape, bool double_quant) {
  const std::int64_t n = shape.numel().count();
  Packed4bit weight;
  weight.shape = shape;
  weight.packed = run.plain("packed", Shape{n / 2, 1}, DType::UInt8);
  weight.code = run.plain("code", Shape{16});
  if (!double_quant) {
    weight.absmax = run.plain("absmax", Shape{n / 64});
    return weight;
  }
  weight.absmax = run.plain("absmax", Shape{n / 64}, DType::UInt8);
  weight.nested_absmax = run.plain("nested_absmax", Shape{n / 64 / 256});
  weight.nested_code = run.plain("nested_code", Shape{256});
  weight.offset = run.plain("offset", Shape{});
  return weight;
}

struct Linear4bit {
  std::int64_t rows;
  Shape shape;
  bool double_quant;
  const char* forward;
  const char* backward;
};

TEST_CASE("a 4-bit linear dequantises above some rows, and always in backward",
          "[symbolic][products]") {
  const char* plain_back =
      "+ones_like[] +bitsandbytes.dequantize_4bit[256,128] +mm[64,128] "
      "-bitsandbytes.dequantize_4bit[256,128] -ones_like[]";
  const char* nested_back =
      "+ones_like[] +bitsandbytes.dequantize_blockwise[512] +bitsandbytes.dequantize_4bit[256,128] "
      "-bitsandbytes.dequantize_blockwise[512] +mm[64,128] "
      "-bitsandbytes.dequantize_4bit[256,128] -ones_like[]";
  const char* long_back =
      "+ones_like[] +bitsandbytes.dequantize_4bit[256,128] +mm[2048,128] "
      "-bitsandbytes.dequantize_4bit[256,128] -ones_like[]";
  const char* wide_back =
      "+ones_like[] +bitsandbytes.dequantize_blockwise[262144] "
      "+bitsandbytes.dequantize_4bit[4096,4096] -bitsandbytes.dequantize_blockwise[262144] "
      "+mm[64,4096] -bitsandbytes.dequantize_4bit[4096,4096] -ones_like[]";
  for (const Linear4bit& row :
       {Linear4bit{64, Shape{256, 128}, false, "+empty.memory_format[1,64,256]", plain_back},
        Linear4bit{64, Shape{256, 128}, true, "+empty.memory_format[1,64,256]", nested_back},
        Linear4bit{2048,
                   Shape{256, 128},
                   false,
                   "+empty.memory_format[256,128] +linear[1,2048,256] "
                   "-empty.memory_format[256,128]",
                   long_back},
        Linear4bit{64,
                   Shape{4096, 4096},
                   true,
                   "+empty_like[262144] +add.Tensor[262144] +empty.memory_format[4096,4096] "
                   "+linear[1,64,4096] -empty_like[262144] -add.Tensor[262144] "
                   "-empty.memory_format[4096,4096]",
                   wide_back}}) {
    EventLog run;
    const Packed4bit weight = packed(run, row.shape, row.double_quant);
    Tensor x = run.leaf("x", Shape{1, row.rows, row.shape[1]}, DType::BFloat16);
    run.skip();
    Tensor y = run.e.linear_4bit(x, weight, {});
    CHECK(run.log() == canonical(row.forward));
    CHECK(y.sizes() == Shape{1, row.rows, row.shape[0]});
    Tensor loss = run.e.sum(std::move(y));
    CHECK(run.backward(loss) == canonical(row.backward));
  }
}

TEST_CASE("a 4-bit linear saves nothing of its input", "[symbolic][products]") {
  EventLog run;
  const Packed4bit weight = packed(run, Shape{256, 128}, true);
  Tensor p = run.leaf("p", Shape{64, 128}, DType::BFloat16);
  Tensor x = run.e.neg(p);
  Tensor y = run.e.linear_4bit(x, weight, {});
  run.skip();
  x.reset();
  CHECK(run.log() == "-neg[64,128]");
}

TEST_CASE("a weight packed from another type is read back to that type in backward",
          "[symbolic][products]") {
  EventLog run;
  Packed4bit weight = packed(run, Shape{256, 128}, false);
  weight.dtype = DType::Float32;
  Tensor x = run.leaf("x", Shape{1, 64, 128}, DType::BFloat16);
  Tensor y = run.e.linear_4bit(x, weight, {});
  Tensor loss = run.e.sum(std::move(y));
  CHECK(run.backward(loss) ==
        canonical("+ones_like[] +bitsandbytes.dequantize_4bit[256,128] +_to_copy[256,128] "
                  "-bitsandbytes.dequantize_4bit[256,128] +mm[64,128] -_to_copy[256,128] "
                  "-ones_like[]"));
}

}  // namespace
}  // namespace peakline::test
