// How tensors lie in memory: against torch's own answers in data/layout.csv, and where it decides
// whether a copy is made.
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <string>
#include <utility>

#include "support/csv.h"
#include "support/event_log.h"
#include "symbolic/tensor.h"

namespace peakline::test {
namespace {

using symbolic::record_of;
using symbolic::SymbolicTensor;

Shape shape_of(const std::string& field) {
  Shape shape;
  for (const std::int64_t dim : numbers(field)) shape.push_back(dim);
  return shape;
}

// Strides as text. A dimension of one element has no stride that matters: torch's own code leaves
// different ones there.
std::string words(const Shape& sizes, const Shape& strides) {
  std::string text;
  for (int i = 0; i < strides.rank(); ++i) {
    text += (i > 0 ? " " : "") + (sizes[i] == 1 ? "*" : std::to_string(strides[i]));
  }
  return text;
}

SymbolicTensor tensor_of(const std::string& sizes, const std::string& strides) {
  SymbolicTensor tensor;
  tensor.sizes = shape_of(sizes);
  tensor.strides = shape_of(strides);
  return tensor;
}

struct Answers {
  std::string ours;
  std::string torch;
};

Answers answers(const std::vector<std::string>& row) {
  const SymbolicTensor tensor = tensor_of(row[1], row[2]);
  if (row[0] == "contiguous") {
    return {symbolic::is_contiguous(tensor.sizes, tensor.strides) ? "1" : "0", row[5]};
  }
  Shape sizes = tensor.sizes;
  Shape strides;
  if (row[0] == "packed") {
    strides = symbolic::packed_like(tensor.sizes, tensor.strides);
  } else if (row[0] == "view") {
    sizes = shape_of(row[3]);
    if (!symbolic::view_strides(tensor.sizes, tensor.strides, sizes, strides)) {
      return {"no view", row[5].empty() ? "no view" : row[5]};
    }
  } else {
    const SymbolicTensor other = tensor_of(row[3], row[4]);
    sizes = symbolic::broadcast(tensor.sizes, other.sizes);
    strides = symbolic::output_strides(sizes, tensor, &other);
  }
  return {words(sizes, strides), words(sizes, shape_of(row[5]))};
}

TEST_CASE("strides of views, copies and sums are torch's", "[symbolic][layout]") {
  std::map<std::string, int> kinds;
  for (const std::vector<std::string>& row : read_csv("tests/unit/data/layout.csv")) {
    REQUIRE(row.size() == 6);
    ++kinds[row[0]];
    INFO(row[0] << " of [" << row[1] << "] strides (" << row[2] << ") with [" << row[3]
                << "] strides (" << row[4] << ")");
    const Answers both = answers(row);
    CHECK(both.ours == both.torch);
  }
  for (const char* kind : {"contiguous", "packed", "view", "add"}) CHECK(kinds[kind] > 50);
}

TEST_CASE("element types promote as torch's do", "[symbolic][layout]") {
  using enum DType;
  struct Row {
    DType a;
    DType b;
    DType result;
  };
  for (const Row& row : {Row{BFloat16, BFloat16, BFloat16},
                         Row{BFloat16, Float16, Float32},
                         Row{BFloat16, Float32, Float32},
                         Row{Float16, Int64, Float16},
                         Row{Bool, BFloat16, BFloat16},
                         Row{Int64, Int32, Int64},
                         Row{UInt8, Int64, Int64},
                         Row{Bool, Bool, Bool}}) {
    INFO(name_of(row.a) << " with " << name_of(row.b));
    CHECK(symbolic::promote(row.a, row.b) == row.result);
    CHECK(symbolic::promote(row.b, row.a) == row.result);
  }
}

TEST_CASE("a number of no dimensions does not widen a tensor of its kind", "[symbolic][layout]") {
  EventLog run;
  Tensor half = run.plain("half", Shape{4}, DType::BFloat16);
  Tensor number = run.plain("number", Shape{}, DType::Float32);
  Tensor count = run.plain("count", Shape{4}, DType::Int64);
  CHECK(run.e.div(half, number).dtype() == DType::BFloat16);
  CHECK(run.e.mul(number, half).dtype() == DType::BFloat16);
  CHECK(run.e.mul(count, number).dtype() == DType::Float32);
}

TEST_CASE("a result keeps its input's order of dimensions, cat and softmax do not",
          "[symbolic][layout]") {
  EventLog run;
  Engine& e = run.e;
  Tensor p = run.plain("p", Shape{2, 3, 4});
  Tensor t = e.transpose(p, 1, 2);
  Tensor y = e.silu(t);
  const Shape kept{12, 1, 4};
  CHECK(record_of(t).strides == kept);
  for (const Tensor& same : {y, e.add(y, y), e.clone(y), e.dropout(y), e.to(y, DType::BFloat16)}) {
    CHECK(record_of(same).strides == kept);
  }
  Tensor other = run.plain("other", Shape{2, 4, 3});
  CHECK(record_of(e.add(y, other)).strides == kept);
  CHECK(record_of(e.add(other, y)).strides == Shape{12, 3, 1});
  CHECK(record_of(e.cat(y, y, -1)).strides == Shape{24, 6, 1});
  CHECK(record_of(e.softmax_last(y, DType::Float32)).strides == Shape{12, 3, 1});
  CHECK(record_of(e.mean_last(y)).strides == Shape{4, 1, 1});
}

TEST_CASE("contiguous and reshape copy only where they must", "[symbolic][layout]") {
  EventLog run;
  Engine& e = run.e;
  Tensor x = run.plain("x", Shape{2, 3, 4});
  Tensor turned = e.transpose(x, 1, 2);
  run.skip();
  Tensor same = e.contiguous(x);
  CHECK(same.record() == x.record());
  Tensor flat = e.reshape(x, Shape{6, 4});
  Tensor first = e.reshape(turned, Shape{2, 2, 2, 3});  // a split needs no copy
  CHECK(run.log().empty());
  Tensor dense = e.contiguous(turned);
  CHECK(run.log() == "+clone[2,4,3]");
  Tensor merged = e.reshape(turned, Shape{2, 12});
  CHECK(run.log() == "+clone[2,4,3]");
}

TEST_CASE("sizes and strides of views", "[symbolic][layout]") {
  EventLog run;
  Engine& e = run.e;
  Tensor x = run.plain("x", Shape{2, 1, 6});
  struct Row {
    Tensor view;
    Shape sizes;
    Shape strides;
  };
  const std::vector<Row> rows = {
      {e.transpose(x, 0, 2), Shape{6, 1, 2}, Shape{1, 6, 6}},
      {e.transpose(x, -1, -2), Shape{2, 6, 1}, Shape{6, 1, 6}},
      {e.unsqueeze(x, 0), Shape{1, 2, 1, 6}, Shape{12, 6, 6, 1}},
      {e.unsqueeze(x, -1), Shape{2, 1, 6, 1}, Shape{6, 6, 1, 1}},
      {e.expand(x, Shape{2, 5, 6}), Shape{2, 5, 6}, Shape{6, 0, 1}},
      {e.expand(x, Shape{3, 2, 1, 6}), Shape{3, 2, 1, 6}, Shape{0, 6, 6, 1}},
      {e.slice(x, -1, 2, 5), Shape{2, 1, 3}, Shape{6, 6, 1}},
      {e.view(x, Shape{12}), Shape{12}, Shape{1}},
  };
  for (const Row& row : rows) {
    CHECK(row.view.sizes() == row.sizes);
    CHECK(record_of(row.view).strides == row.strides);
  }
}

}  // namespace
}  // namespace peakline::test
