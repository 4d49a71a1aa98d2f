#include "train/step.h"

#include <algorithm>

#include "train/plain_loop.h"
#include "train/step_size.h"
#include "train/trainer_loop.h"

namespace peakline {
namespace {

std::string refused_attention(const DenseDecoder& shape, const TrainSetup& setup) {
  const Attention asked = setup.attn_implementation;
  if (asked == Attention::FlashAttention2) return "flash_attention_2 is not modelled yet";
  const bool fused = asked == Attention::Sdpa || asked == Attention::SdpaEfficient;
  if (fused && shape.eager_by_default)
    return "transformers has no sdpa attention for this model type: take eager";
  return "";
}

}  // namespace

std::string not_modelled(const DenseDecoder& shape, const TrainSetup& setup) {
  if (setup.method == Method::Inference) return "inference is not modelled yet";
  if (setup.trainer != Trainer::Transformers && setup.trainer != Trainer::None) {
    return "only the transformers Trainer and a plain loop are modelled yet";
  }
  if (std::string reason = refused_attention(shape, setup); !reason.empty()) return reason;
  if (find_optimizer(setup.optim) == nullptr)
    return "the optimizer " + setup.optim + " is not modelled yet";
  const bool own_cache =
      shape.positions == Positions::Alibi || shape.layer_form == LayerForm::SummedBlocks;
  if (setup.use_cache && !setup.gradient_checkpointing && own_cache)
    return "a key-value cache beside alibi positions or indexed heads is not modelled yet";
  if (setup.quantization.load_in_8bit) {
    if (setup.method == Method::Full)
      return "transformers trains adapters on an 8-bit base, not the base itself";
    if (setup.lora.use_dora) return "DoRA on an 8-bit base is not modelled yet";
  }
  return "";
}

std::int64_t micro_batches_run(const TrainSetup& setup, History history) {
  return history == History::BothSteps
             ? setup.gradient_accumulation_steps
             : std::min(setup.gradient_accumulation_steps, kDistinctMicroBatches);
}

void run_training(Engine& e, const DenseDecoder& shape, const TrainSetup& setup, History history) {
  const std::int64_t micro_batches = micro_batches_run(setup, history);
  if (setup.trainer == Trainer::None) {
    // Its gradients outlive a step, which an implied first step does not model.
    PlainLoop loop(e, shape, setup);
    loop.step(micro_batches);
    loop.step(micro_batches);
    e.finish_recording();
    return;
  }
  TrainerLoop loop(e, shape, setup);
  if (history == History::SteadyStep) {
    loop.assume_first_step();
  } else {
    loop.step(micro_batches);
  }
  loop.step(micro_batches);
  e.finish_recording();
}

}  // namespace peakline
