#include "parse/setup_values.h"

#include <algorithm>

namespace peakline {
namespace {

std::size_t index_of(std::string_view name) {
  const std::span<const SetupField> fields = setup_fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return i;
  }
  return fields.size();
}

}  // namespace

const SetupValues::Slot& SetupValues::slot(std::string_view name) const {
  static const Slot nothing;
  const std::size_t index = index_of(name);
  return index < slots_.size() ? slots_[index] : nothing;
}

bool SetupValues::given(std::string_view name) const {
  return has(name) && slot(name).origin == Origin::Given;
}

const json::Value& SetupValues::at(std::string_view name) const {
  static const json::Value null;
  const Slot& found = slot(name);
  return found.value ? *found.value : null;
}

std::int64_t SetupValues::integer(std::string_view name) const {
  const std::int64_t* value = at(name).as_integer();
  return value ? *value : 0;
}

double SetupValues::number(std::string_view name) const {
  if (const double* value = at(name).as_real()) return *value;
  return static_cast<double>(integer(name));
}

bool SetupValues::flag(std::string_view name) const {
  const bool* value = at(name).as_bool();
  return value && *value;
}

std::string SetupValues::text(std::string_view name) const {
  const std::string* value = at(name).as_string();
  return value ? *value : std::string();
}

std::vector<std::string> SetupValues::texts(std::string_view name) const {
  std::vector<std::string> result;
  if (const json::Array* array = at(name).as_array()) {
    for (const json::Value& element : *array) {
      if (const std::string* text = element.as_string()) result.push_back(*text);
    }
  }
  return result;
}

void SetupValues::set(std::string_view name, json::Value value, Origin origin) {
  const std::size_t index = index_of(name);
  if (index >= slots_.size()) return;
  slots_[index].value = std::move(value);
  slots_[index].origin = origin;
}

void SetupValues::refuse(std::string_view name) {
  const std::size_t index = index_of(name);
  if (index < slots_.size()) slots_[index].refused = true;
}

void SetupValues::set_default(std::string_view name, std::string_view literal, Origin origin) {
  const SetupField* field = find_setup_field(name);
  if (field && !has(name)) set(name, field_literal(field->kind, literal), origin);
}

json::Value SetupValues::document() const {
  json::Object root;
  const std::span<const SetupField> fields = setup_fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!slots_[i].value) continue;
    const std::size_t dot = fields[i].name.find('.');
    if (dot == std::string_view::npos) {
      root.emplace_back(fields[i].name, *slots_[i].value);
      continue;
    }
    const std::string group(fields[i].name.substr(0, dot));
    if (root.empty() || root.back().first != group) {
      root.emplace_back(group, json::Value{json::Object{}, 0, 0});
    }
    json::Object& members = *std::get_if<json::Object>(&root.back().second.data);
    members.emplace_back(fields[i].name.substr(dot + 1), *slots_[i].value);
  }
  return {std::move(root), 0, 0};
}

std::vector<ResolvedValue> SetupValues::origins() const {
  std::vector<ResolvedValue> result;
  const std::span<const SetupField> fields = setup_fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (slots_[i].value) result.push_back({std::string(fields[i].name), slots_[i].origin});
  }
  return result;
}

int capability_of(const SetupValues& values) {
  return parse_compute_capability(values.text("gpu.compute_capability"))
      .value_or(kFirstBfloat16Capability);
}

}  // namespace peakline
