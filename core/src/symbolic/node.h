// Nodes of the autograd graph. A node is a formula, what it saved, and where its gradients go.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "peakline/engine.h"
#include "symbolic/tensor.h"

namespace peakline::symbolic {

class SymbolicEngine;
struct Node;

// One checkpointed call: what it takes to run it again, and what the second run saved. Lives as
// long as a node that saved something under it.
struct Frame {
  std::int32_t references = 1;
  Engine::PairFunction function;
  Tensor input;
  std::optional<DType> autocast;
  Module module;
  std::int32_t num_saved = 0;
  std::int32_t num_recomputed = 0;
  bool recomputing = false;
  bool recomputed = false;
  std::vector<Tensor> again;  // by index of saving
  // What was saved by nodes that died before: nobody asks for it, so nobody keeps it again.
  std::vector<std::int32_t> forgotten;

  [[nodiscard]] bool is_asked_for(std::int32_t index) const {
    return !std::binary_search(forgotten.begin(), forgotten.end(), index);
  }
  static void release(Frame* frame) {
    if (--frame->references == 0) delete frame;
  }
};

// Nodes are made by the ten thousand: their slots are plain, counted by hand, and only the used
// ones touched.
struct SavedTensor {
  union {
    TensorRecord* tensor;  // owned
    Frame* frame;          // owned; where a checkpoint's hooks were active: its `index`-th tensor
  };
  std::int32_t index;

  static constexpr std::int32_t kNotHooked = -1;
  [[nodiscard]] bool hooked() const { return index != kNotHooked; }
};

inline constexpr int kMaxInputs = 3;
inline constexpr int kMaxSaved = 8;
inline constexpr int kMaxOutputs = 3;

struct Edge {
  Node* node;  // owned; null where the input needs no gradient
  std::int32_t input_number;
};

// A node's forward output as the engine's check of gradients sees it.
struct OutputInfo {
  Shape sizes;
  DType dtype = DType::Float32;
};

using Gradients = std::array<Tensor, kMaxInputs>;
// Computes the gradients of the node's inputs from those of its outputs; only where
// `node.needs(i)`.
using Formula = void (*)(SymbolicEngine& engine,
                         Node& node,
                         std::array<Tensor, kMaxOutputs>& incoming,
                         Gradients& outgoing);

inline constexpr std::uint64_t kAccumulateSequence = std::numeric_limits<std::uint64_t>::max();

struct Node {
  // The arrays stay uninitialised beyond their counts.
  Node() {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() { drop_saved(); }

  Formula formula = nullptr;
  std::uint64_t sequence = 0;
  std::int32_t references = 1;
  std::int32_t task_entry = -1;  // while a backward pass runs
  std::int8_t num_inputs = 0;
  std::int8_t num_saved = 0;
  std::array<Edge, kMaxInputs> edges;
  std::array<SavedTensor, kMaxSaved> saved;
  std::array<OutputInfo, kMaxOutputs> outputs;
  Tensor* unpacked = nullptr;  // the saved tensors, while the formula runs
  // Numbers a formula needs.
  DType dtype = DType::Float32;
  std::int64_t number = 0;
  std::int64_t number2 = 0;
  Frame* frame = nullptr;              // owned; reentrant checkpoint only
  const Packed4bit* packed = nullptr;  // 4-bit linear only: the model outlives the step
  Tensor variable;                     // AccumulateGrad only
  // What a Python function keeps as an attribute of its own: no hook sees it, and it stays until
  // the node goes.
  Tensor held;

  [[nodiscard]] bool needs(int input) const {
    return edges[static_cast<std::size_t>(input)].node != nullptr;
  }
  // Where the input needs a gradient.
  [[nodiscard]] const Shape& input_sizes(int input) const {
    const Edge& edge = edges[static_cast<std::size_t>(input)];
    return edge.node->outputs[static_cast<std::size_t>(edge.input_number)].sizes;
  }
  void drop_saved() {
    for (int i = 0; i < num_saved; ++i) {
      const SavedTensor& slot = saved[static_cast<std::size_t>(i)];
      if (slot.hooked()) {
        if (!slot.frame->recomputed) slot.frame->forgotten.push_back(slot.index);
        Frame::release(slot.frame);
      } else {
        Tensor::adopt(slot.tensor).reset();
      }
    }
    num_saved = 0;
  }
};

}  // namespace peakline::symbolic
