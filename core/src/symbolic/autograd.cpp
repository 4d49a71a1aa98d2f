// The autograd graph: recording, saving, and the backward pass.
// Source: torch/csrc/autograd/engine.cpp, input_buffer.cpp, saved_variable.cpp,
// functions/accumulate_grad.h (torch 2.13).
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "symbolic/symbolic_engine.h"

namespace peakline::symbolic {

// ---------------------------------------------------------------- recording

Edge SymbolicEngine::edge_of(const Tensor& input) {
  if (!input.requires_grad()) return {};
  SymbolicTensor& record = record_of(input);
  if (record.grad_fn != nullptr) {
    ++record.grad_fn->references;
    return {record.grad_fn, record.output_number};
  }
  if (record.accumulator != nullptr) {
    ++record.accumulator->references;
    return {record.accumulator, 0};
  }
  Node* node = nodes_.make();
  node->sequence = kAccumulateSequence;
  node->formula = nullptr;
  node->variable = input;
  node->outputs[0] = {record.sizes, record.dtype};
  record.accumulator = node;
  return {node, 0};
}

Node* SymbolicEngine::start(Formula formula, std::initializer_list<const Tensor*> inputs) {
  if (!grad_enabled_) return nullptr;
  bool any = false;
  for (const Tensor* input : inputs) any = any || input->requires_grad();
  if (!any) return nullptr;
  Node* node = nodes_.make();
  node->formula = formula;
  node->sequence = next_sequence_++;
  for (const Tensor* input : inputs) {
    node->edges[static_cast<std::size_t>(node->num_inputs++)] = edge_of(*input);
  }
  return node;
}

bool SymbolicEngine::save_tensor(Node* node, Tensor tensor) {
  SavedTensor& slot = node->saved[static_cast<std::size_t>(node->num_saved++)];
  if (frame_ != nullptr && !frame_->recomputing) {
    slot.frame = frame_;
    ++frame_->references;
    slot.index = frame_->num_saved++;
    return true;
  }
  if (frame_ != nullptr) {
    const SymbolicTensor& record = record_of(tensor);
    // What the checkpoint's hook keeps is detached: the storage without the base and its graph.
    const std::int32_t index = frame_->num_recomputed++;
    if (frame_->is_asked_for(index)) {
      Tensor kept = unsafe_alias(tensor, record.sizes, record.strides);
      frame_->again[static_cast<std::size_t>(index)] = std::move(kept);
    }
    halted_ = frame_->num_recomputed == frame_->num_saved;  // _StopRecomputationError
  }
  slot.tensor = std::move(tensor).release();
  slot.index = SavedTensor::kNotHooked;
  return !halted_;
}

bool SymbolicEngine::save(Node* node, const Tensor& input) {
  return node == nullptr || save_tensor(node, input);
}

bool SymbolicEngine::save_output(Node* node, const Tensor& output) {
  if (node == nullptr) return true;
  // A result is saved without its grad function, else the node would own itself.
  Tensor detached = unsafe_alias(output, record_of(output).sizes, record_of(output).strides);
  record_of(detached).base = record_of(output).base;
  return save_tensor(node, std::move(detached));
}

Tensor SymbolicEngine::abandon(Node* node) {
  if (node != nullptr) release(node);
  return {};
}

void SymbolicEngine::attach(Node* node, const Tensor& output, std::int32_t number) {
  SymbolicTensor& record = record_of(output);
  record.requires_grad = true;
  record.grad_fn = node;
  record.output_number = number;
  node->outputs[static_cast<std::size_t>(number)] = {record.sizes, record.dtype};
}

Tensor SymbolicEngine::finish(Node* node, Tensor output) {
  if (halted_) return abandon(node);
  if (node != nullptr) attach(node, output, 0);
  return output;
}

void SymbolicEngine::release(Node* node) {
  if (--node->references > 0) return;
  dying_.push_back(node);
  if (dropping_) return;
  dropping_ = true;
  while (!dying_.empty()) {
    Node* dead = dying_.back();
    dying_.pop_back();
    if (dead->variable.defined()) record_of(dead->variable).accumulator = nullptr;
    if (dead->frame != nullptr) Frame::release(dead->frame);
    for (int i = 0; i < dead->num_inputs; ++i) {
      Node* next = dead->edges[static_cast<std::size_t>(i)].node;
      if (next != nullptr && --next->references == 0) dying_.push_back(next);
    }
    nodes_.drop(dead);
  }
  dropping_ = false;
}

// ---------------------------------------------------------------- backward

namespace {

bool solely_owned(const Tensor& tensor) {
  const SymbolicTensor& record = record_of(tensor);
  return record.references == 1 && record.storage->references == 1 &&
         is_non_overlapping_and_dense(record.sizes, record.strides);
}

bool obeys_layout(const SymbolicTensor& gradient, const SymbolicTensor& variable) {
  if (is_non_overlapping_and_dense(variable.sizes, variable.strides)) {
    for (int i = 0; i < variable.sizes.rank(); ++i) {
      if (variable.sizes[i] != 1 && gradient.strides[i] != variable.strides[i]) return false;
    }
    return true;
  }
  return is_contiguous(gradient.sizes, gradient.strides);
}

}  // namespace

// One run of the engine over the graph of its roots (torch::autograd::GraphTask).
class BackwardPass {
 public:
  explicit BackwardPass(SymbolicEngine& engine) : engine_(engine) {}

  void run(std::span<const Tensor> roots, std::span<Tensor> gradients) {
    entries_.reserve(engine_.largest_graph_);
    for (const Tensor& root : roots) add_edge_to(record_of(root).grad_fn);
    discover();
    engine_.largest_graph_ = std::max(engine_.largest_graph_, entries_.size());
    for (std::size_t i = 0; i < roots.size(); ++i) {
      const SymbolicTensor& root = record_of(roots[i]);
      deliver({root.grad_fn, root.output_number}, gradients[i]);
    }
    while (!ready_.empty()) {
      const std::int32_t entry = pop();
      evaluate(entry);
    }
    for (Entry& entry : entries_) entry.node->task_entry = entry.outer_entry;
    for (Entry& entry : entries_) engine_.release(entry.node);
  }

 private:
  struct Entry {
    Node* node = nullptr;  // owned for the time of the pass
    std::int32_t dependencies = 0;
    std::int32_t outer_entry = -1;  // of a pass this one is nested in
    std::array<Tensor, kMaxOutputs> incoming;
  };

  void discover() {
    for (std::size_t at = 0; at < entries_.size(); ++at) {
      Node* node = entries_[at].node;
      for (int i = 0; i < node->num_inputs; ++i)
        add_edge_to(node->edges[static_cast<std::size_t>(i)].node);
    }
  }
  void add_edge_to(Node* node) {
    if (node == nullptr) return;
    const std::int32_t entry = known(node) ? node->task_entry : add(node);
    ++entries_[static_cast<std::size_t>(entry)].dependencies;
  }
  [[nodiscard]] bool known(const Node* node) const {
    const auto entry = static_cast<std::size_t>(node->task_entry);
    return node->task_entry >= 0 && entry < entries_.size() && entries_[entry].node == node;
  }
  std::int32_t add(Node* node) {
    const auto index = static_cast<std::int32_t>(entries_.size());
    Entry& entry = entries_.emplace_back();
    entry.node = node;
    entry.outer_entry = node->task_entry;
    ++node->references;
    node->task_entry = index;
    return index;
  }

  // Highest sequence number first.
  [[nodiscard]] bool later(std::int32_t a, std::int32_t b) const {
    return entries_[static_cast<std::size_t>(a)].node->sequence <
           entries_[static_cast<std::size_t>(b)].node->sequence;
  }
  void push(std::int32_t entry) {
    ready_.push_back(entry);
    std::push_heap(ready_.begin(), ready_.end(), [&](auto a, auto b) { return later(a, b); });
  }
  std::int32_t pop() {
    std::pop_heap(ready_.begin(), ready_.end(), [&](auto a, auto b) { return later(a, b); });
    const std::int32_t entry = ready_.back();
    ready_.pop_back();
    return entry;
  }

  void evaluate(std::int32_t index) {
    Node& node = *entries_[static_cast<std::size_t>(index)].node;
    std::array<Tensor, kMaxOutputs> incoming =
        std::move(entries_[static_cast<std::size_t>(index)].incoming);
    if (node.variable.defined()) {
      engine_.accumulate_grad(node, std::move(incoming[0]));
      return;
    }
    Gradients outgoing;
    {
      std::array<Tensor, kMaxSaved> unpacked;
      node.unpacked = unpacked.data();
      engine_.unpack(node);
      node.formula(engine_, node, incoming, outgoing);
    }
    validate(node, outgoing);
    for (Tensor& gradient : incoming) gradient.reset();
    node.drop_saved();
    for (int i = 0; i < node.num_inputs; ++i)
      deliver(node.edges[static_cast<std::size_t>(i)], outgoing[static_cast<std::size_t>(i)]);
  }

  // engine.cpp, validate_outputs: shape first, then dtype.
  void validate(const Node& node, Gradients& outgoing) {
    for (int i = 0; i < node.num_inputs; ++i) {
      Tensor& gradient = outgoing[static_cast<std::size_t>(i)];
      const Edge& edge = node.edges[static_cast<std::size_t>(i)];
      if (!gradient.defined() || edge.node == nullptr) continue;
      const OutputInfo& expected = edge.node->outputs[static_cast<std::size_t>(edge.input_number)];
      if (!(gradient.sizes() == expected.sizes))
        gradient = engine_.sum_to(std::move(gradient), expected.sizes);
      if (gradient.dtype() != expected.dtype)
        gradient = engine_.to(std::move(gradient), expected.dtype);
    }
  }

  // What is added to an earlier gradient instead of taken over lives until all are delivered.
  void deliver(const Edge& edge, Tensor& gradient) {
    if (edge.node == nullptr) return;
    Entry& entry = entries_[static_cast<std::size_t>(edge.node->task_entry)];
    if (gradient.defined()) {
      Tensor& buffer = entry.incoming[static_cast<std::size_t>(edge.input_number)];
      if (!buffer.defined()) {
        buffer = std::move(gradient);
      } else if (!solely_owned(buffer)) {
        Tensor sum = engine_.pointwise2("add.Tensor", buffer, gradient);
        buffer = std::move(sum);
      }
    }
    if (--entry.dependencies == 0) push(edge.node->task_entry);
  }

  SymbolicEngine& engine_;
  std::vector<Entry> entries_;
  std::vector<std::int32_t> ready_;
};

void SymbolicEngine::accumulate_grad(Node& node, Tensor gradient) {
  if (!gradient.defined()) return;
  SymbolicTensor& variable = record_of(node.variable);
  if (variable.grad.defined()) return;  // added in place
  SymbolicTensor& fresh_gradient = record_of(gradient);
  if (fresh_gradient.references == 1 && obeys_layout(fresh_gradient, variable)) {
    variable.grad = alias(gradient, fresh_gradient.sizes, fresh_gradient.strides);
    if (record_of(variable.grad).base.record() == gradient.record())
      record_of(variable.grad).base.reset();
  } else {
    // grad_layout_contract.h, clone_obey_contract
    const bool dense = is_non_overlapping_and_dense(variable.sizes, variable.strides);
    variable.grad =
        dense ? fresh("new_empty_strided", variable.sizes, variable.strides, gradient.dtype())
              : fresh("clone", variable.sizes, gradient.dtype());
  }
  if (events_.tensors[static_cast<std::size_t>(variable.storage->event_tensor)].role ==
      Role::WeightTrainable) {
    mark(variable.grad, Role::Gradient);
  }
}

void SymbolicEngine::run_backward(std::span<const Tensor> roots, std::span<Tensor> gradients) {
  BackwardPass(*this).run(roots, gradients);
}

void SymbolicEngine::backward(Tensor loss) {
  if (halted_ || !loss.requires_grad()) return;
  const bool outer_grad = set_grad_enabled(false);
  Module outer_module = enter_module({});
  const Tensor seed = fresh("ones_like", loss.sizes(), loss.dtype());
  Tensor gradient = seed;
  run_backward({&loss, 1}, {&gradient, 1});
  enter_module(outer_module);
  set_grad_enabled(outer_grad);
}

}  // namespace peakline::symbolic
