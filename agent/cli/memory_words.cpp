#include "cli/memory_words.h"

#include <algorithm>

namespace peakline::cli {

std::string category_words(Category category) {
  switch (category) {
    case Category::WeightsFrozen:
      return "frozen weights";
    case Category::WeightsTrainable:
      return "trainable weights";
    case Category::Quant:
      return "4-bit weights and statistics";
    case Category::Buffers:
      return "buffers";
    case Category::Gradients:
      return "gradients";
    case Category::Optimizer:
      return "optimizer states";
    case Category::Batch:
      return "batch";
    case Category::Activations:
      return "activations";
    case Category::Logits:
      return "logits and loss";
    case Category::AutocastWeightCasts:
      return "weights cast by autocast";
    case Category::Recomputed:
      return "recomputed activations";
    case Category::Temporaries:
      return "temporaries";
    case Category::KernelTemporaries:
      return "kernel temporaries";
    case Category::OtherStatic:
      return "other, kept";
  }
  return std::string(name_of(category));
}

std::string tensor_shape(const PeakTensor& tensor) {
  std::string text;
  if (tensor.count > 1) text += std::to_string(tensor.count) + " x ";
  text += '[';
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(tensor.shape[i]);
  }
  text += "] ";
  text += peakline::name_of(tensor.dtype);
  return text;
}

std::string phase_words(std::string_view phase) {
  struct Words {
    std::string_view phase;
    std::string_view words;
  };
  constexpr Words kWords[] = {
      {"load", "loading"},
      {"data", "batch in"},
      {"backward:loss", "backward, loss part"},
      {"backward:layers", "backward through the layers"},
      {"backward:recompute", "backward, recomputing a layer"},
      {"clip", "clipping"},
      {"optimizer", "optimizer step"},
      {"eval", "evaluation"},
      {"save", "saving"},
  };
  for (const Words& row : kWords) {
    if (row.phase == phase) return std::string(row.words);
  }
  std::string words(phase);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

}  // namespace peakline::cli
