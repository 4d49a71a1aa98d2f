// The loop of transformers' Trainer.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "model/causal_lm.h"
#include "peakline/train_setup.h"
#include "train/clip.h"
#include "train/load.h"
#include "train/optimizer.h"

namespace peakline {

// Makes batches and, as a Python generator does, holds the last one until the next is made.
class BatchSource {
 public:
  BatchSource(Engine& e, const TrainSetup& setup) : e_(e), setup_(setup) {}

  Batch next() {
    Batch batch;
    batch.input_ids = ones();
    batch.labels = ones();
    current_ = batch;
    if (setup_.attention_mask != AttentionMask::None) batch.attention_mask = ones();
    current_.attention_mask = batch.attention_mask;
    last_ = batch.attention_mask.defined() ? batch.attention_mask : batch.labels;
    return batch;
  }

 private:
  Tensor ones() {
    Tensor tensor =
        e_.ones(Shape{setup_.per_device_train_batch_size, setup_.max_length}, DType::Int64);
    e_.mark(tensor, Role::Batch);
    return tensor;
  }

  Engine& e_;
  const TrainSetup& setup_;
  Batch current_;
  Tensor last_;
};

class TrainerLoop {
 public:
  TrainerLoop(Engine& e, const DenseDecoder& shape, const TrainSetup& setup)
      : e_(e), setup_(setup), source_(e, setup), optimizer_(e, find_optimizer(setup.optim)) {
    e_.set_phase(Phase::Load);
    loaded_ = load_model(e, shape, setup);
    optimizer_.build(loaded_.trainable, true);
    total_loss_ = e_.factory("_to_copy", Shape{}, DType::Float32);
    if (setup.autocast == Autocast::Bf16) autocast_ = DType::BFloat16;
    if (setup.autocast == Autocast::Fp16) autocast_ = DType::Float16;
  }

  // What a first step leaves alive: the optimizer's states, the last batch and two numbers, in
  // birth order.
  void assume_first_step() {
    e_.begin_leftovers();
    optimizer_.create_states(loaded_.trainable);
    { const Batch last = source_.next(); }
    last_check_ = e_.factory("isinf", Shape{}, DType::Bool);
    if (setup_.max_grad_norm > 0.0 && !loaded_.trainable.empty()) {
      grad_norm_ = e_.factory("linalg_vector_norm", Shape{}, loaded_.trainable[0].tensor.dtype());
    }
  }

  // transformers 5.24, trainer.py, the inner loop of _run_epoch. Every batch of the step exists
  // from its start; at most `micro_batches` of them run, since later ones repeat.
  void step(std::int64_t micro_batches) {
    e_.set_phase(Phase::Data);
    std::vector<Batch> batches;
    for (std::int64_t i = 0; i < setup_.gradient_accumulation_steps; ++i)
      batches.push_back(source_.next());
    const Tensor num_items = count_items(batches);
    const auto run = std::min(batches.size(), static_cast<std::size_t>(micro_batches));
    // A name of the Python loop: it lives until it is bound again, the last one to the step's end.
    Tensor loss;
    for (const Batch& batch : std::span(batches).last(run)) {
      e_.set_phase(Phase::Forward);
      loss = training_step(batch, num_items);
      e_.set_phase(Phase::AfterBackward);
      look_for_nan(loss);
    }
    if (setup_.max_grad_norm > 0.0) {
      e_.set_phase(Phase::Clip);
      grad_norm_ = clip_grad_norm(e_, loaded_.trainable);
    }
    e_.set_phase(Phase::Optimizer);
    optimizer_.step(loaded_.trainable);
    e_.set_phase(Phase::AfterStep);
    for (const Parameter& parameter : loaded_.trainable) e_.clear_grad(parameter.tensor);
  }

 private:
  // Trainer.get_batch_samples: how many labels count, over all micro batches.
  Tensor count_items(const std::vector<Batch>& batches) {
    Tensor total;
    for (const Batch& batch : batches) {
      Tensor counted = e_.pointwise("ne.Scalar", batch.labels, DType::Bool);
      Tensor sum = e_.sum(std::move(counted));
      Tensor next = e_.add_scalar(std::move(sum));
      total = std::move(next);
    }
    return e_.pointwise("div.Tensor", std::move(total), DType::Float32);
  }

  // The model call under autocast. Rule R042: accelerate hands the outputs out in float32, so the
  // logits are copied once more after the loss.
  CausalLmOutput call_model(const Batch& batch, const Tensor& num_items) {
    if (!autocast_) return forward(e_, loaded_.model, batch, num_items);
    CausalLmOutput output;
    {
      AutocastScope scope(e_, autocast_);
      output = forward(e_, loaded_.model, batch, num_items);
    }
    CausalLmOutput converted;
    converted.loss = output.loss;
    converted.past_key_values = output.past_key_values;
    if (output.logits.defined()) converted.logits = e_.to(output.logits, DType::Float32);
    output = {};
    return converted;
  }

  Tensor compute_loss(const Batch& batch, const Tensor& num_items) {
    CausalLmOutput output = call_model(batch, num_items);
    return output.loss;
  }

  Tensor training_step(const Batch& batch, const Tensor& num_items) {
    Tensor loss = compute_loss(batch, num_items);
    e_.set_phase(Phase::Backward);
    {
      Tensor scaled = e_.div_scalar(loss);
      e_.backward(std::move(scaled));
    }
    return e_.detach(std::move(loss));
  }

  // logging_nan_inf_filter
  void look_for_nan(const Tensor& loss) {
    { Tensor nan = e_.pointwise("isnan", loss, DType::Bool); }
    Tensor infinite = e_.pointwise("isinf", loss, DType::Bool);
    last_check_ = std::move(infinite);
    e_.add_in_place(total_loss_, loss);
  }

  Engine& e_;
  const TrainSetup& setup_;
  BatchSource source_;
  Optimizer optimizer_;
  LoadedModel loaded_;
  Tensor total_loss_;
  Tensor last_check_;
  Tensor grad_norm_;
  std::optional<DType> autocast_;
};

}  // namespace peakline
