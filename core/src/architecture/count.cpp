#include "architecture/count.h"

#include <charconv>

#include "architecture/dense_decoder.h"

namespace peakline {
namespace {

// "a b c" without its first word, which is put into `word`.
std::string_view split_word(std::string_view line, std::string_view& word) {
  const std::size_t blank = line.find(' ');
  word = line.substr(0, blank);
  return blank == std::string_view::npos ? std::string_view() : line.substr(blank + 1);
}

constexpr std::string_view kUnreadable = "a line of families.json cannot be read";
constexpr std::string_view kContradictory = "the sizes of the config contradict each other";

// The nested config with the values its config class supplies where a key is absent.
json::Value with_class_defaults(const json::Value& document, const data::FamiliesRow& family) {
  json::Value merged = document;
  json::Object& members = *std::get_if<json::Object>(&merged.data);
  for (const std::string_view line : family.class_defaults) {
    std::string_view key;
    const std::string_view text = split_word(line, key);
    if (document.find(key)) continue;
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    members.emplace_back(key, json::Value{value, 0, 0});
  }
  return merged;
}

Count count_dense(const json::Value& document,
                  const data::FamiliesRow& family,
                  const Task& task,
                  Place place) {
  Errors errors;
  const json::Value merged =
      place == Place::Nested ? with_class_defaults(document, family) : document;
  Fields fields(merged, "", errors);
  Architecture architecture;
  resolve_dense_decoder(fields, family, architecture);
  Count count;
  if (!errors.empty()) {
    count.reason = errors.front().where + ": " + errors.front().message;
    return count;
  }
  DenseDecoder& decoder = *architecture.dense;
  if (task.tied) decoder.tie_word_embeddings = *task.tied;
  count.parameters = count_parameters(decoder, task);
  count.num_layers = decoder.num_hidden_layers;
  count.vocab_size = decoder.vocab_size;
  return count;
}

class Counter {
 public:
  Counter(const json::Value& document, const data::FamiliesRow& family, const Task& task)
      : document_(document), family_(family), task_(task), scope_(document) {}

  Count run() {
    define_usual_names();
    define_task();
    for (const std::string_view line : family_.let) define(line);
    if (!counts_head()) {
      count_.reason = "no rule counts the head of this class yet";
      return std::move(count_);
    }
    Parameters parameters;
    parameters.exact = true;
    for (const std::string_view line : family_.weights) {
      add(line, parameters);
      if (!count_.reason.empty()) return std::move(count_);
    }
    parameters.total =
        parameters.embedding + parameters.head + parameters.linear + parameters.other;
    if (family_.weights.empty()) {
      count_.reason = "no rule counts this model_type yet";
    } else if (parameters.total.count() <= 0) {
      count_.reason = kContradictory;
    } else {
      count_.parameters = parameters;
    }
    count_.num_layers = known_or_zero("L");
    count_.vocab_size = known_or_zero("V");
    return std::move(count_);
  }

 private:
  // A head other than a language model's needs a line of its own.
  [[nodiscard]] bool counts_head() const {
    if (task_.head == Head::LanguageModel || task_.head == Head::None) return true;
    const std::string_view name = name_of(task_.head);
    for (const std::string_view line : family_.weights) {
      if (line.find(std::string(name) + " ") != std::string_view::npos) return true;
    }
    return false;
  }

  static std::string_view name_of(Head head) {
    switch (head) {
      case Head::LanguageModel:
        return "lm";
      case Head::MaskedLanguageModel:
        return "mlm";
      case Head::Classification:
        return "cls";
      case Head::Question:
        return "qa";
      case Head::TokenLabels:
        return "tok";
      case Head::None:
        return "body";
    }
    return "";
  }

  Number value_of(std::string_view expression) {
    bool malformed = false;
    Number result = evaluate(expression, scope_, malformed);
    if (malformed) count_.reason = kUnreadable;
    return result;
  }

  std::int64_t known_or_zero(std::string_view name) {
    const Number number = value_of(name);
    return number.known ? number.value : 0;
  }

  void define(std::string_view line) {
    const std::size_t equals = line.find(" = ");
    if (equals == std::string_view::npos) {
      count_.reason = kUnreadable;
      return;
    }
    scope_.define(std::string(line.substr(0, equals)), value_of(line.substr(equals + 3)));
  }

  void define_usual_names() {
    for (const std::string_view line : {"V = vocab_size",
                                        "H = hidden_size",
                                        "F = intermediate_size",
                                        "L = num_hidden_layers",
                                        "A = num_attention_heads",
                                        "K = num_key_value_heads ?? A",
                                        "D = head_dim ?? H / A"}) {
      define(line);
    }
  }

  void define_task() {
    for (const Head head : {Head::LanguageModel,
                            Head::MaskedLanguageModel,
                            Head::Classification,
                            Head::Question,
                            Head::TokenLabels,
                            Head::None}) {
      scope_.define(std::string(name_of(head)), Number::of(task_.head == head ? 1 : 0));
    }
    scope_.define("labels", Number::of(task_.num_labels));
    const bool by_default = has_variant(family_, "tied_by_default");
    const json::Value* flag = document_.find("tie_word_embeddings");
    const bool by_config = flag && flag->as_bool() ? *flag->as_bool() : by_default;
    const bool tied = !has_variant(family_, "never_tied") && task_.tied.value_or(by_config);
    scope_.define("tied", Number::of(tied ? 1 : 0));
  }

  void add(std::string_view line, Parameters& parameters) {
    std::string_view role;
    const std::string_view rest = split_word(line, role);
    if (role == "when") return add_when(rest, parameters);
    if (role == "model") return add_model(rest, parameters);
    Elements* sum = sum_of(role, parameters);
    const Number elements = value_of(rest);
    if (!sum) {
      count_.reason = kUnreadable;
    } else if (!elements.known) {
      count_.reason = elements.reason;
    } else if (elements.value < 0) {
      count_.reason = kContradictory;
    } else {
      *sum += Elements(elements.value);
    }
  }

  static Elements* sum_of(std::string_view role, Parameters& parameters) {
    if (role == "embedding") return &parameters.embedding;
    if (role == "head") return &parameters.head;
    if (role == "linear") return &parameters.linear;
    if (role == "other") return &parameters.other;
    return nullptr;
  }

  void add_when(std::string_view rest, Parameters& parameters) {
    const std::size_t then = rest.find(" then ");
    if (then == std::string_view::npos) {
      count_.reason = kUnreadable;
      return;
    }
    const Number condition = value_of(rest.substr(0, then));
    if (condition.known && condition.value != 0) add(rest.substr(then + 6), parameters);
  }

  // The object at the first of "a|b|self" that is one.
  const json::Value* inner_document(std::string_view paths, bool& is_self) const {
    while (!paths.empty()) {
      const std::size_t bar = paths.find('|');
      const std::string_view path = paths.substr(0, bar);
      is_self = path == "self";
      const json::Value* value = is_self ? &document_ : scope_.field(path);
      if (value && value->as_object()) return value;
      paths = bar == std::string_view::npos ? std::string_view() : paths.substr(bar + 1);
    }
    return nullptr;
  }

  void add_model(std::string_view rest, Parameters& parameters) {
    std::string_view paths, as, type, head;
    rest = split_word(split_word(split_word(split_word(rest, paths), as), type), head);
    bool is_self = false;
    const json::Value* document = inner_document(paths, is_self);
    if (!document) {
      count_.reason = "the config has no " + std::string(paths);
      return;
    }
    const json::Value* own_type = is_self ? nullptr : document->find("model_type");
    const std::string* own = own_type ? own_type->as_string() : nullptr;
    const data::FamiliesRow* family = own ? find_family(*own) : nullptr;
    if (!family || family == &family_) family = find_family(type);
    if (!family || family == &family_ || as != "as" || head != "head") {
      count_.reason = kUnreadable;
      return;
    }
    Task task;
    const Number has_head = value_of(rest);
    task.head = has_head.known && has_head.value != 0 ? Head::LanguageModel : Head::None;
    task.tied = tied_inside(*document);
    const Place place = is_self ? Place::Whole : Place::Nested;
    add_inner(count_by_table(*document, *family, task, place), paths, parameters);
  }

  // The outer flag rules, then an outer default that ties, then the inner flag and its default.
  std::optional<bool> tied_inside(const json::Value& document) {
    const json::Value* inner = document.find("tie_word_embeddings");
    const bool outer_rules = document_.find("tie_word_embeddings") ||
                             has_variant(family_, "tied_by_default") ||
                             has_variant(family_, "never_tied");
    if (outer_rules || &document == &document_) return scope_.variable("tied")->value != 0;
    if (inner && inner->as_bool()) return *inner->as_bool();
    return std::nullopt;
  }

  void add_inner(const Count& inner, std::string_view paths, Parameters& parameters) {
    if (!inner.parameters) {
      count_.reason = inner.reason + " (in " + std::string(paths) + ")";
      return;
    }
    parameters.embedding += inner.parameters->embedding;
    parameters.head += inner.parameters->head;
    parameters.linear += inner.parameters->linear;
    parameters.other += inner.parameters->other;
  }

  const json::Value& document_;
  const data::FamiliesRow& family_;
  Task task_;
  Scope scope_;
  Count count_;
};

}  // namespace

Count count_by_table(const json::Value& document,
                     const data::FamiliesRow& family,
                     const Task& task,
                     Place place) {
  if (has_variant(family, "dense_decoder")) return count_dense(document, family, task, place);
  return Counter(document, family, task).run();
}

}  // namespace peakline
