#include "report/categories.h"

#include <algorithm>
#include <array>
#include <string>

#include "peakline/rules.h"
#include "peakline/small_sort.h"

namespace peakline {

std::string_view name_of(Category category) {
  constexpr std::array<std::string_view, kNumCategories> kNames = {"weights_frozen",
                                                                   "weights_trainable",
                                                                   "quant",
                                                                   "buffers",
                                                                   "gradients",
                                                                   "optimizer",
                                                                   "batch",
                                                                   "activations",
                                                                   "logits",
                                                                   "autocast_weight_casts",
                                                                   "recomputed",
                                                                   "temporaries",
                                                                   "kernel_temporaries",
                                                                   "other_static"};
  return kNames[static_cast<std::size_t>(category)];
}

namespace {

const EventTensor& tensor_at(const Events& events, std::int32_t event) {
  const std::int32_t id = events.events[static_cast<std::size_t>(event)];
  return events.tensors[static_cast<std::size_t>(id >= 0 ? id : -id - 1)];
}

bool same_shape(const EventTensor& a, const EventTensor& b) {
  return a.rank == b.rank && a.dims == b.dims;
}

bool is_loss_backward(std::string_view op) {
  return op.starts_with("nll_loss") || op.starts_with("_log_softmax_backward") ||
         op.starts_with("cross_entropy");
}

bool made_forward(const EventTensor& tensor) {
  return tensor.phase == Phase::Forward || tensor.phase == Phase::Loss;
}

std::string place_of(const EventTensor& tensor) {
  const std::string_view name = tensor.module.name;
  std::string place;
  if (tensor.module.layer >= 0) place = "layers.*";
  if (!name.empty()) place += (place.empty() ? "" : ".") + std::string(name);
  if (place.empty()) return tensor.op;
  // A parameter is known by its place; everything else by what made it there.
  const bool parameter = tensor.role == Role::WeightFrozen || tensor.role == Role::WeightTrainable;
  return parameter ? place : place + ": " + tensor.op;
}

// Mostly the same literal.
bool same_word(const char* a, const char* b) {
  return a == b || std::string_view(a) == b;
}

// Alike: one line of the list, with a count.
bool alike(const EventTensor& a, const EventTensor& b) {
  const bool same_layers = (a.module.layer >= 0) == (b.module.layer >= 0);
  return same_layers && a.dtype == b.dtype && same_shape(a, b) && same_word(a.op, b.op) &&
         same_word(a.module.name, b.module.name);
}

struct Group {
  const EventTensor* sample = nullptr;
  Bytes bytes;
  std::int64_t count = 0;
};

void add_to_groups(std::vector<Group>& groups, const EventTensor& tensor) {
  // Layers repeat in order, so the match is near the end.
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    if (!alike(*group->sample, tensor)) continue;
    group->bytes += tensor.bytes;
    ++group->count;
    return;
  }
  groups.push_back({&tensor, tensor.bytes, 1});
}

PeakTensor shown(const Group& group) {
  PeakTensor out;
  out.name = place_of(*group.sample);
  for (std::int8_t i = 0; i < group.sample->rank; ++i) {
    out.shape.push_back(group.sample->dims[static_cast<std::size_t>(i)]);
  }
  out.dtype = group.sample->dtype;
  out.bytes = group.bytes;
  out.count = group.count;
  const EventTensor& sample = *group.sample;
  const Rule* rule = rule_of(sample);
  if (rule != nullptr) out.rule = rule->id;
  return out;
}

}  // namespace

PeakView::PeakView(const Events& events,
                   StepRange step,
                   std::int32_t event,
                   std::int64_t vocab_size)
    : events_(events), event_(event), vocab_size_(vocab_size), trigger_(tensor_at(events, event)) {
  backward_begin_ = step.end;
  for (const PhaseMark& mark : events.phases) {
    if (mark.phase == Phase::Backward && mark.event > event_) {
      backward_begin_ = mark.event;
      break;
    }
  }
  for (const EventTensor& tensor : events.tensors) {
    if (tensor.phase != Phase::Load) break;
    const bool parameter =
        tensor.role == Role::WeightFrozen || tensor.role == Role::WeightTrainable;
    if (parameter && !has_parameter_shape(tensor)) parameter_shapes_.push_back(&tensor);
  }
}

bool PeakView::has_parameter_shape(const EventTensor& tensor) const {
  return std::any_of(parameter_shapes_.begin(),
                     parameter_shapes_.end(),
                     [&](const EventTensor* other) { return same_shape(*other, tensor); });
}

bool PeakView::is_vocabulary_wide(const EventTensor& tensor) const {
  return tensor.rank >= 2 && tensor.dims[static_cast<std::size_t>(tensor.rank - 1)] == vocab_size_;
}

Category PeakView::category_of(const EventTensor& tensor) const {
  switch (tensor.role) {
    case Role::WeightFrozen:
      return Category::WeightsFrozen;
    case Role::WeightTrainable:
      return Category::WeightsTrainable;
    case Role::Quant:
      return Category::Quant;
    case Role::Buffer:
      return Category::Buffers;
    case Role::Gradient:
      return Category::Gradients;
    case Role::Optimizer:
      return Category::Optimizer;
    case Role::Batch:
      return Category::Batch;
    case Role::Unknown:
      break;
  }
  if (tensor.kernel_temporary) return Category::KernelTemporaries;
  if (tensor.phase == Phase::Load) return Category::OtherStatic;
  if (made_forward(tensor) && std::string_view(tensor.op) == "_to_copy" &&
      has_parameter_shape(tensor)) {
    return Category::AutocastWeightCasts;
  }
  if (is_vocabulary_wide(tensor)) return Category::Logits;
  if (made_forward(tensor)) {
    const bool moment_in_forward = made_forward(trigger_);
    const bool survives = tensor.died < 0 || tensor.died > backward_begin_;
    return !moment_in_forward || survives ? Category::Activations : Category::Temporaries;
  }
  if (tensor.phase == Phase::Backward && tensor.grad_mode) return Category::Recomputed;
  return Category::Temporaries;
}

std::vector<PeakCategory> PeakView::categories() const {
  std::array<std::vector<Group>, kNumCategories> groups;
  std::array<Bytes, kNumCategories> sums;
  for (const EventTensor& tensor : events_.tensors) {
    const bool alive = tensor.born <= event_ && (tensor.died < 0 || tensor.died > event_);
    if (!alive || tensor.bytes == Bytes(0)) continue;
    const auto category = static_cast<std::size_t>(category_of(tensor));
    sums[category] += tensor.bytes;
    add_to_groups(groups[category], tensor);
  }
  std::vector<PeakCategory> out;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (sums[i] == Bytes(0)) continue;
    PeakCategory row{static_cast<Category>(i), sums[i], {}};
    small_sort(groups[i].begin(), groups[i].end(), [](const Group& a, const Group& b) {
      return a.bytes > b.bytes;
    });
    for (const Group& group : groups[i]) {
      if (row.tensors.size() == kMaxPeakTensors) break;
      row.tensors.push_back(shown(group));
    }
    out.push_back(std::move(row));
  }
  small_sort(out.begin(), out.end(), [](const PeakCategory& a, const PeakCategory& b) {
    return a.bytes > b.bytes;
  });
  return out;
}

std::string_view PeakView::phase() const {
  const bool backward = trigger_.phase == Phase::Backward || trigger_.phase == Phase::AfterBackward;
  if (!backward) return shown_phase(trigger_.phase);
  if (is_loss_backward(trigger_.op) || is_vocabulary_wide(trigger_)) return "backward:loss";
  return trigger_.grad_mode ? "backward:recompute" : "backward:layers";
}

}  // namespace peakline
