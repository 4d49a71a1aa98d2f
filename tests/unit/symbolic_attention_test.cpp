// Attention: which kernel runs, what it keeps, and what its backward needs for a moment.
//
// data/attention_choice.csv has the kernel that the recorded timelines' generator takes (PyTorch's
// sdp_utils, torch 2.13) for head_dim 60, 64, 100, 128, 192, 200, 224, 256 and 264: one letter each
// of flash, efficient, math. The logs are that generator's on the same programs, without the
// one-element tensors of a mask's conversion.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>

#include "support/csv.h"
#include "support/event_log.h"
#include "symbolic/tensor.h"

namespace peakline::test {
namespace {

// What a bool mask's two values are taken from.
const std::string kNumbers = "+scalar_tensor[] +scalar_tensor[] ";
const std::string kNumbersGo = " -scalar_tensor[] -scalar_tensor[] ";

constexpr std::int64_t kDims[] = {60, 64, 100, 128, 192, 200, 224, 256, 264};

DType dtype_of(const std::string& name) {
  if (name == "bfloat16") return DType::BFloat16;
  return name == "float16" ? DType::Float16 : DType::Float32;
}

// q, k, v, the mask and the call; what the call's result keeps is what stays in `out`.
struct Attention {
  DType dtype = DType::BFloat16;
  Shape query{2, 4, 128, 64};
  std::int64_t key_heads = 4;
  bool masked = false;
  bool grad = true;
  std::int64_t value_dim = 0;  // 0: as wide as the query's
};

Tensor attend(EventLog& run, const Attention& a) {
  const Shape& q = a.query;
  const std::int64_t width = a.value_dim > 0 ? a.value_dim : q[3];
  const auto make = [&](const char* name, const Shape& shape) {
    return a.grad ? run.leaf(name, shape, a.dtype) : run.plain(name, shape, a.dtype);
  };
  Tensor query = make("q", q);
  Tensor key = make("k", Shape{q[0], a.key_heads, q[2], q[3]});
  Tensor value = make("v", Shape{q[0], a.key_heads, q[2], width});
  Tensor mask;
  if (a.masked) mask = run.plain("m", Shape{1, 1, q[2], q[2]}, DType::Bool);
  AttentionOptions options;
  options.is_causal = !a.masked;
  options.enable_gqa = a.key_heads != q[1];
  run.skip();
  return run.e.scaled_dot_product_attention(query, key, value, mask, options);
}

std::string backward(EventLog& run, Tensor out) {
  Tensor scaled = run.e.mul_scalar(std::move(out));
  Tensor loss = run.e.sum(std::move(scaled));
  return run.backward(loss);
}

char backend_of(const std::string& log) {
  if (log.find("flash_attention") != std::string::npos) return 'f';
  return log.find("efficient_attention") != std::string::npos ? 'e' : 'm';
}

TEST_CASE("the attention kernel depends on card, type, mask, heads and head_dim",
          "[symbolic][attention]") {
  const auto rows = read_csv("tests/unit/data/attention_choice.csv");
  REQUIRE(rows.size() == 120);
  for (const std::vector<std::string>& row : rows) {
    std::string chosen;
    for (const std::int64_t dim : kDims) {
      EventLog run({std::stoi(row[0]), 108});
      Attention a;
      a.dtype = dtype_of(row[1]);
      a.query = Shape{1, 4, 64, dim};
      a.key_heads = row[4] == "same" ? 4 : 2;
      a.masked = row[3] == "mask";
      a.grad = row[2] == "grad";
      attend(run, a);
      chosen += backend_of(run.log());
    }
    INFO("sm" << row[0] << " " << row[1] << " " << row[2] << " " << row[3] << " " << row[4]);
    CHECK(chosen == row[5]);
  }
}

const std::string kFlash = "_scaled_dot_product_flash_attention";
const std::string kEfficient = "_scaled_dot_product_efficient_attention";

TEST_CASE("flash attention keeps q, k, v, its output and one number per row",
          "[symbolic][attention]") {
  EventLog run;
  Tensor out = attend(run, {});
  CHECK(run.log() == canonical("+" + kFlash + "[2,4,128,64] +" + kFlash + "[2,4,128] +" + kFlash +
                               "[2] +" + kFlash + "[] +" + kFlash + "[0] -" + kFlash + "[0]"));
  // As the query lies: transformers' result of a projection would be {32768, 64, 256, 1}.
  CHECK(symbolic::record_of(out).strides == Shape{32768, 8192, 64, 1});
  const std::string back = kFlash + "_backward[2,4,128,64] ";
  CHECK(backward(run, std::move(out)) ==
        canonical("+ones_like[] +mul.Tensor[2,4,128,64] +" + back + "+" + back + "+" + back +
                  "+hidden:flash_backward[2,4,128] +hidden:flash_backward[2,128,4,64] "
                  "+hidden:flash_backward[2,4,128,64] -hidden:flash_backward[2,4,128] "
                  "-hidden:flash_backward[2,128,4,64] -hidden:flash_backward[2,4,128,64] "
                  "-mul.Tensor[2,4,128,64] -" +
                  kFlash + "[2,4,128] -" + kFlash + "[2,4,128,64] -" + kFlash + "[2] -" + kFlash +
                  "[] -ones_like[]"));
}

TEST_CASE("flash attention takes grouped heads as they are and spreads them only in backward",
          "[symbolic][attention]") {
  EventLog run;
  Attention a;
  a.query = Shape{2, 4, 128, 96};
  a.key_heads = 2;
  Tensor out = attend(run, a);
  const std::string log = backward(run, std::move(out));
  CHECK(log.find("+" + kFlash + "_backward[2,4,128,96] +" + kFlash + "_backward[2,2,128,96] +" +
                 kFlash + "_backward[2,2,128,96] +hidden:flash_backward[2,4,128] " +
                 "+hidden:flash_backward[2,128,4,96] +hidden:flash_backward[2,128,4,96] " +
                 "+hidden:flash_backward[2,128,4,96] +hidden:flash_backward[2,4,128,96] -") !=
        std::string::npos);
}

TEST_CASE("without gradients attention leaves its output alone", "[symbolic][attention]") {
  Attention a;
  a.grad = false;
  SECTION("flash") {
    EventLog run;
    Tensor out = attend(run, a);
    CHECK(run.live_bytes() == 2 * 4 * 128 * 64 * 2);
  }
  SECTION("memory-efficient: the row sums are not even made") {
    a.dtype = DType::Float32;
    EventLog run;
    Tensor out = attend(run, a);
    CHECK(run.log().find(kEfficient + "[2,4,0]") != std::string::npos);
    CHECK(run.live_bytes() == 2 * 4 * 128 * 64 * 4);
  }
}

TEST_CASE("memory-efficient attention rounds its row sums up to 32 rows", "[symbolic][attention]") {
  EventLog run;
  Attention a;
  a.dtype = DType::Float32;
  a.query = Shape{2, 4, 100, 64};
  Tensor out = attend(run, a);
  CHECK(run.log() == canonical("+" + kEfficient + "[2,4,100,64] +" + kEfficient + "[2,4,128] +" +
                               kEfficient + "[] +" + kEfficient + "[]"));
  CHECK(symbolic::record_of(out).strides == Shape{25600, 64, 256, 1});
}

// What the kernel itself makes and drops: only the names that begin with "+hidden:".
std::string hidden(const std::string& log) {
  std::istringstream words(log);
  std::string text;
  for (std::string word; words >> word;) {
    if (word.starts_with("+hidden:")) text += word.substr(word.find('[')) + " ";
  }
  return text;
}

TEST_CASE("temporaries of the memory-efficient backward depend on card, type and width",
          "[symbolic][attention]") {
  struct Row {
    int card;
    DType dtype;
    Shape query;
    std::int64_t value_dim;
    const char* temporaries;
  };
  using enum DType;
  for (const Row& row : {Row{80, Float32, Shape{2, 4, 100, 64}, 0, "[2,4,128] "},
                         Row{80, BFloat16, Shape{2, 4, 100, 128}, 0, "[2,4,128] [2,4,128,128] "},
                         Row{80, BFloat16, Shape{2, 4, 128, 64}, 0, "[2,4,128] [2,4,128,64] "},
                         Row{80,
                             BFloat16,
                             Shape{2, 4, 64, 192},
                             128,
                             "[2,4,64] [2,4,128,256] [2,4,64,256] [2,4,64,256] "},
                         Row{86,
                             BFloat16,
                             Shape{2, 4, 100, 128},
                             0,
                             "[2,4,128] [2,4,128,128] [2,4,128,128] [2,4,128,128] "},
                         Row{75, Float16, Shape{2, 4, 64, 32}, 0, "[2,4,64] [2,4,64,64] "}}) {
    EventLog run({row.card, 108});
    Attention a;
    a.dtype = row.dtype;
    a.query = row.query;
    a.value_dim = row.value_dim;
    a.masked = row.dtype == BFloat16 && row.value_dim == 0;  // else flash would run
    Tensor out = attend(run, a);
    INFO("sm" << row.card << " " << name_of(row.dtype));
    CHECK(hidden(backward(run, std::move(out))) == row.temporaries);
  }
}

TEST_CASE("a boolean mask becomes an additive one in every call, wide in multiples of 8",
          "[symbolic][attention]") {
  struct Row {
    std::int64_t length;
    const char* bias;
  };
  for (const DType dtype : {DType::BFloat16, DType::Float32}) {
    for (const Row& row : {Row{96, ""},
                           Row{97, "[1,1,97,104]"},
                           Row{100, "[1,1,100,104]"},
                           Row{104, ""},
                           Row{108, "[1,1,108,112]"},
                           Row{1000, ""}}) {
      INFO(name_of(dtype) << " " << row.length);
      EventLog run;
      Attention a;
      a.dtype = dtype;
      a.masked = true;
      a.query = Shape{2, 4, row.length, 64};
      Tensor out = attend(run, a);
      const std::string length = std::to_string(row.length);
      const std::string bias = "where.self[1,1," + length + "," + length + "]";
      const bool padded = row.bias[0] != 0;
      const std::string wide = std::string("constant_pad_nd") + row.bias;
      // Only the padded one is kept.
      const std::string made = kNumbers + ("+" + bias) + kNumbersGo;
      const std::string begin = padded ? made + "+" + wide + " -" + bias + " " : made;
      CHECK(run.log().starts_with(begin + "+" + kEfficient));
      CHECK(backward(run, std::move(out)).find("-" + (padded ? wide : bias)) != std::string::npos);
    }
  }
}

TEST_CASE("attention without a kernel makes the scores three times and keeps one",
          "[symbolic][attention]") {
  EventLog run;
  Attention a;
  a.dtype = DType::Float32;
  a.query = Shape{2, 4, 64, 32};
  a.key_heads = 2;
  Tensor out = attend(run, a);
  CHECK(run.log() ==
        canonical("+mul.Scalar[2,4,64,32] +ones[64,64] +tril[64,64] -ones[64,64] " + kNumbers +
                  "+where.self[64,64]" + kNumbersGo +
                  "-tril[64,64] +clone[2,2,2,64,32] +clone[2,2,2,64,32] +mul.Scalar[2,4,32,64] "
                  "+bmm[8,64,64] +add.Tensor[2,4,64,64] -bmm[8,64,64] +_safe_softmax[2,4,64,64] "
                  "-add.Tensor[2,4,64,64] +bmm[8,64,32] -clone[2,2,2,64,32] -where.self[64,64]"));
  CHECK(
      backward(run, std::move(out)) ==
      canonical("+ones_like[] +mul.Tensor[2,4,64,32] +bmm[8,64,32] +bmm[8,64,64] "
                "-mul.Tensor[2,4,64,32] -clone[2,2,2,64,32] +_softmax_backward_data[2,4,64,64] "
                "+hidden:softmax_backward[2,4,64,64] -hidden:softmax_backward[2,4,64,64] "
                "-bmm[8,64,64] -_safe_softmax[2,4,64,64] +bmm[8,32,64] +bmm[8,64,32] "
                "-_softmax_backward_data[2,4,64,64] -mul.Scalar[2,4,32,64] -mul.Scalar[2,4,64,32] "
                "+mul.Scalar[2,4,32,64] -bmm[8,32,64] +sum.dim_IntList[2,2,1,64,32] -bmm[8,64,32] "
                "+sum.dim_IntList[2,2,1,64,32] -mul.Scalar[2,4,32,64] +mul.Scalar[2,4,64,32] "
                "-bmm[8,64,32] -ones_like[]"));
}

TEST_CASE("half precision without a kernel is computed in float32", "[symbolic][attention]") {
  EventLog run({75, 40});
  Attention a;
  a.query = Shape{2, 4, 64, 32};
  Tensor out = attend(run, a);
  CHECK(out.dtype() == DType::BFloat16);
  const std::string t = "_to_copy[2,4,64,32] ";
  CHECK(run.log() ==
        canonical("+" + t + "+" + t + "+" + t +
                  "+mul.Scalar[2,4,64,32] +ones[64,64] +tril[64,64] -ones[64,64] " + kNumbers +
                  "+where.self[64,64]" + kNumbersGo +
                  "-tril[64,64] +mul.Scalar[2,4,32,64] +bmm[8,64,64] "
                  "+add.Tensor[2,4,64,64] -bmm[8,64,64] +_safe_softmax[2,4,64,64] "
                  "-add.Tensor[2,4,64,64] +_to_copy[2,4,64,64] +bmm[8,64,32] +" +
                  t + "-bmm[8,64,32] -where.self[64,64] -" + t + "-" + t + "-_to_copy[2,4,64,64]"));
}

}  // namespace
}  // namespace peakline::test
