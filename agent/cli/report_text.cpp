#include "cli/report_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <vector>

#include "cli/bars.h"
#include "cli/memory_words.h"
#include "cli/setup_words.h"
#include "peakline/rules.h"

namespace peakline::cli {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kMaxTensorLines = 8;
constexpr std::size_t kMinBarColumns = 8;
constexpr std::size_t kMaxBarColumns = 32;
constexpr std::size_t kSizeColumns = 12;  // "1023.9 MiB" and a gap
constexpr std::size_t kPercentColumns = 7;
constexpr std::string_view kNoCard = "No card was given";

class Writer {
 public:
  Writer(const Report& report, const Terminal& terminal) : report_(report), terminal_(terminal) {}

  std::string write(const std::string& model) {
    verdict();
    facts(model);
    if (report_.has_memory) {
      at_peak();
      largest_tensors();
      phases();
    }
    changes();
    assumed();
    notes();
    return std::move(out_);
  }

 private:
  void line(std::string_view text) { out_ += std::string(kIndent, ' ') + std::string(text) + "\n"; }
  void heading(std::string_view text) {
    out_ += "\n" + terminal_.paint(Tone::Strong, wrapped(text, terminal_.width, 0)) + "\n";
  }
  [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(terminal_.width); }

  [[nodiscard]] Tone tone() const {
    switch (report_.verdict.answer) {
      case Answer::Fits:
        return Tone::Good;
      case Answer::TooClose:
      case Answer::NotModelled:
        return Tone::Warning;
      case Answer::DoesNotFit:
        return Tone::Bad;
    }
    return Tone::Plain;
  }

  void verdict() {
    out_ +=
        terminal_.paint(tone(), wrapped(tame(report_.verdict.sentence), terminal_.width, 0)) + "\n";
    if (card_is_assumed(report_.setup)) {
      const std::string assumed = std::string(kNoCard) +
                                  " (--gpu or --vram): " + card_words(report_.setup.gpu) +
                                  " is assumed.";
      out_ += wrapped(assumed, terminal_.width, 0) + "\n";
    }
    out_ += "\n";
  }

  void fact(std::string_view name, std::string_view value) {
    constexpr std::size_t kNameColumns = 8;
    const std::string label = padded(name, kNameColumns);
    const std::size_t column = kIndent + kNameColumns;
    line(terminal_.paint(Tone::Quiet, label) +
         wrapped(tame(value), terminal_.width, column, column));
  }

  void facts(const std::string& model) {
    fact("model", model_words(report_, model));
    if (report_.alternative) fact("or", report_.alternative->sentence);
    fact("setup", setup_words(report_.setup));
    const std::string cards = card_words(report_.setup.gpu);
    if (!report_.has_memory) {
      fact("card", cards + ", " + format_bytes(report_.verdict.usable) + " usable");
      beside();
      return;
    }
    const Memory& memory = report_.memory;
    fact("needs",
         format_bytes(memory.process_peak) + ", between " + format_bytes(memory.interval.low) +
             " and " + format_bytes(memory.interval.high));
    fact("of it",
         format_bytes(memory.tensor_peak) + " in tensors, " + format_bytes(memory.allocated_peak) +
             " allocated and " + format_bytes(memory.reserved_peak) + " reserved by PyTorch" +
             saving_words());
    fact("usable", format_bytes(report_.verdict.usable) + " on " + cards);
    fact("margin",
         format_bytes(report_.verdict.margin) + ", usable minus the high end; risk " +
             std::string(name_of(report_.verdict.risk)));
    beside();
  }

  // From one percent on.
  [[nodiscard]] std::string saving_words() const {
    const Memory& memory = report_.memory;
    const bool much =
        memory.expandable_saving && *memory.expandable_saving * 100 >= memory.reserved_peak;
    return much ? "; " + memory.saving_sentence : "";
  }

  // A batch is little; nobody asks for it who did not say how much may be pinned.
  void beside() {
    std::string text;
    for (const Limit& limit : report_.verdict.limits) {
      if (limit.resource == Resource::Gpu || (limit.resource == Resource::Pinned && !limit.answer))
        continue;
      text += (text.empty() ? "" : "; ") + limit.sentence;
    }
    if (!text.empty()) fact("beside", text);
  }

  void at_peak() {
    const Memory& memory = report_.memory;
    heading("At the peak: " + format_bytes(memory.tensor_peak) + " of tensors, in " +
            tame(phase_words(memory.peak_phase)) + ", when " + tame(memory.peak_op) +
            " allocates its result");
    const std::vector<Share> shares = shares_at_peak();
    std::size_t names = 0;
    for (const Share& share : shares) names = std::max(names, share.label.size());
    const std::size_t taken = kIndent + names + kSizeColumns + kPercentColumns + 2;
    const std::size_t columns =
        width() > taken + kMinBarColumns ? std::min(width() - taken, kMaxBarColumns) : 0;
    for (const Share& share : shares) {
      std::string text = padded(share.label, names) +
                         right_aligned(format_bytes(share.bytes), kSizeColumns) +
                         right_aligned(percent(share.bytes, memory.tensor_peak), kPercentColumns);
      if (columns > 0) {
        text +=
            "  " + terminal_.paint(
                       tone(), bar(share.bytes, shares.front().bytes, columns, terminal_.unicode));
      }
      line(text);
    }
  }

  struct Share {
    std::string label;
    Bytes bytes;
  };

  // Largest first; what is less than a percent stands together in the last row.
  [[nodiscard]] std::vector<Share> shares_at_peak() const {
    std::vector<Share> shares;
    Share rest;
    int num_small = 0;
    for (const PeakCategory& row : report_.memory.at_peak) {
      const bool is_small = row.bytes * 100 < report_.memory.tensor_peak && !shares.empty();
      if (is_small) {
        ++num_small;
        rest.label = num_small == 1 ? category_words(row.category)
                                    : std::to_string(num_small) + " smaller groups";
        rest.bytes += row.bytes;
      } else {
        shares.push_back({category_words(row.category), row.bytes});
      }
    }
    if (num_small > 0) shares.push_back(std::move(rest));
    return shares;
  }

  struct Tensor {
    const PeakTensor* tensor = nullptr;
    Category category = Category::Activations;
  };

  [[nodiscard]] std::vector<Tensor> tensors_by_size() const {
    std::vector<Tensor> tensors;
    for (const PeakCategory& row : report_.memory.at_peak) {
      for (const PeakTensor& tensor : row.tensors) tensors.push_back({&tensor, row.category});
    }
    std::stable_sort(tensors.begin(), tensors.end(), [](const Tensor& a, const Tensor& b) {
      return a.tensor->bytes > b.tensor->bytes;
    });
    if (tensors.size() > kMaxTensorLines) tensors.resize(kMaxTensorLines);
    return tensors;
  }

  void largest_tensors() {
    const std::vector<Tensor> tensors = tensors_by_size();
    if (tensors.empty()) return;
    heading("The largest tensors then");
    for (const auto& [tensor, category] : tensors) {
      const std::string left = right_aligned(format_bytes(tensor->bytes), kSizeColumns - 2) + "  ";
      const std::string name = tame(tensor->name);
      std::string detail = tensor_shape(*tensor) + ", " + category_words(category);
      if (!tensor->rule.empty()) detail += ", " + tensor->rule;
      const std::size_t used =
          kIndent + columns_of(left) + columns_of(name) + 2 + columns_of(detail);
      if (used <= width()) {
        line(left + name + "  " + terminal_.paint(Tone::Quiet, detail));
      } else {
        line(left + shortened(name, width() - kIndent - columns_of(left)));
        const std::size_t column = kIndent + columns_of(left);
        line(std::string(columns_of(left), ' ') +
             terminal_.paint(Tone::Quiet, wrapped(detail, terminal_.width, column, column)));
      }
    }
    rules_behind(tensors);
  }

  // The library behaviour behind the tensors that were just listed.
  void rules_behind(const std::vector<Tensor>& tensors) {
    std::vector<const Rule*> cited;
    for (const Rule& rule : rules()) {
      const bool is_cited = std::any_of(tensors.begin(), tensors.end(), [&rule](const Tensor& row) {
        return row.tensor->rule == rule.id;
      });
      if (is_cited) cited.push_back(&rule);
    }
    if (cited.empty()) return;
    heading("Why they are there");
    for (const Rule* rule : cited) {
      item(std::string(rule->id) + ": " + std::string(rule->sentence) + " (" +
           std::string(rule->source) + ")");
    }
  }

  void phases() {
    if (report_.memory.phases.empty()) return;
    heading("Phases");
    constexpr std::string_view kMark = "  the peak";
    std::size_t names = 0;
    for (const PhaseMemory& phase : report_.memory.phases)
      names = std::max(names, columns_of(tame(phase_words(phase.name))));
    // A narrow terminal shows the peaks only.
    const bool shows_end = width() >= kIndent + names + 2 * kSizeColumns + kMark.size();
    const std::string titles = padded("", names) + right_aligned("peak", kSizeColumns) +
                               (shows_end ? right_aligned("after it", kSizeColumns) : "");
    line(terminal_.paint(Tone::Quiet, titles));
    for (const PhaseMemory& phase : report_.memory.phases) {
      std::string text = padded(tame(phase_words(phase.name)), names);
      text += right_aligned(format_bytes(phase.tensor_peak), kSizeColumns);
      if (shows_end) text += right_aligned(format_bytes(phase.end), kSizeColumns);
      if (is_or_holds(phase.name, report_.memory.peak_phase)) text += kMark;
      line(text);
    }
  }

  // "backward" holds "backward:loss".
  static bool is_or_holds(std::string_view phase, std::string_view detail) {
    return detail == phase ||
           (detail.starts_with(phase) && detail.substr(phase.size()).starts_with(':'));
  }

  void item(std::string_view text) {
    line("- " + wrapped(tame(text), terminal_.width, kIndent + 2, kIndent + 2));
  }

  // "/memory/context_bytes" speaks of the "context"; the model as a whole needs no name.
  static std::string subject_of(const std::string& value) {
    std::string name = value.substr(value.rfind('/') + 1);
    constexpr std::string_view kUnit = "_bytes";
    if (name.ends_with(kUnit)) name.resize(name.size() - kUnit.size());
    std::replace(name.begin(), name.end(), '_', ' ');
    if (value.find("/streaming/") != std::string::npos) name = "streaming, " + name;
    return name.empty() || name == "model" ? "" : name + ": ";
  }

  void changes() {
    if (report_.changes.empty() && !report_.verdict.streaming) return;
    heading("What would change that");
    for (const Change& change : report_.changes) item(change.sentence + cost_of(change.cost));
    if (report_.verdict.streaming) item(report_.verdict.streaming->sentence);
  }

  static std::string cost_of(Cost cost) {
    if (cost == Cost::Slower) return " Slower.";
    return cost == Cost::Quality ? " Another training." : "";
  }

  void assumed() {
    const std::vector<std::string> defaults = default_words(report_.setup);
    if (report_.provenance.empty() && defaults.empty()) return;
    heading("What this rests on");
    for (const std::string& sentence : defaults) item(sentence);
    for (const Provenance& row : report_.provenance) {
      item(subject_of(row.value) + row.sentence + " (" + row.kind + ")");
    }
  }

  void notes() {
    std::vector<std::string> notes = report_.notes;
    // The head of the answer says so already.
    std::erase_if(notes, [](const std::string& note) { return note.starts_with(kNoCard); });
    if (notes.empty()) return;
    heading("Notes");
    for (const std::string& note : notes) item(note);
  }

  const Report& report_;
  const Terminal& terminal_;
  std::string out_;
};

}  // namespace

std::string report_text(const Report& report, const std::string& model, const Terminal& terminal) {
  return Writer(report, terminal).write(model);
}

}  // namespace peakline::cli
