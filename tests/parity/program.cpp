#include "parity/program.h"

#include <iterator>
#include <random>
#include <utility>

namespace peakline::test {
namespace {

constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kRows = 4;
constexpr std::int64_t kWidth = 8;
const Shape kShape{kBatch, kRows, kWidth};

// The leaves of a program: they outlive both runs.
struct Leaves {
  Tensor input;
  Tensor weight;
  Tensor frozen;
  Tensor bias;
  Tensor row;
  Tensor half_row;

  explicit Leaves(Engine& e) {
    const auto leaf = [&](const Shape& shape, DType dtype, bool grad) {
      Tensor made = e.ones(shape, dtype);
      e.set_requires_grad(made, grad);
      return made;
    };
    input = leaf(kShape, DType::Float32, true);
    weight = leaf({kWidth, kWidth}, DType::Float32, true);
    frozen = leaf({kWidth, kWidth}, DType::BFloat16, false);
    bias = leaf({kWidth}, DType::Float32, true);
    row = leaf({kWidth}, DType::Float32, true);
    half_row = leaf({kWidth}, DType::BFloat16, true);
  }
};

struct Machine {
  Engine& e;
  const Leaves& leaves;
};

// An operation that takes tensors of the program's shape and gives one back.
struct Operation {
  const char* name;
  Tensor (*run)(const Machine& m, const Tensor& a, const Tensor& b, std::uint32_t flavour);
};

Tensor as_heads(Engine& e, const Tensor& states) {
  Tensor cut = e.view(states, {kBatch, kRows, 2, kWidth / 2});
  return e.transpose(std::move(cut), 1, 2);
}

Tensor attend(const Machine& m, const Tensor& a, const Tensor& b, std::uint32_t flavour) {
  Engine& e = m.e;
  const Tensor dense_a = e.contiguous(a);
  Tensor dense_b = e.contiguous(b);
  dense_b = e.to(std::move(dense_b), dense_a.dtype());
  Tensor query = as_heads(e, dense_a);
  Tensor key = as_heads(e, dense_b);
  Tensor value = as_heads(e, dense_b);
  AttentionOptions options;
  options.is_causal = (flavour & 1) != 0;
  options.allow_flash = (flavour & 2) != 0;
  Tensor out = e.scaled_dot_product_attention(
      std::move(query), std::move(key), std::move(value), {}, options);
  Tensor turned = e.transpose(std::move(out), 1, 2);
  return e.reshape(std::move(turned), kShape);
}

Tensor linear(const Machine& m, const Tensor& a, const Tensor&, std::uint32_t flavour) {
  Tensor input = m.e.to(a, DType::Float32);
  return m.e.linear(
      std::move(input), m.leaves.weight, (flavour & 1) != 0 ? m.leaves.bias : Tensor{});
}

Tensor turned(const Machine& m, const Tensor& a, const Tensor&, std::uint32_t flavour) {
  Tensor across = m.e.transpose(a, (flavour & 1) != 0 ? 0 : 1, 2);
  return m.e.reshape(std::move(across), kShape);
}

Tensor halves_swapped(const Machine& m, const Tensor& a, const Tensor&, std::uint32_t) {
  Tensor low = m.e.slice(a, -1, 0, kWidth / 2);
  Tensor high = m.e.slice(a, -1, kWidth / 2, kWidth);
  Tensor negative = m.e.neg(std::move(high));
  return m.e.cat(std::move(negative), std::move(low), -1);
}

Tensor split_in_two(const Machine& m, const Tensor& a, const Tensor&, std::uint32_t) {
  Tensor parts[2];
  const std::int64_t sizes[] = {kWidth / 2, kWidth / 2};
  m.e.split(a, sizes, 2, parts);
  Tensor bent = m.e.silu(std::move(parts[0]));
  return m.e.cat(std::move(bent), std::move(parts[1]), -1);
}

Tensor widened_row(const Machine& m, const Tensor& a, const Tensor&, std::uint32_t) {
  Tensor last = m.e.slice(a, 1, kRows - 1, kRows);
  return m.e.expand(std::move(last), kShape);
}

Tensor block(const Machine& m, const Tensor& a, const Tensor&, std::uint32_t flavour) {
  Engine& e = m.e;
  const Leaves& leaves = m.leaves;
  auto function = [&e, &leaves](const Tensor& x) {
    Tensor wide = e.to(x, DType::Float32);
    Tensor up = e.linear(std::move(wide), leaves.weight, {});
    Tensor bent = e.silu(up);
    Tensor product = e.mul(std::move(bent), std::move(up));
    Tensor scaled = e.mul(std::move(product), leaves.row);
    return e.add(x, std::move(scaled));
  };
  return e.checkpoint(function, a, (flavour & 1) != 0);
}

Tensor under_autocast(const Machine& m, const Tensor& a, const Tensor& b, std::uint32_t flavour) {
  const AutocastScope scope(m.e, DType::BFloat16);
  Tensor first = m.e.linear(a, m.leaves.weight, {});
  Tensor second = m.e.linear(std::move(first), m.leaves.frozen, {});
  Tensor third = m.e.linear(std::move(second), m.leaves.weight, {});
  return (flavour & 1) != 0 ? m.e.add(std::move(third), b) : third;
}

const Operation kOperations[] = {
    {"add", [](auto& m, auto& a, auto& b, auto) { return m.e.add(a, b); }},
    {"sub", [](auto& m, auto& a, auto& b, auto) { return m.e.sub(a, b); }},
    {"mul", [](auto& m, auto& a, auto& b, auto) { return m.e.mul(a, b); }},
    {"mul by a row", [](auto& m, auto& a, auto&, auto) { return m.e.mul(a, m.leaves.row); }},
    {"mul by a 16-bit row",
     [](auto& m, auto& a, auto&, auto) { return m.e.mul(m.leaves.half_row, a); }},
    {"add_scalar", [](auto& m, auto& a, auto&, auto) { return m.e.add_scalar(a); }},
    {"mul_scalar", [](auto& m, auto& a, auto&, auto) { return m.e.mul_scalar(a); }},
    {"div_scalar", [](auto& m, auto& a, auto&, auto) { return m.e.div_scalar(a); }},
    {"neg", [](auto& m, auto& a, auto&, auto) { return m.e.neg(a); }},
    {"square", [](auto& m, auto& a, auto&, auto) { return m.e.square(a); }},
    {"rsqrt", [](auto& m, auto& a, auto&, auto) { return m.e.rsqrt(a); }},
    {"tanh", [](auto& m, auto& a, auto&, auto) { return m.e.tanh(a); }},
    {"silu", [](auto& m, auto& a, auto&, auto) { return m.e.silu(a); }},
    {"gelu", [](auto& m, auto& a, auto&, auto) { return m.e.gelu(a); }},
    {"relu", [](auto& m, auto& a, auto&, auto) { return m.e.relu(a); }},
    {"dropout", [](auto& m, auto& a, auto&, auto) { return m.e.dropout(a); }},
    {"to bfloat16", [](auto& m, auto& a, auto&, auto) { return m.e.to(a, DType::BFloat16); }},
    {"to float32", [](auto& m, auto& a, auto&, auto) { return m.e.to(a, DType::Float32); }},
    {"clone", [](auto& m, auto& a, auto&, auto) { return m.e.clone(a); }},
    {"contiguous", [](auto& m, auto& a, auto&, auto) { return m.e.contiguous(a); }},
    {"detach", [](auto& m, auto& a, auto&, auto) { return m.e.detach(a); }},
    {"softmax", [](auto& m, auto& a, auto&, auto) { return m.e.softmax_last(a, DType::Float32); }},
    {"layer_norm",
     [](auto& m, auto& a, auto&, auto) {
       return m.e.layer_norm(m.e.to(a, DType::Float32), m.leaves.row, m.leaves.bias);
     }},
    {"mul by the mean", [](auto& m, auto& a, auto&, auto) { return m.e.mul(a, m.e.mean_last(a)); }},
    {"linear", linear},
    {"turned", turned},
    {"halves swapped", halves_swapped},
    {"split in two", split_in_two},
    {"widened row", widened_row},
    {"attention", attend},
    {"checkpointed block", block},
    {"under autocast", under_autocast},
};

void run_once(const Machine& m, const Instructions& program) {
  Engine& e = m.e;
  std::vector<Tensor> values = {m.leaves.input};
  for (const Instruction& step : program) {
    const Operation& operation = kOperations[step.op % std::size(kOperations)];
    const std::size_t first = step.first % values.size();
    const std::size_t second = step.second % values.size();
    Tensor out = operation.run(m, values[first], values[second], step.flavour);
    // Every fourth instruction drops its operand, others keep it for later ones.
    if (step.flavour % 4 == 0 && values.size() > 1)
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(first));
    values.push_back(std::move(out));
  }
  Tensor total = e.sum(values.back());
  values.pop_back();
  for (std::size_t i = 1; i < values.size(); i += 2) {
    Tensor part = e.sum(values[i]);
    total = e.add(std::move(total), std::move(part));
  }
  values.clear();
  e.backward(std::move(total));
}

}  // namespace

Instructions draw_program(std::uint64_t seed, std::size_t length) {
  std::mt19937_64 source(seed);
  const auto draw = [&] { return static_cast<std::uint32_t>(source() >> 33); };
  Instructions program;
  for (std::size_t i = 0; i < length; ++i) {
    Instruction step;
    step.op = draw();
    step.first = draw();
    step.second = draw();
    step.flavour = draw();
    program.push_back(step);
  }
  return program;
}

std::string words(const Instructions& program) {
  std::string text;
  for (const Instruction& step : program) {
    text += std::string(text.empty() ? "" : "; ") +
            kOperations[step.op % std::size(kOperations)].name + " (" + std::to_string(step.first) +
            ", " + std::to_string(step.second) + ", " + std::to_string(step.flavour % 4) + ")";
  }
  return text;
}

Program run_twice(const Instructions& program) {
  return [program](Engine& e) {
    const Leaves leaves(e);
    const Machine machine{e, leaves};
    run_once(machine, program);
    run_once(machine, program);
  };
}

Instructions shrunk(Instructions program) {
  for (std::size_t i = 0; i < program.size();) {
    Instructions shorter = program;
    shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
    if (compare(run_twice(shorter)).equal) {
      ++i;
    } else {
      program = std::move(shorter);
      i = 0;
    }
  }
  return program;
}

}  // namespace peakline::test
