#include "train/step.h"

#include <utility>
#include <vector>

#include "model/causal_lm.h"
#include "train/load.h"
#include "train/optimizer.h"

namespace peakline {

namespace {

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

class Training {
 public:
  Training(Engine& e, const DenseDecoder& shape, const TrainSetup& setup)
      : e_(e), setup_(setup), source_(e, setup), optimizer_(e, find_optimizer(setup.optim)) {
    e_.set_phase(Phase::Load);
    loaded_ = load_model(e, shape, setup);
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

  // transformers 5.24, trainer.py, the inner loop of _run_epoch.
  void step() {
    e_.set_phase(Phase::Data);
    std::vector<Batch> batches;
    for (std::int64_t i = 0; i < setup_.gradient_accumulation_steps; ++i)
      batches.push_back(source_.next());
    const Tensor num_items = count_items(batches);
    for (const Batch& batch : batches) {
      e_.set_phase(Phase::Forward);
      Tensor loss = training_step(batch, num_items);
      e_.set_phase(Phase::AfterBackward);
      look_for_nan(loss);
    }
    if (setup_.max_grad_norm > 0.0) {
      e_.set_phase(Phase::Clip);
      clip_grad_norm();
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

  // torch.nn.utils.clip_grad_norm_: norms, their norm, and a scale in place.
  void clip_grad_norm() {
    std::vector<Tensor> gradients;
    for (const Parameter& parameter : loaded_.trainable) {
      Tensor gradient = e_.grad(parameter.tensor);
      if (gradient.defined()) gradients.push_back(std::move(gradient));
    }
    if (gradients.empty()) return;
    std::vector<Tensor> norms = e_.foreach_norm(gradients);
    Tensor stacked =
        e_.factory("stack", Shape{static_cast<std::int64_t>(norms.size())}, norms[0].dtype());
    Tensor total = e_.factory("linalg_vector_norm", Shape{}, norms[0].dtype());
    stacked.reset();
    // From the back, as a Python list dies; clear() goes one way in libstdc++ and the other in
    // libc++.
    while (!norms.empty()) norms.pop_back();
    Tensor shifted = e_.add_scalar(total);
    Tensor scale = e_.pointwise("reciprocal", std::move(shifted), total.dtype());
    Tensor coefficient = e_.mul_scalar(std::move(scale));
    Tensor clamped = e_.pointwise("clamp", std::move(coefficient), total.dtype());
    grad_norm_ = std::move(total);
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

}  // namespace

std::string not_modelled(const DenseDecoder& shape, const TrainSetup& setup) {
  if (setup.method == Method::Inference) return "inference is not modelled yet";
  if (setup.trainer != Trainer::Transformers)
    return "only the transformers Trainer is modelled yet";
  if (setup.attn_implementation == Attention::FlashAttention2 ||
      setup.attn_implementation == Attention::SdpaEfficient) {
    return "only the library's own choice of attention, sdpa and eager are modelled yet";
  }
  if (find_optimizer(setup.optim) == nullptr)
    return "the optimizer " + setup.optim + " is not modelled yet";
  if (setup.dtype == DType::Float16 || setup.autocast == Autocast::Fp16) {
    return "float16 training with its gradient scaler is not modelled yet";
  }
  if (setup.use_cache) return "use_cache during training is not modelled yet";
  if (setup.quantization.load_in_8bit) return "an 8-bit base is not modelled yet";
  if (setup.lora.use_dora) return "DoRA is not modelled yet";
  if (!setup.lora.modules_to_save.empty()) return "modules_to_save is not modelled yet";
  if (setup.lora.bias != "none") return "training biases beside adapters is not modelled yet";
  if (shape.hidden_act != HiddenAct::Silu) return "this activation function is not modelled yet";
  return {};
}

void run_training(Engine& e, const DenseDecoder& shape, const TrainSetup& setup, History history) {
  Training training(e, shape, setup);
  if (history == History::SteadyStep) {
    training.assume_first_step();
  } else {
    training.step();
  }
  training.step();
  e.finish_recording();
}

}  // namespace peakline
