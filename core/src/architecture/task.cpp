#include "architecture/task.h"

namespace peakline {
namespace {

struct Ending {
  std::string_view text;
  Head head;
};
// The first that fits; anything else is taken for a language model.
constexpr Ending kEndings[] = {
    {"ForMaskedLM", Head::MaskedLanguageModel},
    {"ForSequenceClassification", Head::Classification},
    {"ForTokenClassification", Head::TokenLabels},
    {"ForQuestionAnswering", Head::Question},
    {"LMHeadModel", Head::LanguageModel},
    {"ForCausalLM", Head::LanguageModel},
    {"ForConditionalGeneration", Head::LanguageModel},
    {"ForImageTextToText", Head::LanguageModel},
    {"Model", Head::None},
};

bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

}  // namespace

Task task_of(const ModelConfig& config, Fields& fields) {
  Task task;
  if (!config.architectures.empty()) {
    task.named = false;
    for (const Ending& ending : kEndings) {
      if (!ends_with(config.architectures.front(), ending.text)) continue;
      task.head = ending.head;
      task.named = true;
      break;
    }
  }
  const json::Value* names = fields.object("id2label");
  if (const auto given = fields.size("num_labels")) {
    task.num_labels = *given;
  } else if (names && !names->as_object()->empty()) {
    task.num_labels = static_cast<std::int64_t>(names->as_object()->size());
  }
  return task;
}

}  // namespace peakline
