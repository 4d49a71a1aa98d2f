#include "cli/report_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <vector>

#include "cli/bars.h"
#include "cli/setup_words.h"

namespace peakline::cli {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kMaxTensorLines = 8;
constexpr std::size_t kMinBarColumns = 8;
constexpr std::size_t kMaxBarColumns = 32;

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
    out_ += terminal_.paint(tone(), wrapped(tame(report_.verdict.sentence), terminal_.width, 0)) +
            "\n\n";
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
    fact("setup", setup_words(report_.setup));
    const GpuSetup& gpu = report_.setup.gpu;
    const std::string cards =
        gpu.count > 1 ? std::to_string(gpu.count) + " x " + gpu.name : gpu.name;
    if (!report_.has_memory) {
      fact("card", cards + ", " + format_bytes(report_.verdict.usable) + " usable");
      return;
    }
    const Memory& memory = report_.memory;
    fact("needs",
         format_bytes(memory.process_peak) + ", between " + format_bytes(memory.interval.low) +
             " and " + format_bytes(memory.interval.high));
    fact("usable", format_bytes(report_.verdict.usable) + " on " + cards);
    fact("margin",
         format_bytes(report_.verdict.margin) + ", risk " +
             std::string(name_of(report_.verdict.risk)));
  }

  static std::string_view name_of(Risk risk) {
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

  void at_peak() {
    const Memory& memory = report_.memory;
    heading("At the peak: " + format_bytes(memory.tensor_peak) + " of tensors, in phase " +
            tame(memory.peak_phase) + ", reached by " + tame(memory.peak_op));
    std::size_t names = 0;
    for (const PeakCategory& row : memory.at_peak)
      names = std::max(names, label_of(row.category).size());
    constexpr std::size_t kNumberColumns = 18;  // "1023.99 GiB  100 %"
    const std::size_t taken = kIndent + names + 2 + kNumberColumns + 2;
    const std::size_t columns =
        width() > taken + kMinBarColumns ? std::min(width() - taken, kMaxBarColumns) : 0;
    const Bytes largest = memory.at_peak.empty() ? Bytes(0) : memory.at_peak.front().bytes;
    for (const PeakCategory& row : memory.at_peak) {
      std::string text = padded(label_of(row.category), names) +
                         right_aligned(format_bytes(row.bytes), 12) +
                         right_aligned(percent(row.bytes, memory.tensor_peak), 7);
      if (columns > 0)
        text += "  " + terminal_.paint(tone(), bar(row.bytes, largest, columns, terminal_.unicode));
      line(text);
    }
  }

  static std::string label_of(Category category) {
    std::string label(peakline::name_of(category));
    std::replace(label.begin(), label.end(), '_', ' ');
    return label;
  }

  static std::string shape_of(const PeakTensor& tensor) {
    std::string text = tensor.count > 1 ? std::to_string(tensor.count) + " x [" : "[";
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(tensor.shape[i]);
    }
    return text + "] " + std::string(peakline::name_of(tensor.dtype));
  }

  [[nodiscard]] std::vector<const PeakTensor*> tensors_by_size() const {
    std::vector<const PeakTensor*> tensors;
    for (const PeakCategory& row : report_.memory.at_peak) {
      for (const PeakTensor& tensor : row.tensors) tensors.push_back(&tensor);
    }
    std::stable_sort(tensors.begin(), tensors.end(), [](const PeakTensor* a, const PeakTensor* b) {
      return a->bytes > b->bytes;
    });
    if (tensors.size() > kMaxTensorLines) tensors.resize(kMaxTensorLines);
    return tensors;
  }

  void largest_tensors() {
    const std::vector<const PeakTensor*> tensors = tensors_by_size();
    if (tensors.empty()) return;
    heading("The largest tensors then");
    for (const PeakTensor* tensor : tensors) {
      const std::string rule = tensor->rule.empty() ? "" : "  " + tensor->rule;
      const std::string shape = shape_of(*tensor) + rule;
      const std::string left = right_aligned(format_bytes(tensor->bytes), 10) + "  ";
      const std::string name = tame(tensor->name);
      const std::size_t used =
          kIndent + columns_of(left) + columns_of(name) + 2 + columns_of(shape);
      if (used <= width()) {
        line(left + name + "  " + terminal_.paint(Tone::Quiet, shape));
      } else {
        line(left + shortened(name, width() - kIndent - columns_of(left)));
        line(std::string(columns_of(left), ' ') + terminal_.paint(Tone::Quiet, shape));
      }
    }
  }

  void phases() {
    if (report_.memory.phases.empty()) return;
    heading("Phases");
    constexpr std::size_t kSize = 12;
    constexpr std::string_view kMark = "  the peak";
    std::size_t names = 0;
    for (const PhaseMemory& phase : report_.memory.phases)
      names = std::max(names, phase.name.size());
    // A narrow terminal shows the peaks only.
    const bool shows_end = width() >= kIndent + names + 2 * kSize + kMark.size();
    const std::string titles = padded("", names) + right_aligned("peak", kSize) +
                               (shows_end ? right_aligned("after it", kSize) : "");
    line(terminal_.paint(Tone::Quiet, titles));
    for (const PhaseMemory& phase : report_.memory.phases) {
      std::string text = padded(tame(phase.name), names);
      text += right_aligned(format_bytes(phase.tensor_peak), kSize);
      if (shows_end) text += right_aligned(format_bytes(phase.end), kSize);
      if (phase.name == report_.memory.peak_phase) text += kMark;
      line(text);
    }
  }

  void item(std::string_view text) {
    line("- " + wrapped(tame(text), terminal_.width, kIndent + 2, kIndent + 2));
  }

  void assumed() {
    std::vector<std::string> sentences;
    for (const Provenance& row : report_.provenance) {
      if (row.kind == "exact") continue;
      sentences.push_back(row.sentence + " (" + row.kind + ")");
    }
    if (sentences.empty()) return;
    heading("What this rests on");
    for (const std::string& sentence : sentences) item(sentence);
  }

  void notes() {
    if (report_.notes.empty()) return;
    heading("Notes");
    for (const std::string& note : report_.notes) item(note);
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
