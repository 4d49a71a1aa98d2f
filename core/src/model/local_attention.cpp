#include "model/local_attention.h"

#include <utility>

namespace peakline {

// transformers 5.24, GPTNeoSelfAttention._attn. Queries and keys are made float32, and
// every step from the scores on is a whole [S, S] matrix of every head.
Attended windowed_attention(Engine& e,
                            const Tensor& query_,
                            const Tensor& key_,
                            const Tensor& value,
                            const Tensor& window,
                            const Tensor& mask,
                            const ModelOptions& options) {
  const Tensor query = e.to(query_, DType::Float32);
  const Tensor key = e.to(key_, DType::Float32);
  Attended out;
  {
    Tensor turned = e.transpose(key, 2, 3);
    out.weights = e.matmul(query, std::move(turned));
  }
  const std::int64_t length = query.size(2);
  Tensor rows = e.slice(window, -2, 0, length);
  const Tensor causal = e.slice(std::move(rows), -1, 0, length);
  {
    Tensor inside = e.where(causal, out.weights);
    out.weights = std::move(inside);
  }
  if (mask.defined()) {
    Tensor masked = e.add(out.weights, mask);
    out.weights = std::move(masked);
  }
  {
    Tensor probabilities = e.softmax_as_is(out.weights);
    out.weights = std::move(probabilities);
  }
  {
    Tensor cast = e.to(out.weights, value.dtype());
    out.weights = std::move(cast);
  }
  if (options.attention_dropout) {
    Tensor dropped = e.dropout(out.weights);
    out.weights = std::move(dropped);
  }
  Tensor mixed = e.matmul(out.weights, value);
  out.hidden_states = e.transpose(std::move(mixed), 1, 2);
  return out;
}

}  // namespace peakline
