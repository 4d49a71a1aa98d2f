// The mirrored modules one by one. data/module_logs.tsv has what transformers 5.24's and PEFT
// 0.21's own classes do on the same sizes, recorded with the tool that made the timelines: hidden
// 64, intermediate 96, two sequences of 16 tokens, adapters of rank 8 on 64 -> 128.
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/linear.h"
#include "model/mlp.h"
#include "model/norm.h"
#include "model/rotary.h"
#include "support/csv.h"
#include "support/event_log.h"

namespace peakline::test {
namespace {

constexpr DType kHalf = DType::BFloat16;

std::string recorded(const std::string& module, const std::string& stage) {
  static const std::map<std::string, std::string> kLogs = [] {
    std::map<std::string, std::string> logs;
    std::ifstream file("tests/unit/data/module_logs.tsv");
    for (std::string line; std::getline(file, line);) {
      const std::vector<std::string> fields = split(line, '\t');
      if (fields.size() == 3) logs[fields[0] + "/" + fields[1]] = canonical(fields[2]);
    }
    return logs;
  }();
  const auto found = kLogs.find(module + "/" + stage);
  if (found == kLogs.end()) FAIL("no recorded " << module << ", " << stage);
  return found->second;
}

// Runs p * 1 -> module -> * 1 -> sum and compares forward, the end of the input, and backward.
struct Run {
  EventLog log;
  Engine& e = log.e;

  Tensor weight(const Shape& shape, DType dtype, bool trainable) {
    return trainable ? log.leaf("w", shape, dtype) : log.plain("w", shape, dtype);
  }

  template <class Module>
  void compare(const std::string& name, DType dtype, bool autocast, const Module& module) {
    INFO(name);
    Tensor p = log.leaf("p", Shape{2, 16, 64}, dtype);
    Tensor z;
    {
      AutocastScope scope(e, autocast ? std::optional(kHalf) : std::nullopt);
      log.skip();
      Tensor x = e.mul_scalar(p);
      Tensor y = module(x);
      CHECK(log.log() == recorded(name, "forward"));
      x.reset();
      CHECK(log.log() == recorded(name, "input"));
      z = e.mul_scalar(std::move(y));
    }
    Tensor loss = e.sum(std::move(z));
    CHECK(log.backward(loss) == recorded(name, "backward"));
  }
};

TEST_CASE("the norm", "[model][modules]") {
  struct Row {
    const char* name;
    DType dtype;
    bool trainable;
  };
  for (const Row& row : {Row{"norm", kHalf, true},
                         Row{"frozen norm", kHalf, false},
                         Row{"float32 norm", DType::Float32, true},
                         Row{"frozen float32 norm", DType::Float32, false}}) {
    Run run;
    Norm module;
    module.name = "norm";
    module.weight = run.weight(Shape{64}, row.dtype, row.trainable);
    run.compare(
        row.name, row.dtype, false, [&](const Tensor& x) { return norm(run.e, x, module, 0); });
  }
}

TEST_CASE("the gated block", "[model][modules]") {
  for (const bool trainable : {true, false}) {
    Run run;
    DecoderLayer layer;
    layer.gate_proj.weight = run.weight(Shape{96, 64}, kHalf, trainable);
    layer.up_proj.weight = run.weight(Shape{96, 64}, kHalf, trainable);
    layer.down_proj.weight = run.weight(Shape{64, 96}, kHalf, trainable);
    run.compare(trainable ? "mlp" : "frozen mlp", kHalf, false, [&](const Tensor& x) {
      return mlp(run.e, x, layer, {}, 0);
    });
  }
}

// An adapter of rank 8 on a frozen [128, 64] weight, plain or packed.
Linear adapted(Run& run, bool packed, DType adapter, bool dropout) {
  Linear linear;
  linear.name = "q_proj";
  if (packed) {
    linear.packed = std::make_unique<Packed4bit>();
    linear.packed->shape = Shape{128, 64};
    linear.packed->packed = run.log.plain("packed", Shape{4096, 1}, DType::UInt8);
    linear.packed->absmax = run.log.plain("absmax", Shape{128});
  } else {
    linear.weight = run.log.plain("w", Shape{128, 64}, kHalf);
  }
  linear.lora_a = run.log.leaf("a", Shape{8, 64}, adapter);
  linear.lora_b = run.log.leaf("b", Shape{128, 8}, adapter);
  linear.lora_dropout = dropout;
  return linear;
}

TEST_CASE("an adapter on a linear", "[model][modules]") {
  struct Row {
    const char* name;
    DType adapter;
    bool autocast;
    bool dropout;
  };
  for (const Row& row : {Row{"lora under autocast", DType::Float32, true, false},
                         Row{"lora", DType::Float32, false, false},
                         Row{"lora in bfloat16", kHalf, true, false},
                         Row{"lora with dropout", DType::Float32, true, true}}) {
    Run run;
    const Linear module = adapted(run, false, row.adapter, row.dropout);
    run.compare(row.name, kHalf, row.autocast, [&](const Tensor& x) {
      return linear(run.e, x, module, {}, 0);
    });
  }
}

TEST_CASE("an adapter on a 4-bit linear", "[model][modules]") {
  struct Row {
    const char* name;
    DType input;
    bool autocast;
  };
  for (const Row& row : {Row{"4-bit lora under autocast", kHalf, true},
                         Row{"4-bit lora under autocast, float32 input", DType::Float32, true},
                         Row{"4-bit lora", kHalf, false}}) {
    Run run;
    const Linear module = adapted(run, true, DType::Float32, false);
    run.compare(row.name, row.input, row.autocast, [&](const Tensor& x) {
      return linear(run.e, x, module, {}, 0);
    });
  }
}

TEST_CASE("rotary tables and the rotation of q and k", "[model][modules]") {
  EventLog run;
  Engine& e = run.e;
  CausalLm model;
  model.inv_freq = run.plain("inv_freq", Shape{8});
  Tensor positions = run.plain("positions", Shape{1, 16}, DType::Int64);
  run.skip();
  const Rotation rotation =
      rotary_embedding(e, model.inv_freq, RotaryKind::Halves, positions, kHalf);
  CHECK(run.log() == recorded("rotary", "tables"));
  Tensor q = run.leaf("q", Shape{2, 16, 4, 16}, kHalf);
  Tensor k = run.leaf("k", Shape{2, 16, 2, 16}, kHalf);
  run.skip();
  Tensor turned_q = e.mul_scalar(q);
  Tensor turned_k = e.mul_scalar(k);
  turned_q = e.transpose(std::move(turned_q), 1, 2);
  turned_k = e.transpose(std::move(turned_k), 1, 2);
  apply_rotary_pos_emb(e, turned_q, turned_k, rotation);
  CHECK(run.log() == recorded("rotary", "forward"));
  Tensor left = e.mul_scalar(std::move(turned_q));
  Tensor right = e.mul_scalar(std::move(turned_k));
  left = e.sum(std::move(left));
  right = e.sum(std::move(right));
  Tensor loss = e.add(std::move(left), std::move(right));
  CHECK(run.backward(loss) == recorded("rotary", "backward"));
}

}  // namespace
}  // namespace peakline::test
