// Every operation, forward and backward, in both engines.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <string>
#include <utility>
#include <vector>

#include "parity/parity.h"

namespace peakline::test {
namespace {

constexpr DType kTypes[] = {DType::Float32, DType::BFloat16};

Tensor leaf(Engine& e, const Shape& shape, DType dtype, bool grad = true) {
  Tensor made = e.ones(shape, dtype);
  e.set_requires_grad(made, grad);
  return made;
}

// As the models call it: heads cut from [B, S, A * D].
Tensor attention(Engine& e,
                 DType t,
                 bool g,
                 std::int64_t key_heads,
                 bool masked,
                 const AttentionOptions& options) {
  const auto heads = [&](std::int64_t count) {
    Tensor states = leaf(e, {2, 8, count * 4}, t, g);
    Tensor cut = e.view(std::move(states), {2, 8, count, 4});
    return e.transpose(std::move(cut), 1, 2);
  };
  Tensor query = heads(3);
  Tensor key = heads(key_heads);
  Tensor value = heads(key_heads);
  Tensor mask = masked ? e.ones({2, 1, 8, 8}, DType::Bool) : Tensor{};
  return e.scaled_dot_product_attention(
      std::move(query), std::move(key), std::move(value), mask, options);
}

struct Case {
  const char* name;
  // Makes its inputs; all of them require grad where `grad` says so.
  Tensor (*run)(Engine&, DType, bool grad);
};

const Case kCases[] = {
    {"add",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {2, 8, 16}, t, g);
       Tensor b = leaf(e, {2, 8, 16}, t, g);
       return e.add(std::move(a), std::move(b));
     }},
    {"add, whose gradient two leaves share",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {2, 8, 16}, t, g);
       Tensor b = leaf(e, {2, 8, 16}, t, g);
       Tensor sum = e.add(a, b);
       return e.silu(std::move(sum));
     }},
    {"add a row",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {2, 8, 16}, t, g);
       Tensor b = leaf(e, {16}, t, g);
       return e.add(a, b);
     }},
    {"sub",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {2, 8, 16}, t, g);
       Tensor b = leaf(e, {2, 8, 1}, t, g);
       return e.sub(a, b);
     }},
    {"mul",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {2, 8, 16}, t, g);
       Tensor b = leaf(e, {2, 8, 16}, t, g);
       return e.mul(a, b);
     }},
    {"mul a row of another type",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {2, 8, 16}, DType::Float32, g);
       Tensor b = leaf(e, {16}, t, g);
       return e.mul(b, a);
     }},
    {"div",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {2, 8, 16}, t, g);
       Tensor b = leaf(e, {}, t, false);
       return e.div(a, b);
     }},
    {"add_scalar",
     [](Engine& e, DType t, bool g) {
       return e.add_scalar(leaf(e, {4, 8}, t, g));
     }},
    {"mul_scalar",
     [](Engine& e, DType t, bool g) {
       return e.mul_scalar(leaf(e, {4, 8}, t, g));
     }},
    {"div_scalar",
     [](Engine& e, DType t, bool g) {
       return e.div_scalar(leaf(e, {4, 8}, t, g));
     }},
    {"neg",
     [](Engine& e, DType t, bool g) {
       return e.neg(leaf(e, {4, 8}, t, g));
     }},
    {"square",
     [](Engine& e, DType t, bool g) {
       return e.square(leaf(e, {4, 8}, t, g));
     }},
    {"rsqrt",
     [](Engine& e, DType t, bool g) {
       return e.rsqrt(leaf(e, {4, 8}, t, g));
     }},
    {"tanh",
     [](Engine& e, DType t, bool g) {
       return e.tanh(leaf(e, {4, 8}, t, g));
     }},
    {"silu",
     [](Engine& e, DType t, bool g) {
       return e.silu(leaf(e, {4, 8}, t, g));
     }},
    {"gelu",
     [](Engine& e, DType t, bool g) {
       return e.gelu(leaf(e, {4, 8}, t, g));
     }},
    {"relu",
     [](Engine& e, DType t, bool g) {
       return e.relu(leaf(e, {4, 8}, t, g));
     }},
    {"dropout",
     [](Engine& e, DType t, bool g) {
       return e.dropout(leaf(e, {4, 8}, t, g));
     }},
    {"to",
     [](Engine& e, DType t, bool g) {
       return e.to(leaf(e, {4, 8}, t, g), t == DType::Float32 ? DType::BFloat16 : DType::Float32);
     }},
    {"clone",
     [](Engine& e, DType t, bool g) {
       return e.clone(leaf(e, {4, 8}, t, g));
     }},
    {"contiguous",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {4, 8, 2}, t, g);
       Tensor turned = e.transpose(std::move(a), 0, 1);
       return e.contiguous(std::move(turned));
     }},
    {"view",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {4, 8}, t, g);
       Tensor flat = e.view(std::move(a), {32});
       return e.silu(std::move(flat));
     }},
    {"reshape that copies",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {4, 8}, t, g);
       Tensor turned = e.transpose(std::move(a), 0, 1);
       return e.reshape(std::move(turned), {32});
     }},
    {"expand",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {4, 1, 8}, t, g);
       Tensor wide = e.expand(std::move(a), {4, 3, 8});
       return e.clone(std::move(wide));
     }},
    {"unsqueeze",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {4, 8}, t, g);
       Tensor tall = e.unsqueeze(std::move(a), 1);
       return e.silu(std::move(tall));
     }},
    {"slice",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {4, 8}, t, g);
       Tensor part = e.slice(std::move(a), -1, 2, 6);
       return e.neg(std::move(part));
     }},
    {"slice every second",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {4, 8}, t, g);
       Tensor part = e.slice(std::move(a), -1, 1, 8, 2);
       return e.neg(std::move(part));
     }},
    {"split",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {4, 8}, t, g);
       Tensor parts[2];
       const std::int64_t sizes[] = {6, 2};
       e.split(a, sizes, 1, parts);
       a.reset();
       Tensor first = e.silu(std::move(parts[0]));
       Tensor second = e.sum(std::move(parts[1]));
       return e.mul(std::move(first), std::move(second));
     }},
    {"cat",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {4, 8}, t, g);
       Tensor b = leaf(e, {4, 2}, t, g);
       return e.cat(std::move(a), std::move(b), -1);
     }},
    {"stack_last",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {4, 8}, t, g);
       Tensor b = leaf(e, {4, 8}, t, g);
       return e.stack_last(std::move(a), std::move(b));
     }},
    {"mean_last",
     [](Engine& e, DType t, bool g) {
       return e.mean_last(leaf(e, {4, 8}, t, g));
     }},
    {"embedding",
     [](Engine& e, DType t, bool g) {
       Tensor weight = leaf(e, {32, 8}, t, g);
       return e.embedding(weight, e.ones({2, 4}, DType::Int64));
     }},
    {"linear",
     [](Engine& e, DType t, bool g) {
       Tensor x = leaf(e, {2, 4, 8}, t, g);
       Tensor w = leaf(e, {16, 8}, t, g);
       return e.linear(std::move(x), w, {});
     }},
    {"linear with bias",
     [](Engine& e, DType t, bool g) {
       Tensor x = leaf(e, {2, 4, 8}, t, g);
       Tensor w = leaf(e, {16, 8}, t, g);
       Tensor b = leaf(e, {16}, t, g);
       return e.linear(std::move(x), w, b);
     }},
    {"linear of rows",
     [](Engine& e, DType t, bool g) {
       Tensor x = leaf(e, {4, 8}, t, g);
       Tensor w = leaf(e, {16, 8}, t, g);
       return e.linear(std::move(x), w, {});
     }},
    {"linear of a frozen weight",
     [](Engine& e, DType t, bool g) {
       Tensor x = leaf(e, {2, 4, 8}, t, g);
       Tensor w = leaf(e, {16, 8}, t, false);
       return e.linear(std::move(x), w, {});
     }},
    {"linear of a frozen input",
     [](Engine& e, DType t, bool g) {
       Tensor x = leaf(e, {2, 4, 8}, t, false);
       Tensor w = leaf(e, {16, 8}, t, g);
       return e.linear(std::move(x), w, {});
     }},
    {"addmm",
     [](Engine& e, DType t, bool g) {
       Tensor b = leaf(e, {16}, t, g);
       Tensor x = leaf(e, {4, 8}, t, g);
       Tensor w = leaf(e, {8, 16}, t, g);
       return e.addmm(b, std::move(x), w);
     }},
    {"where",
     [](Engine& e, DType t, bool g) {
       Tensor keep = e.ones({1, 1, 4, 4}, DType::Bool);
       return e.where(keep, leaf(e, {2, 3, 4, 4}, t, g));
     }},
    {"softmax_as_is",
     [](Engine& e, DType t, bool g) {
       return e.softmax_as_is(leaf(e, {2, 4, 8}, t, g));
     }},
    {"softmax_last",
     [](Engine& e, DType t, bool g) {
       return e.softmax_last(leaf(e, {2, 4, 8}, t, g), DType::Float32);
     }},
    {"layer_norm",
     [](Engine& e, DType t, bool g) {
       Tensor x = leaf(e, {2, 4, 8}, t, g);
       Tensor w = leaf(e, {8}, t, g);
       Tensor b = leaf(e, {8}, t, g);
       return e.layer_norm(std::move(x), w, b);
     }},
    {"layer_norm of nothing",
     [](Engine& e, DType t, bool g) {
       return e.layer_norm(leaf(e, {2, 4, 8}, t, g), {}, {});
     }},
    {"matmul",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {2, 3, 4, 8}, t, g);
       Tensor b = leaf(e, {2, 3, 8, 4}, t, g);
       return e.matmul(std::move(a), std::move(b));
     }},
    {"matmul with a turned operand",
     [](Engine& e, DType t, bool g) {
       Tensor a = leaf(e, {2, 3, 4, 8}, t, g);
       Tensor b = leaf(e, {2, 3, 4, 8}, t, g);
       Tensor turned = e.transpose(std::move(b), 2, 3);
       return e.matmul(std::move(a), std::move(turned));
     }},
    {"attention", [](Engine& e, DType t, bool g) { return attention(e, t, g, 3, false, {}); }},
    {"attention of grouped heads",
     [](Engine& e, DType t, bool g) {
       return attention(e, t, g, 1, false, {.is_causal = true, .enable_gqa = true});
     }},
    {"attention under a mask",
     [](Engine& e, DType t, bool g) { return attention(e, t, g, 3, true, {}); }},
    {"math attention",
     [](Engine& e, DType t, bool g) {
       return attention(e, t, g, 3, false, {.is_causal = true, .allow_flash = false});
     }},
    {"math attention of grouped heads under a mask",
     [](Engine& e, DType t, bool g) {
       return attention(e, t, g, 1, true, {.enable_gqa = true, .allow_flash = false});
     }},
    {"cross_entropy",
     [](Engine& e, DType, bool g) {
       Tensor logits = leaf(e, {6, 32}, DType::Float32, g);
       Tensor target = e.ones({6}, DType::Int64);
       return e.cross_entropy(logits, target);
     }},
};

TEST_CASE("an operation and its gradient", "[parity]") {
  const Case& c = GENERATE(from_range(std::begin(kCases), std::end(kCases)));
  const DType dtype = GENERATE(from_range(std::begin(kTypes), std::end(kTypes)));
  const bool grad = GENERATE(true, false);
  const Parity parity = compare([&](Engine& e) {
    Tensor out = c.run(e, dtype, grad);
    Tensor loss = e.sum(std::move(out));
    e.backward(std::move(loss));
  });
  INFO(c.name << ", " << name_of(dtype) << (grad ? ", with gradients" : ", frozen") << "\n"
              << parity.difference);
  CHECK(parity.equal);
  CHECK(parity.num_events > 0);
}

}  // namespace
}  // namespace peakline::test
