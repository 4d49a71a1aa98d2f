// A Report as JSON, schema 1.
#include <string>
#include <utility>

#include "peakline/json.h"
#include "peakline/report.h"

namespace peakline {

namespace {

using json::Array;
using json::Object;
using json::Value;

Value text(std::string_view s) {
  return {std::string(s)};
}
Value count(std::int64_t n) {
  return {n};
}
Value bytes(Bytes b) {
  return {b.count()};
}
Value null() {
  return {json::Null{}};
}
Value bytes_or_null(const std::optional<Bytes>& b) {
  return b ? bytes(*b) : null();
}

Value texts(const std::vector<std::string>& lines) {
  Array out;
  for (const std::string& line : lines) out.push_back(text(line));
  return {std::move(out)};
}

Value model_json(const Report& report) {
  const Elements all = report.num_parameters;
  const Elements trained = report.num_trainable_parameters;
  const bool counted = all > Elements(0);
  // Nothing is trained in inference, so that none is a count there.
  const bool counted_trained =
      counted && (trained > Elements(0) || report.setup.method == Method::Inference);
  Object out;
  out.emplace_back("num_parameters", counted ? count(all.count()) : null());
  out.emplace_back("num_trainable_parameters", counted_trained ? count(trained.count()) : null());
  out.emplace_back("num_layers", count(report.architecture.num_layers));
  out.emplace_back("model_type", text(report.architecture.model_type));
  out.emplace_back("source", text("config"));
  out.emplace_back("alternative", null());
  if (report.alternative) {
    Object other;
    other.emplace_back("num_parameters", count(report.alternative->num_parameters.count()));
    other.emplace_back("sentence", text(report.alternative->sentence));
    out.back().second = Value{std::move(other)};
  }
  return {std::move(out)};
}

Value tensor_json(const PeakTensor& tensor) {
  Array shape;
  for (const std::int64_t dim : tensor.shape) shape.push_back(count(dim));
  Object out;
  out.emplace_back("name", text(tensor.name));
  out.emplace_back("shape", Value{std::move(shape)});
  out.emplace_back("dtype", text(name_of(tensor.dtype)));
  out.emplace_back("bytes", bytes(tensor.bytes));
  out.emplace_back("count", count(tensor.count));
  if (!tensor.rule.empty()) out.emplace_back("rule", text(tensor.rule));
  return {std::move(out)};
}

Value category_json(const PeakCategory& category) {
  Array tensors;
  for (const PeakTensor& tensor : category.tensors) tensors.push_back(tensor_json(tensor));
  Object out;
  out.emplace_back("category", text(peakline::name_of(category.category)));
  out.emplace_back("bytes", bytes(category.bytes));
  out.emplace_back("tensors", Value{std::move(tensors)});
  return {std::move(out)};
}

Value interval_json(const Interval& interval) {
  Object out;
  out.emplace_back("low_bytes", bytes(interval.low));
  out.emplace_back("high_bytes", bytes(interval.high));
  out.emplace_back("coverage", Value{kIntervalCoverage});
  out.emplace_back("why", text(interval.why));
  return {std::move(out)};
}

Value phases_json(const Memory& memory) {
  Array out;
  for (const PhaseMemory& phase : memory.phases) {
    Object row;
    row.emplace_back("name", text(phase.name));
    row.emplace_back("tensor_peak_bytes", bytes(phase.tensor_peak));
    row.emplace_back("end_bytes", bytes(phase.end));
    out.push_back({std::move(row)});
  }
  return {std::move(out)};
}

Value timeline_json(const Memory& memory) {
  Array out;
  for (const TimelinePoint& point : memory.timeline) {
    Object row;
    row.emplace_back("t", count(point.t));
    row.emplace_back("tensor_bytes", bytes(point.tensors));
    row.emplace_back("reserved_bytes", bytes(point.reserved));
    row.emplace_back("phase", text(point.phase));
    out.push_back({std::move(row)});
  }
  return {std::move(out)};
}

Value memory_json(const Memory& memory) {
  Array at_peak;
  for (const PeakCategory& category : memory.at_peak) at_peak.push_back(category_json(category));
  Object out;
  out.emplace_back("tensor_peak_bytes", bytes(memory.tensor_peak));
  out.emplace_back("allocated_peak_bytes", bytes(memory.allocated_peak));
  out.emplace_back("reserved_peak_bytes", bytes(memory.reserved_peak));
  out.emplace_back("process_peak_bytes", bytes(memory.process_peak));
  out.emplace_back("context_bytes", bytes(memory.context));
  out.emplace_back("workspace_bytes", bytes(memory.workspace));
  out.emplace_back("interval", interval_json(memory.interval));
  out.emplace_back("static_bytes", bytes(memory.static_bytes));
  out.emplace_back("peak_phase", text(memory.peak_phase));
  out.emplace_back("peak_op", text(memory.peak_op));
  out.emplace_back("phases", phases_json(memory));
  out.emplace_back("at_peak", Value{std::move(at_peak)});
  out.emplace_back("timeline", timeline_json(memory));
  Object saving;
  saving.emplace_back("expandable_segments_bytes", bytes_or_null(memory.expandable_saving));
  saving.emplace_back("sentence", memory.expandable_saving ? text(memory.saving_sentence) : null());
  out.emplace_back("allocator_saving", Value{std::move(saving)});
  out.emplace_back("host_bytes", bytes_or_null(memory.host));
  out.emplace_back("pinned_bytes", bytes_or_null(memory.pinned));
  out.emplace_back("disk_bytes", bytes_or_null(memory.disk));
  return {std::move(out)};
}

Value limits_json(const std::vector<Limit>& limits) {
  Array out;
  for (const Limit& limit : limits) {
    Object row;
    row.emplace_back("resource", text(peakline::name_of(limit.resource)));
    row.emplace_back("needed_bytes", bytes(limit.needed));
    row.emplace_back("have_bytes", bytes_or_null(limit.have));
    row.emplace_back("answer", limit.answer ? text(peakline::name_of(*limit.answer)) : null());
    row.emplace_back("sentence", text(limit.sentence));
    out.push_back({std::move(row)});
  }
  return {std::move(out)};
}

Value streaming_json(const std::optional<Streaming>& streaming) {
  if (!streaming) return null();
  Object out;
  out.emplace_back("gpu_bytes", bytes(streaming->gpu));
  out.emplace_back("host_bytes", bytes(streaming->host));
  out.emplace_back("pinned_bytes", bytes(streaming->pinned));
  out.emplace_back("disk_bytes", bytes(streaming->disk));
  out.emplace_back("sentence", text(streaming->sentence));
  return {std::move(out)};
}

Value time_json() {
  Object out;
  for (const std::string_view key : {"seconds_per_step", "low", "high", "kind"})
    out.emplace_back(key, null());
  out.emplace_back("sentence", text("Not measured: no speed is printed that nobody timed."));
  return {std::move(out)};
}

Value verdict_json(const Report& report) {
  const bool judged = report.verdict.answer != Answer::NotModelled;
  Object out;
  out.emplace_back("answer", text(peakline::name_of(report.verdict.answer)));
  out.emplace_back("risk", judged ? text(peakline::name_of(report.verdict.risk)) : null());
  out.emplace_back("usable_bytes", bytes(report.verdict.usable));
  out.emplace_back("margin_bytes", judged ? bytes(report.verdict.margin) : null());
  out.emplace_back("sentence", text(report.verdict.sentence));
  out.emplace_back("limits", limits_json(report.verdict.limits));
  out.emplace_back("streaming", streaming_json(report.verdict.streaming));
  return {std::move(out)};
}

Value changes_json(const Report& report) {
  Array out;
  for (const Change& change : report.changes) {
    Object row;
    row.emplace_back("patch", change.patch);
    row.emplace_back("saves_bytes", bytes(change.saves));
    row.emplace_back("cost", text(peakline::name_of(change.cost)));
    row.emplace_back("answer", text(peakline::name_of(change.answer)));
    row.emplace_back("sentence", text(change.sentence));
    out.push_back({std::move(row)});
  }
  return {std::move(out)};
}

Value provenance_json(const Report& report) {
  Array out;
  for (const Provenance& entry : report.provenance) {
    Object row;
    row.emplace_back("value", text(entry.value));
    row.emplace_back("kind", text(entry.kind));
    row.emplace_back("sentence", text(entry.sentence));
    out.push_back({std::move(row)});
  }
  return {std::move(out)};
}

std::string_view name_of(Origin origin) {
  switch (origin) {
    case Origin::Given:
      return "given";
    case Origin::TrainerDefault:
      return "trainer_default";
    case Origin::Card:
      return "card";
    case Origin::Derived:
      return "derived";
  }
  return "?";
}

// Key of the resolved setup -> where its value comes from.
Value origins_json(const Report& report) {
  Object out;
  for (const ResolvedValue& value : report.setup.origins)
    out.emplace_back(value.key, text(name_of(value.origin)));
  return {std::move(out)};
}

}  // namespace

std::string_view name_of(Answer answer) {
  switch (answer) {
    case Answer::Fits:
      return "fits";
    case Answer::TooClose:
      return "too_close";
    case Answer::DoesNotFit:
      return "does_not_fit";
    case Answer::NotModelled:
      return "not_modelled";
  }
  return "?";
}

std::string_view name_of(Resource resource) {
  switch (resource) {
    case Resource::Gpu:
      return "gpu";
    case Resource::HostRam:
      return "host_ram";
    case Resource::Pinned:
      return "pinned";
    case Resource::Disk:
      return "disk";
  }
  return "?";
}

std::string_view name_of(Cost cost) {
  switch (cost) {
    case Cost::None:
      return "none";
    case Cost::Slower:
      return "slower";
    case Cost::Quality:
      return "quality";
  }
  return "?";
}

std::string_view name_of(Risk risk) {
  switch (risk) {
    case Risk::Low:
      return "low";
    case Risk::Medium:
      return "medium";
    case Risk::High:
      return "high";
  }
  return "?";
}

std::string to_json(const Report& report) {
  Object out;
  out.emplace_back("schema", count(1));
  out.emplace_back("core_version", text(kCoreVersion));
  out.emplace_back("model", model_json(report));
  out.emplace_back("setup", report.setup.document);
  out.emplace_back("origins", origins_json(report));
  out.emplace_back("memory", report.has_memory ? memory_json(report.memory) : null());
  out.emplace_back("verdict", verdict_json(report));
  out.emplace_back("time", time_json());
  out.emplace_back("changes", changes_json(report));
  out.emplace_back("provenance", provenance_json(report));
  out.emplace_back("notes", texts(report.notes));
  return json::dump({std::move(out)});
}

}  // namespace peakline
