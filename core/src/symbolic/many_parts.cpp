// split and cat of many parts. A node has few inputs and outputs, so that either is a chain of
// them; no link but the last makes a tensor.
#include <utility>

#include "symbolic/symbolic_engine.h"

namespace peakline::symbolic {

using Incoming = std::array<Tensor, kMaxOutputs>;

namespace {

constexpr std::int32_t kPart = 0;
constexpr std::int32_t kChain = 1;

// Hands on the gradient of its part with those of the later ones: as the base of one more handle,
// they live as long as it does.
void formula_split_link(SymbolicEngine& engine,
                        Node& node,
                        Incoming& incoming,
                        Gradients& outgoing) {
  static_cast<void>(node);
  const Tensor& gradient = incoming[kPart].defined() ? incoming[kPart] : incoming[kChain];
  if (!gradient.defined()) return;
  Tensor bundle = engine.unsafe_alias(gradient, gradient.sizes(), record_of(gradient).strides);
  record_of(bundle).base = incoming[kChain];
  outgoing[0] = std::move(bundle);
}

// split_backward
void formula_split_end(SymbolicEngine& engine,
                       Node& node,
                       Incoming& incoming,
                       Gradients& outgoing) {
  outgoing[0] = engine.fresh("cat", node.input_sizes(0), incoming[0].dtype());
}

Tensor slice_of(SymbolicEngine& engine, const Tensor& self, int dim) {
  Shape sizes = self.sizes();
  sizes[dim] = 1;
  return engine.alias(self, sizes, record_of(self).strides);
}

// cat_tensors_backward for one part: a slice, and the whole for the next link.
void formula_cat_link(SymbolicEngine& engine, Node& node, Incoming& incoming, Gradients& outgoing) {
  if (node.needs(kPart))
    outgoing[kPart] = slice_of(engine, incoming[0], static_cast<int>(node.number));
  if (node.num_inputs > kChain) outgoing[kChain] = incoming[0];
}

}  // namespace

std::vector<Tensor> SymbolicEngine::split_each(const Tensor& self, int dim) {
  if (halted_ || !self.defined()) return {};
  const auto count = static_cast<std::size_t>(self.size(dim));
  Node* link = start(formula_split_end, {&self});
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < count; ++i) {
    parts.push_back(slice_of(*this, self, dim));
    if (link == nullptr) continue;
    const OutputInfo info{parts[i].sizes(), parts[i].dtype()};
    link->outputs[i == 0 ? kPart : kChain] = info;
    Node* next = nodes_.make();
    next->formula = formula_split_link;
    next->sequence = next_sequence_++;
    next->num_inputs = 1;
    next->edges[0] = {link, i == 0 ? kPart : kChain};  // takes the reference
    link = next;
    if (i + 1 < count) ++link->references;
    attach(link, parts[i], kPart);
  }
  return parts;
}

Tensor SymbolicEngine::cat_all(std::span<const Tensor> parts, int dim) {
  if (halted_ || parts.empty() || !parts[0].defined()) return {};
  Shape sizes = parts[0].sizes();
  sizes[dim] = static_cast<std::int64_t>(parts.size());
  Tensor out = fresh("cat", sizes, parts[0].dtype());
  Node* chain = nullptr;
  // The link of the first part is made last and runs first.
  for (std::size_t i = parts.size(); i-- > 0;) {
    if (!grad_enabled_ || !parts[i].requires_grad()) continue;
    Node* link = start(formula_cat_link, {&parts[i]});
    link->number = dim;
    link->outputs[0] = {sizes, out.dtype()};
    if (chain != nullptr) {
      link->edges[kChain] = {chain, 0};
      link->num_inputs = 2;
    }
    chain = link;
  }
  return finish(chain, std::move(out));
}

}  // namespace peakline::symbolic
