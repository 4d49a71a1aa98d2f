#include "timeline/timeline.h"

#include <utility>

#include "peakline/rules.h"
#include "text/tame.h"

namespace peakline::timeline {

namespace {

std::string dotted(const Module& module) {
  const std::string name = module.name;
  if (module.layer < 0) return name;
  const std::string layer = "model.layers." + std::to_string(module.layer);
  return name.empty() ? layer : layer + "." + name;
}

}  // namespace

Timeline from_events(const Events& events) {
  Timeline timeline;
  timeline.tensors.reserve(events.tensors.size());
  for (const EventTensor& made : events.tensors) {
    TimelineTensor tensor;
    tensor.bytes = made.bytes;
    tensor.shape.assign(made.dims.begin(), made.dims.begin() + made.rank);
    tensor.dtype = name_of(made.dtype);
    tensor.op = made.op;
    tensor.phase = name_of(made.phase);
    tensor.module = dotted(made.module);
    tensor.kernel_temporary = made.kernel_temporary;
    const Rule* rule = rule_of(made);
    if (rule != nullptr) tensor.rule = rule->id;
    timeline.tensors.push_back(std::move(tensor));
  }
  timeline.events.assign(events.events.begin(), events.events.end());
  for (const PhaseMark& mark : events.phases)
    timeline.phases.push_back({mark.event, std::string(name_of(mark.phase))});
  return timeline;
}

std::string describe(const TimelineTensor& tensor) {
  std::string text = std::to_string(tensor.bytes.count()) + " B [";
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(tensor.shape[i]);
  }
  text += "] " + tensor.dtype + " " + tensor.op;
  if (!tensor.module.empty()) text += " in " + tensor.module;
  text += " (" + tensor.phase + ")";
  if (!tensor.rule.empty()) text += " by " + tensor.rule;
  return tame(text);  // a timeline may be anyone's file
}

}  // namespace peakline::timeline
