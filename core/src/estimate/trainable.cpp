#include "estimate/trainable.h"

#include "architecture/dense_decoder.h"
#include "train/load.h"

namespace peakline {

namespace {

// R * (in + out) for every projection with an adapter, over all layers.
Elements adapter_parameters(const DenseDecoder& decoder, const LoraSetup& lora) {
  Elements sum;
  for (const LayerModule& module : layer_modules(decoder)) {
    if (is_lora_target(lora, module)) sum += Elements(module.in + module.out) * lora.r;
  }
  sum = sum * decoder.num_hidden_layers;
  for (const LayerModule& module : outer_projections(decoder)) {
    if (is_lora_target(lora, module)) sum += Elements(module.in + module.out) * lora.r;
  }
  return sum;
}

}  // namespace

ParameterCounts count_parameters(const Architecture& architecture, const TrainSetup& setup) {
  ParameterCounts counts;
  if (architecture.parameters) counts.total = architecture.parameters->total;
  // The run's model has a language-model head, whatever class the config names.
  if (architecture.dense) counts.total = count_parameters(*architecture.dense, Task{}).total;
  if (setup.method == Method::Full) counts.trainable = counts.total;
  const bool adapted = setup.method == Method::Lora || setup.method == Method::Qlora;
  if (adapted && architecture.dense) {
    counts.trainable = adapter_parameters(*architecture.dense, setup.lora);
    counts.total += counts.trainable;
  }
  return counts;
}

}  // namespace peakline
