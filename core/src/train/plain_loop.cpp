#include "train/plain_loop.h"

#include <algorithm>
#include <utility>

#include "train/clip.h"

namespace peakline {

PlainLoop::PlainLoop(Engine& e, const DenseDecoder& shape, const TrainSetup& setup)
    : e_(e), setup_(setup), optimizer_(e, find_optimizer(setup.optim)) {
  e_.set_phase(Phase::Load);
  loaded_ = load_model(e, shape, setup);
  // One parameter group: AdamW(params).
  for (Parameter& parameter : loaded_.trainable) parameter.decays = true;
  optimizer_.build(loaded_.trainable, false);
  const Shape shape_of_batch{setup.per_device_train_batch_size, setup.max_length};
  batch_.input_ids = e_.ones(shape_of_batch, DType::Int64);
  batch_.labels = batch_.input_ids;
  if (setup.attention_mask != AttentionMask::None)
    batch_.attention_mask = e_.ones(shape_of_batch, DType::Int64);
  e_.mark(batch_.input_ids, Role::Batch);
  e_.mark(batch_.attention_mask, Role::Batch);
}

CausalLmOutput PlainLoop::call_model() const {
  if (setup_.autocast == Autocast::Off) return forward(e_, loaded_.model, batch_, {});
  AutocastScope scope(e_, setup_.autocast == Autocast::Bf16 ? DType::BFloat16 : DType::Float16);
  return forward(e_, loaded_.model, batch_, {});
}

void PlainLoop::step(std::int64_t micro_batches) {
  e_.set_phase(Phase::Data);
  for (const Parameter& parameter : loaded_.trainable) e_.clear_grad(parameter.tensor);
  CausalLmOutput out;
  const std::int64_t run = std::min(setup_.gradient_accumulation_steps, micro_batches);
  for (std::int64_t i = 0; i < run; ++i) {
    e_.set_phase(Phase::Forward);
    CausalLmOutput next = call_model();
    out = std::move(next);
    e_.set_phase(Phase::Backward);
    e_.backward(out.loss);
    e_.set_phase(Phase::AfterBackward);
  }
  if (setup_.max_grad_norm > 0.0) {
    e_.set_phase(Phase::Clip);
    grad_norm_ = clip_grad_norm(e_, loaded_.trainable);
  }
  e_.set_phase(Phase::Optimizer);
  optimizer_.step(loaded_.trainable);
  e_.set_phase(Phase::AfterStep);
}

}  // namespace peakline
