#include "estimate/trainable.h"

#include <algorithm>

#include "architecture/dense_decoder.h"
#include "train/adapters.h"

namespace peakline {

namespace {

// R * (in + out) where an adapter sits, and a number for every row under DoRA.
Elements of_adapter(const LayerModule& module, const LoraSetup& lora) {
  if (!is_lora_target(lora, module)) return {};
  return Elements(module.in + module.out) * lora.r + Elements(lora.use_dora ? module.out : 0);
}

// Parameters that adapters bring, trained copies among them.
Elements adapter_parameters(const DenseDecoder& decoder, const LoraSetup& lora) {
  Elements sum;
  for (const LayerModule& module : layer_modules(decoder)) sum += of_adapter(module, lora);
  sum = sum * decoder.num_hidden_layers;
  for (const LayerModule& module : outer_projections(decoder)) sum += of_adapter(module, lora);
  if (adapts_embedding(lora, decoder))
    sum += Elements(decoder.vocab_size + decoder.embedding_size) * lora.r;
  const Elements table = Elements(decoder.vocab_size) * decoder.embedding_size;
  if (is_saved(lora, module_path(decoder, "embedding"))) sum += table;
  if (is_saved(lora, "lm_head"))
    sum += table + Elements(decoder.lm_head_bias ? decoder.vocab_size : 0);
  return sum;
}

// Biases of the model that train beside its adapters.
Elements trained_biases(const DenseDecoder& decoder, const LoraSetup& lora) {
  Elements sum;
  for (const LayerModule& module : layer_modules(decoder)) {
    if (module.bias && trains_bias(lora, module))
      sum += Elements(std::max<std::int64_t>(module.heads, 1)) * module.out;
  }
  sum = sum * decoder.num_hidden_layers;
  if (lora.bias != "all") return sum;
  const std::int64_t norms = (decoder.final_norm ? 1 : 0) + (decoder.embedding_norm ? 1 : 0);
  if (decoder.norm_bias) sum += Elements(decoder.hidden_size) * norms;
  const bool copied = is_saved(lora, "lm_head");
  if (decoder.lm_head_bias && !copied) sum += Elements(decoder.vocab_size);
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
    counts.trainable += trained_biases(*architecture.dense, setup.lora);
  }
  return counts;
}

}  // namespace peakline
