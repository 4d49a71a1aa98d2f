#include "report/limits.h"

#include <algorithm>
#include <bit>

#include "train/optimizer.h"

namespace peakline {

namespace {

int badness(Answer answer) {
  if (answer == Answer::DoesNotFit) return 2;
  return answer == Answer::TooClose ? 1 : 0;
}

Elements numel(const EventTensor& tensor) {
  Elements product(1);
  for (int i = 0; i < tensor.rank; ++i)
    product = product * tensor.dims[static_cast<std::size_t>(i)];
  return product;
}

// Rule R052: moments that no CUDA counter sees.
Bytes paged_states(const Report& report, const Events& events) {
  const OptimizerRow* row = find_optimizer(report.setup.optim);
  Bytes sum;
  if (row == nullptr || !row->paged || !report.architecture.dense) return sum;
  const DenseDecoder& decoder = *report.architecture.dense;
  const std::string_view tables[] = {module_path(decoder, "embedding"),
                                     module_path(decoder, "positions")};
  for (const EventTensor& tensor : events.tensors) {
    if (tensor.phase != Phase::Load) break;
    if (tensor.role != Role::WeightTrainable) continue;
    const bool is_table = tensor.module.name == tables[0] || tensor.module.name == tables[1];
    sum += paged_state_bytes(*row, numel(tensor).count(), is_table);
  }
  return sum;
}

// The largest weight that a quantising loader hands on.
Elements largest_weight(const DenseDecoder& decoder) {
  std::int64_t most = decoder.vocab_size * decoder.embedding_size;
  for (const LayerModule& module : layer_modules(decoder))
    most = std::max(most, module.in * module.out);
  return Elements(most);
}

Elements base_parameters(const Report& report) {
  const bool adapted = report.setup.method == Method::Lora || report.setup.method == Method::Qlora;
  return adapted ? report.num_parameters - report.num_trainable_parameters : report.num_parameters;
}

std::optional<DType> stated_type(const Report& report) {
  for (const DType dtype : {DType::BFloat16, DType::Float16, DType::Float32}) {
    if (report.architecture.stated_dtype == name_of(dtype)) return dtype;
  }
  return std::nullopt;
}

void explain(Report& report, std::string_view value, std::string sentence) {
  report.provenance.push_back({std::string(value), "derived", std::move(sentence)});
}

// transformers 5.24, core_model_loading.py: without a device_map tensors go to {"": "cpu"}, and
// Trainer moves the model. quantizer_bnb_4bit.py, update_device_map: a quantised one goes to the
// card tensor by tensor.
void add_host(Report& report, const Events& events) {
  const TrainSetup& setup = report.setup;
  if (setup.trainer != Trainer::Transformers || !report.architecture.dense) return;
  const Bytes paged = paged_states(report, events);
  const bool quantised = setup.method == Method::Qlora;  // an 8-bit base as well
  const Bytes loading =
      size_of(quantised ? largest_weight(*report.architecture.dense) : base_parameters(report),
              setup.dtype);
  report.memory.host = std::max(loading, paged);
  std::string why =
      quantised ? "A quantising loader hands the weights to the card one by one; the largest is " +
                      format_bytes(loading)
                : "from_pretrained without a device_map puts the whole model into host memory "
                  "before Trainer moves it: " +
                      format_bytes(loading);
  if (paged > Bytes(0))
    why += ". Paged optimizer states take " + format_bytes(paged) + " of managed memory";
  explain(report, "/memory/host_bytes", why + ". Python and its libraries come on top.");
  const std::optional<DType> stored = stated_type(report);
  // Weights of the file's own type are the file's pages, which the system may drop again.
  const bool copies = paged >= loading || (stored && *stored != setup.dtype);
  const std::string what = paged >= loading ? "paged optimizer states" : "loading";
  report.verdict.limits.push_back(limit_of(Resource::HostRam,
                                           *report.memory.host,
                                           setup.host.ram,
                                           copies ? Answer::DoesNotFit : Answer::TooClose,
                                           what));
}

// torch's pinned allocator rounds up to a power of two (CachingHostAllocator.h).
void add_pinned(Report& report) {
  const TrainSetup& setup = report.setup;
  if (setup.trainer != Trainer::Transformers) return;
  const std::int64_t tokens = setup.per_device_train_batch_size * setup.max_length;
  const auto block =
      std::bit_ceil(static_cast<std::uint64_t>(tokens * bytes_per_element(DType::Int64)));
  const int tensors = setup.attention_mask == AttentionMask::None ? 2 : 3;
  report.memory.pinned = Bytes(static_cast<std::int64_t>(block)) * tensors;
  explain(report,
          "/memory/pinned_bytes",
          "Trainer pins every batch (dataloader_pin_memory): " + std::to_string(tensors) +
              " tensors of int64, each rounded up to a power of two.");
  report.verdict.limits.push_back(limit_of(
      Resource::Pinned, *report.memory.pinned, setup.host.pinned, Answer::DoesNotFit, "a batch"));
}

void add_disk(Report& report) {
  const std::optional<DType> stored = stated_type(report);
  if (!stored || !(report.num_parameters > Elements(0))) return;
  report.memory.disk = size_of(base_parameters(report), *stored);
  explain(
      report,
      "/memory/disk_bytes",
      "The weight files, of the type that the config states (" + report.architecture.stated_dtype +
          "); what Trainer saves comes on top. Nothing is needed where they are there already.");
  report.verdict.limits.push_back(limit_of(Resource::Disk,
                                           *report.memory.disk,
                                           report.setup.host.disk_free,
                                           Answer::TooClose,
                                           "the weight files"));
}

std::string lower_first(std::string text) {
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] + 32);
  return text;
}

}  // namespace

void add_beside_the_card(Report& report, const Events& events) {
  add_host(report, events);
  add_pinned(report);
  add_disk(report);
}

std::string_view headline_of(Answer answer) {
  switch (answer) {
    case Answer::Fits:
      return "Fits";
    case Answer::TooClose:
      return "Too close to call";
    case Answer::DoesNotFit:
      return "Does not fit";
    case Answer::NotModelled:
      break;
  }
  return "Not modelled yet";
}

std::string range_text(Bytes low, Bytes high) {
  const std::string first = format_bytes(low);
  const std::string second = format_bytes(high);
  return first == second ? first : first + " to " + second;
}

Limit limit_of(Resource resource,
               Bytes needed,
               std::optional<Bytes> have,
               Answer shortage,
               const std::string& what) {
  constexpr std::string_view kOf[] = {
      " of the card", " of host memory", " of pinned memory", " of disk"};
  Limit limit{resource, needed, have, std::nullopt, ""};
  const bool takes = !what.ends_with('s') || what == "loading";
  limit.sentence = what + (takes ? " takes " : " take ") + format_bytes(needed) +
                   std::string(kOf[static_cast<std::size_t>(resource)]);
  if (!have) return limit;
  limit.answer = needed <= *have ? Answer::Fits : shortage;
  limit.sentence += ", and there is " + format_bytes(*have);
  return limit;
}

void weigh_limits(Report& report) {
  Verdict& verdict = report.verdict;
  const Answer card = verdict.answer;
  for (const Limit& limit : verdict.limits) {
    if (limit.answer && badness(*limit.answer) > badness(verdict.answer))
      verdict.answer = *limit.answer;
  }
  std::string others;
  for (const Limit& limit : verdict.limits) {
    const bool decides = limit.resource != Resource::Gpu && limit.answer &&
                         *limit.answer != Answer::Fits &&
                         badness(*limit.answer) == badness(verdict.answer);
    if (decides) others += (others.empty() ? "" : "; ") + limit.sentence;
  }
  if (others.empty()) return;
  if (card == verdict.answer) {
    verdict.sentence += " And beside the card: " + others + ".";
    return;
  }
  verdict.sentence = std::string(headline_of(verdict.answer)) + ": " + others +
                     ". The card alone: " + lower_first(verdict.sentence);
}

}  // namespace peakline
