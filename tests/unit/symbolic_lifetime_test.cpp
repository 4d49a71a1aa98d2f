// How long tensors live: inputs of an operation, views, and what a node saves. The expected logs
// are those of torch 2.13 on the same programs.
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/event_log.h"

namespace peakline::test {
namespace {

using Unary = std::function<Tensor(Engine&, Tensor)>;

struct Operation {
  const char* op;      // the dispatcher's name
  const char* result;  // sizes of the result of a [2, 4] input
  bool saves_input;
  bool saves_result;
  Unary apply;
};

const std::vector<Operation>& unary_operations() {
  static const std::vector<Operation> kOperations = {
      {"neg", "[2,4]", false, false, [](Engine& e, Tensor x) { return e.neg(std::move(x)); }},
      {"silu", "[2,4]", true, false, [](Engine& e, Tensor x) { return e.silu(std::move(x)); }},
      {"gelu", "[2,4]", true, false, [](Engine& e, Tensor x) { return e.gelu(std::move(x)); }},
      {"relu", "[2,4]", false, true, [](Engine& e, Tensor x) { return e.relu(std::move(x)); }},
      {"pow.Tensor_Scalar",
       "[2,4]",
       true,
       false,
       [](Engine& e, Tensor x) { return e.square(std::move(x)); }},
      {"rsqrt", "[2,4]", false, true, [](Engine& e, Tensor x) { return e.rsqrt(std::move(x)); }},
      {"add.Tensor",
       "[2,4]",
       false,
       false,
       [](Engine& e, Tensor x) { return e.add_scalar(std::move(x)); }},
      {"mul.Tensor",
       "[2,4]",
       false,
       false,
       [](Engine& e, Tensor x) { return e.mul_scalar(std::move(x)); }},
      {"div.Tensor",
       "[2,4]",
       false,
       false,
       [](Engine& e, Tensor x) { return e.div_scalar(std::move(x)); }},
      {"clone", "[2,4]", false, false, [](Engine& e, Tensor x) { return e.clone(std::move(x)); }},
      {"_to_copy",
       "[2,4]",
       false,
       false,
       [](Engine& e, Tensor x) { return e.to(std::move(x), DType::BFloat16); }},
      {"mean.dim",
       "[2,1]",
       false,
       false,
       [](Engine& e, Tensor x) { return e.mean_last(std::move(x)); }},
      {"sum", "[]", false, false, [](Engine& e, Tensor x) { return e.sum(std::move(x)); }},
      {"_softmax",
       "[2,4]",
       false,
       true,
       [](Engine& e, Tensor x) { return e.softmax_last(std::move(x), DType::Float32); }},
  };
  return kOperations;
}

TEST_CASE("an operation releases its input after its output exists and before it returns",
          "[symbolic][lifetime]") {
  for (const Operation& operation : unary_operations()) {
    EventLog run;
    NoGrad no_grad(run.e);
    Tensor x = run.plain("x", Shape{2, 4});
    Tensor out = operation.apply(run.e, std::move(x));
    CHECK(run.log() == "+x +" + std::string(operation.op) + operation.result + " -x");
  }
}

TEST_CASE("a name that is copied into an operation outlives it", "[symbolic][lifetime]") {
  for (const Operation& operation : unary_operations()) {
    EventLog run;
    NoGrad no_grad(run.e);
    Tensor x = run.plain("x", Shape{2, 4});
    Tensor out = operation.apply(run.e, x);
    CHECK(run.log() == "+x +" + std::string(operation.op) + operation.result);
    CHECK(x.use_count() == 1);
  }
}

TEST_CASE("both inputs of an operation are released after its output exists",
          "[symbolic][lifetime]") {
  using Binary = std::function<Tensor(Engine&, Tensor, Tensor)>;
  const std::vector<std::pair<const char*, Binary>> operations = {
      {"add.Tensor[4,4]",
       [](Engine& e, Tensor a, Tensor b) { return e.add(std::move(a), std::move(b)); }},
      {"sub.Tensor[4,4]",
       [](Engine& e, Tensor a, Tensor b) { return e.sub(std::move(a), std::move(b)); }},
      {"mul.Tensor[4,4]",
       [](Engine& e, Tensor a, Tensor b) { return e.mul(std::move(a), std::move(b)); }},
      {"div.Tensor[4,4]",
       [](Engine& e, Tensor a, Tensor b) { return e.div(std::move(a), std::move(b)); }},
      {"mm[4,4]",
       [](Engine& e, Tensor a, Tensor b) { return e.matmul(std::move(a), std::move(b)); }},
      {"cat[4,8]",
       [](Engine& e, Tensor a, Tensor b) { return e.cat(std::move(a), std::move(b), -1); }},
  };
  for (const auto& [result, apply] : operations) {
    EventLog run;
    NoGrad no_grad(run.e);
    Tensor a = run.plain("a", Shape{4, 4});
    Tensor b = run.plain("b", Shape{4, 4});
    Tensor out = apply(run.e, std::move(a), std::move(b));
    CHECK(run.log() == "+a +b +" + std::string(result) + " -a -b");
  }
}

TEST_CASE("an operation on an undefined handle makes no event", "[symbolic][lifetime]") {
  for (const Operation& operation : unary_operations()) {
    EventLog run;
    CHECK_FALSE(operation.apply(run.e, Tensor{}).defined());
    CHECK(run.log().empty());
  }
  EventLog run;
  Tensor x = run.plain("x", Shape{4, 4});
  run.skip();
  CHECK_FALSE(run.e.add(x, {}).defined());
  CHECK_FALSE(run.e.add({}, x).defined());
  CHECK_FALSE(run.e.linear({}, x, {}).defined());
  CHECK_FALSE(run.e.embedding(x, {}).defined());
  CHECK_FALSE(run.e.checkpoint([](const Tensor& t) { return t; }, {}, false).defined());
  run.e.backward({});
  CHECK(run.log().empty());
}

TEST_CASE("a node saves the input or the result that its formula needs, and nothing else",
          "[symbolic][saved]") {
  for (const Operation& operation : unary_operations()) {
    INFO(operation.op);
    EventLog run;
    Tensor p = run.leaf("p", Shape{2, 4});
    Tensor x = run.e.neg(p);
    run.skip();
    Tensor y = operation.apply(run.e, x);
    run.skip();
    x.reset();
    CHECK(run.log() == (operation.saves_input ? "" : "-neg[2,4]"));
    Tensor next = run.e.add_scalar(y);
    run.skip();
    y.reset();
    const std::string result = std::string("-") + operation.op + operation.result;
    CHECK(run.log() == (operation.saves_result ? "" : result));
    next.reset();
    const std::string input = operation.saves_input ? "-neg[2,4]" : "";
    const std::string kept = operation.saves_result ? result : "";
    const std::string sizes = operation.result;
    CHECK(run.log() == canonical(input + " " + kept + " -add.Tensor" + sizes));
    CHECK(run.live_bytes() == 512);  // p
  }
}

TEST_CASE("dropout keeps its mask of one byte per element", "[symbolic][saved]") {
  EventLog run;
  Tensor p = run.leaf("p", Shape{64, 64});
  run.skip();
  Tensor y = run.e.dropout(p);
  CHECK(run.log() == "+native_dropout[64,64] +native_dropout[64,64]");
  CHECK(run.last().bytes == Bytes(64 * 64));
  Tensor z = run.e.neg(std::move(y));
  CHECK(run.log() == "+neg[64,64] -native_dropout[64,64]");
  CHECK(run.live_bytes() == 64 * 64 * (4 + 1 + 4));
}

TEST_CASE("mul saves an operand only if the other needs a gradient", "[symbolic][saved]") {
  for (const bool grad_a : {false, true}) {
    for (const bool grad_b : {false, true}) {
      INFO(grad_a << grad_b);
      EventLog run;
      Tensor p = grad_a ? run.leaf("p", Shape{2, 4}) : run.plain("p", Shape{2, 4});
      Tensor q = grad_b ? run.leaf("q", Shape{2, 4}) : run.plain("q", Shape{2, 4});
      Tensor a = run.e.neg(p);
      Tensor b = run.e.add_scalar(q);
      Tensor y = run.e.mul(a, b);
      run.skip();
      a.reset();
      CHECK(run.log() == (grad_b ? "" : "-neg[2,4]"));
      b.reset();
      CHECK(run.log() == (grad_a ? "" : "-add.Tensor[2,4]"));
      y.reset();
      CHECK(run.live_bytes() == 2 * 512);
    }
  }
}

TEST_CASE("linear saves the weight for the input's gradient and the input for the weight's",
          "[symbolic][saved]") {
  for (const bool grad_x : {false, true}) {
    for (const bool grad_w : {false, true}) {
      for (const bool bias : {false, true}) {
        INFO(grad_x << grad_w << bias);
        EventLog run;
        Tensor p = grad_x ? run.leaf("p", Shape{4, 8}) : run.plain("p", Shape{4, 8});
        Tensor w = grad_w ? run.leaf("w", Shape{16, 8}) : run.plain("w", Shape{16, 8});
        Tensor c = bias ? run.plain("c", Shape{16}) : Tensor{};
        Tensor x = run.e.neg(p);
        Tensor y = run.e.linear(x, w, c);
        run.skip();
        x.reset();
        CHECK(run.log() == (grad_w ? "" : "-neg[4,8]"));
        w.reset();
        CHECK(run.log() == (grad_x || grad_w ? "" : "-w"));
        c.reset();
        CHECK(run.log() == (bias ? "-c" : ""));
        y.reset();
        CHECK(run.live_bytes() == 512);  // p
      }
    }
  }
}

TEST_CASE("nothing is saved under no_grad", "[symbolic][saved]") {
  for (const Operation& operation : unary_operations()) {
    EventLog run;
    Tensor x = run.leaf("x", Shape{2, 4});
    NoGrad no_grad(run.e);
    Tensor y = operation.apply(run.e, x);
    CHECK_FALSE(y.requires_grad());
    x.reset();
    y.reset();
    CHECK(run.live_bytes() == 0);
  }
}

TEST_CASE("a result saved by its own node does not keep the graph alive", "[symbolic][saved]") {
  for (const Operation& operation : unary_operations()) {
    if (!operation.saves_result) continue;
    INFO(operation.op);
    EventLog run;
    Tensor p = run.leaf("p", Shape{2, 4});
    Tensor y = operation.apply(run.e, p);
    p.reset();
    CHECK(run.live_bytes() == 2 * 512);  // the graph holds the leaf
    y.reset();
    CHECK(run.live_bytes() == 0);
  }
}

using View = std::function<Tensor(Engine&, Tensor)>;
const std::vector<std::pair<const char*, View>>& views() {
  static const std::vector<std::pair<const char*, View>> kViews = {
      {"transpose", [](Engine& e, Tensor x) { return e.transpose(std::move(x), 0, 1); }},
      {"view", [](Engine& e, Tensor x) { return e.view(std::move(x), Shape{8}); }},
      {"reshape",
       [](Engine& e, Tensor x) {
         return e.reshape(std::move(x), Shape{4, 2});
       }},
      {"slice", [](Engine& e, Tensor x) { return e.slice(std::move(x), 1, 1, 3); }},
      {"unsqueeze", [](Engine& e, Tensor x) { return e.unsqueeze(std::move(x), 0); }},
      {"expand",
       [](Engine& e, Tensor x) {
         return e.expand(std::move(x), Shape{3, 2, 4});
       }},
  };
  return kViews;
}

TEST_CASE("a view makes no storage and holds the tensor it looks into", "[symbolic][views]") {
  for (const bool grad : {true, false}) {
    for (const auto& [name, view] : views()) {
      INFO(name << (grad ? "" : " under no_grad"));
      EventLog run;
      run.e.set_grad_enabled(grad);
      Tensor x = run.plain("x", Shape{2, 4});
      run.skip();
      Tensor v = view(run.e, x);
      CHECK(v.use_count() == 1);
      CHECK(x.use_count() == 2);
      x.reset();
      CHECK(run.log().empty());
      v.reset();
      CHECK(run.log() == "-x");
    }
  }
}

TEST_CASE("detach holds the storage, not the tensor", "[symbolic][views]") {
  EventLog run;
  Tensor x = run.plain("x", Shape{2, 4});
  run.skip();
  Tensor detached = run.e.detach(x);
  CHECK(x.use_count() == 1);
  x.reset();
  CHECK(run.log().empty());
  detached.reset();
  CHECK(run.log() == "-x");
}

TEST_CASE("a view of a view holds the first tensor, not the view between", "[symbolic][views]") {
  EventLog run;
  Tensor x = run.plain("x", Shape{2, 4});
  Tensor first = run.e.transpose(x, 0, 1);
  Tensor second = run.e.unsqueeze(first, 0);
  CHECK(first.use_count() == 1);
  CHECK(x.use_count() == 3);
  first.reset();
  CHECK(x.use_count() == 2);
}

}  // namespace
}  // namespace peakline::test
