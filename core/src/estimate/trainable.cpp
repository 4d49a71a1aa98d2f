#include "estimate/trainable.h"

#include "architecture/dense_decoder.h"
#include "train/load.h"

namespace peakline {

namespace {

// R * (in + out) for every projection with an adapter, over all layers.
Elements adapter_parameters(const DenseDecoder& s, const LoraSetup& lora) {
  const std::int64_t q = s.num_attention_heads * s.head_dim;
  const std::int64_t kv = s.num_key_value_heads * s.head_dim;
  const std::int64_t h = s.hidden_size;
  const std::int64_t f = s.intermediate_size;
  struct Row {
    const char* name;
    std::int64_t in;
    std::int64_t out;
  };
  Elements sum;
  for (const Row& row : {Row{"q_proj", h, q},
                         Row{"k_proj", h, kv},
                         Row{"v_proj", h, kv},
                         Row{"o_proj", q, h},
                         Row{"gate_proj", h, f},
                         Row{"up_proj", h, f},
                         Row{"down_proj", f, h}}) {
    if (is_lora_target(lora, row.name)) sum += Elements(row.in + row.out) * lora.r;
  }
  return sum * s.num_hidden_layers;
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
