// The card of a setup: a catalogue name, an override of its facts, or a card of one's own.
#include <charconv>

#include "parse/setup_values.h"
#include "peakline/gpu_catalogue.h"

namespace peakline {
namespace {

constexpr int kOldestCapability = 35;
constexpr int kNewestCapability = 200;
constexpr std::string_view kCustom = "custom";

json::Value integer_value(std::int64_t number) {
  return {number, 0, 0};
}
json::Value text_value(std::string text) {
  return {std::move(text), 0, 0};
}

void default_to(SetupValues& values, std::string_view name, json::Value value, Origin origin) {
  if (!values.has(name)) values.set(name, std::move(value), origin);
}

void resolve_from_catalogue(SetupValues& values,
                            const GpuCard& card,
                            std::vector<std::string>& notes) {
  const bool by_user = values.given("gpu.name");
  values.set(
      "gpu.name", text_value(std::string(card.name)), by_user ? Origin::Given : Origin::Derived);
  const Bytes total = card.reported > Bytes(0) ? card.reported : card.marketed;
  default_to(values, "gpu.total_bytes", integer_value(total.count()), Origin::Card);
  default_to(values,
             "gpu.compute_capability",
             text_value(capability_text(card.compute_capability)),
             Origin::Card);
  if (card.sm_count > 0) {
    default_to(values, "gpu.sm_count", integer_value(card.sm_count), Origin::Card);
  }
  if (!by_user) {
    notes.push_back("No card was given: the answer is for one " + std::string(card.name) + ".");
  }
}

void resolve_custom(SetupValues& values, Errors& errors, std::vector<std::string>& notes) {
  default_to(values, "gpu.name", text_value(std::string(kCustom)), Origin::Derived);
  if (!values.has("gpu.total_bytes") && !values.refused("gpu.total_bytes")) {
    errors.push_back(
        {ErrorCode::SetupInconsistent,
         "/gpu/total_bytes",
         "got a custom card without its memory",
         "Give total_bytes: what the driver reports for it (nvidia-smi, memory.total)."});
  }
  if (!values.given("gpu.compute_capability")) {
    notes.push_back("The card's compute capability was not given: 8.0 is assumed.");
  }
}

Error unknown_gpu(const json::Value& value, const std::string& name) {
  // Where no card is called so, a word may be too many: "RTX 4090 Ti".
  std::string_view shorter = name;
  std::vector<std::string_view> meant = gpus_called(shorter);
  while (meant.empty() && shorter.find(' ') != std::string_view::npos) {
    shorter = shorter.substr(0, shorter.rfind(' '));
    meant = gpus_called(shorter);
  }
  std::string hint;
  std::string_view before = "Did you mean ";
  for (const std::string_view called : meant) {
    hint += std::string(before) + "\"" + std::string(called) + "\"";
    before = " or ";
  }
  const std::string_view near = nearest_gpu(name);
  if (hint.empty() && !near.empty()) hint = "Did you mean \"" + std::string(near) + "\"";
  if (!hint.empty()) hint += "? ";
  hint += "For another card give {\"total_bytes\": ..., \"compute_capability\": \"8.6\"}.";
  return {ErrorCode::SetupUnknownGpu,
          "/gpu/name",
          "got " + value.describe() + ", expected a card of the catalogue",
          std::move(hint)};
}

void check_used_by_others(const SetupValues& values, Errors& errors) {
  const std::int64_t used = values.integer("gpu.used_by_others_bytes");
  const std::int64_t total = values.integer("gpu.total_bytes");
  if (!values.has("gpu.total_bytes") || used < total) return;
  errors.push_back({ErrorCode::SetupInconsistent,
                    "/gpu/used_by_others_bytes",
                    "got " + std::to_string(used) + ", expected less than the card's " +
                        std::to_string(total) + " bytes",
                    "Give what other programs hold of this one card, in bytes."});
}

}  // namespace

std::optional<int> parse_compute_capability(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos || dot == 0 || dot > 2 || text.size() != dot + 2)
    return std::nullopt;
  int major = 0;
  int minor = 0;
  const char* const end = text.data() + text.size();
  const auto left = std::from_chars(text.data(), text.data() + dot, major);
  const auto right = std::from_chars(text.data() + dot + 1, end, minor);
  if (left.ec != std::errc() || left.ptr != text.data() + dot) return std::nullopt;
  if (right.ec != std::errc() || right.ptr != end || minor < 0) return std::nullopt;
  const int capability = major * 10 + minor;
  if (capability < kOldestCapability || capability > kNewestCapability) return std::nullopt;
  return capability;
}

json::Value gpu_text_to_object(const json::Value& text) {
  const GpuText gpu = split_gpu_text(*text.as_string());
  json::Object object;
  object.emplace_back("name", json::Value{std::string(gpu.name), text.line, text.column});
  if (gpu.count != 1) object.emplace_back("count", json::Value{gpu.count, text.line, text.column});
  return {std::move(object), text.line, text.column};
}

bool has_reported_total(const SetupValues& values) {
  if (values.given("gpu.total_bytes")) return true;
  const GpuCard* card = find_gpu(values.text("gpu.name"));
  return card && card->reported > Bytes(0);
}

void resolve_gpu(SetupValues& values, Errors& errors, std::vector<std::string>& notes) {
  if (values.given("gpu.compute_capability")) {
    const std::string text = values.text("gpu.compute_capability");
    if (!parse_compute_capability(text)) {
      errors.push_back(
          {ErrorCode::SetupOutOfRange,
           "/gpu/compute_capability",
           "got " + values.at("gpu.compute_capability").describe() +
               ", expected a CUDA compute capability from 3.5 to 20.0, such as \"8.6\"",
           ""});
    }
  }
  const std::string name = values.text("gpu.name");
  const bool custom = name == kCustom || (name.empty() && values.has("gpu.total_bytes"));
  if (custom) {
    resolve_custom(values, errors, notes);
  } else {
    const SetupField& field = *find_setup_field("gpu.name");
    const GpuCard* card = find_gpu(name.empty() ? field.fallback : name);
    if (card) {
      resolve_from_catalogue(values, *card, notes);
    } else {
      errors.push_back(unknown_gpu(values.at("gpu.name"), name));
    }
  }
  check_used_by_others(values, errors);
  for (const SetupField& field : setup_fields()) {
    if (field.name.substr(0, 4) == "gpu.")
      values.set_default(field.name, field.fallback, Origin::Derived);
  }
}

}  // namespace peakline
