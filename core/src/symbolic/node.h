// Nodes of the autograd graph. A node is a formula, what it saved, and where its gradients go.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "peakline/engine.h"
#include "symbolic/tensor.h"

namespace peakline::symbolic {

class SymbolicEngine;
struct Node;

// One checkpointed call: what it takes to run it again, and what the second run saved.
struct Frame {
  Engine::Function function;
  Tensor input;
  std::optional<DType> autocast;
  Module module;
  std::int32_t num_saved = 0;
  std::int32_t num_recomputed = 0;
  bool recomputing = false;
  bool recomputed = false;
  std::vector<Tensor> again;  // by index of saving
};

struct SavedTensor {
  Tensor tensor;
  std::shared_ptr<Frame> frame;  // set where a checkpoint's hooks were active: then `tensor` is empty
  std::int32_t index = -1;
};

inline constexpr int kMaxInputs = 5;
inline constexpr int kMaxSaved = 8;
inline constexpr int kMaxOutputs = 2;

struct Edge {
  Node* node = nullptr;  // owned
  std::int32_t input_number = 0;
};

// A node's forward output as the engine's check of gradients sees it.
struct OutputInfo {
  Shape sizes;
  DType dtype = DType::Float32;
};

using Gradients = std::array<Tensor, kMaxInputs>;
// Computes the gradients of the node's inputs from those of its outputs; only where `node.needs(i)`.
using Formula = void (*)(SymbolicEngine& engine, Node& node, std::array<Tensor, kMaxOutputs>& incoming,
                         Gradients& outgoing);

inline constexpr std::uint64_t kAccumulateSequence = std::numeric_limits<std::uint64_t>::max();

struct Node {
  Formula formula = nullptr;
  std::uint64_t sequence = 0;
  std::int32_t references = 1;
  std::int8_t num_inputs = 0;
  std::int8_t num_saved = 0;
  std::int8_t num_outputs = 1;
  bool loss = false;                     // made by a loss function, for the phase of the peak
  std::array<Edge, kMaxInputs> edges{};
  std::array<SavedTensor, kMaxSaved> saved{};
  std::array<Tensor, kMaxSaved> unpacked{};  // while the formula runs
  std::array<OutputInfo, kMaxOutputs> outputs{};
  // Numbers a formula needs.
  Shape shape;
  Shape strides;
  DType dtype = DType::Float32;
  std::int64_t number = 0;
  std::int64_t number2 = 0;
  std::shared_ptr<Frame> frame;          // reentrant checkpoint only
  const Packed4bit* packed = nullptr;    // 4-bit linear only: the model outlives the step
  Tensor variable;                       // AccumulateGrad only
  // While a backward pass runs.
  std::int32_t task_entry = -1;

  [[nodiscard]] bool needs(int input) const { return edges[static_cast<std::size_t>(input)].node != nullptr; }
};

}  // namespace peakline::symbolic
