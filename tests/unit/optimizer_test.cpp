// Optimizers as memory: states per parameter and what one step makes and drops. Bytes per element
// are those of the real optimizers' runs: 8 for AdamW on float32, 4 on bfloat16, 2 for 8-bit
// states.
#include "train/optimizer.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/event_log.h"
#include "support/step.h"

namespace peakline::test {
namespace {

std::vector<EventTensor> made_since(const EventLog& run, std::size_t begin) {
  const auto& all = run.events().tensors;
  return {all.begin() + static_cast<std::ptrdiff_t>(begin), all.end()};
}

// An embedding, a large weight, a small one and a norm; the norm does not decay.
std::vector<Parameter> parameters(EventLog& run, DType dtype = DType::BFloat16) {
  return {{run.leaf("embedding", Shape{512, 64}, dtype), true, true},
          {run.leaf("weight", Shape{128, 64}, dtype), true, false},
          {run.leaf("norm", Shape{64}, dtype), false, false},
          {run.leaf("small", Shape{8, 64}, dtype), true, false}};
}

// Adafactor skips parameters without one.
void give_gradients(EventLog& run, const std::vector<Parameter>& all) {
  for (const Parameter& parameter : all) {
    Tensor squares = run.e.mul(parameter.tensor, parameter.tensor);
    Tensor loss = run.e.sum(std::move(squares));
    run.e.backward(std::move(loss));
  }
}

std::string words(const std::vector<EventTensor>& tensors) {
  std::string text;
  for (const EventTensor& tensor : tensors) {
    text += std::string(tensor.op) + " " + std::string(name_of(tensor.dtype)) + " [";
    for (std::int8_t i = 0; i < tensor.rank; ++i) {
      text += (i > 0 ? "," : "") + std::to_string(tensor.dims[static_cast<std::size_t>(i)]);
    }
    text += "]\n";
  }
  return text;
}

TEST_CASE("an optimizer's states are born at its first step, decaying parameters first",
          "[optimizer]") {
  struct Row {
    const char* optim;
    const char* states;
  };
  const char* adamw =
      "zeros_like bfloat16 [512,64]\nzeros_like bfloat16 [512,64]\n"
      "zeros_like bfloat16 [128,64]\nzeros_like bfloat16 [128,64]\n"
      "zeros_like bfloat16 [8,64]\nzeros_like bfloat16 [8,64]\n"
      "zeros_like bfloat16 [64]\nzeros_like bfloat16 [64]\n";
  // The fused kernel counts its steps on the device.
  const char* fused =
      "zeros float32 []\nzeros_like bfloat16 [512,64]\nzeros_like bfloat16 [512,64]\n"
      "zeros float32 []\nzeros_like bfloat16 [128,64]\nzeros_like bfloat16 [128,64]\n"
      "zeros float32 []\nzeros_like bfloat16 [8,64]\nzeros_like bfloat16 [8,64]\n"
      "zeros float32 []\nzeros_like bfloat16 [64]\nzeros_like bfloat16 [64]\n";
  // Embeddings and small tensors stay in 32 bit; the two code tables are made once.
  const char* eight_bit =
      "zeros_like float32 [512,64]\nzeros_like float32 [512,64]\n"
      "_to_copy float32 [256]\n_to_copy float32 [256]\n"
      "zeros_like uint8 [128,64]\nzeros_like uint8 [128,64]\n"
      "zeros float32 [32]\nzeros float32 [32]\n"
      "zeros_like float32 [8,64]\nzeros_like float32 [8,64]\n"
      "zeros_like float32 [64]\nzeros_like float32 [64]\n";
  const char* lion_32bit =
      "zeros_like float32 [512,64]\nzeros_like float32 [128,64]\nzeros_like float32 [8,64]\n"
      "zeros_like float32 [64]\n";
  const char* lion_8bit =
      "zeros_like float32 [512,64]\n_to_copy float32 [256]\nzeros_like uint8 [128,64]\n"
      "zeros float32 [32]\nzeros_like float32 [8,64]\nzeros_like float32 [64]\n";
  // A row and a column for each matrix, a number to scale the step.
  const char* adafactor =
      "_to_copy float32 [512]\n_to_copy float32 [64]\ndiv.Tensor float32 []\n"
      "_to_copy float32 [128]\n_to_copy float32 [64]\ndiv.Tensor float32 []\n"
      "_to_copy float32 [8]\n_to_copy float32 [64]\ndiv.Tensor float32 []\n"
      "zeros_like float32 [64]\ndiv.Tensor float32 []\n";
  for (const Row& row : {Row{"adamw_torch_fused", fused},
                         Row{"adamw_torch", adamw},
                         Row{"adamw_bnb_8bit", eight_bit},
                         Row{"adamw_8bit", eight_bit},
                         Row{"sgd", ""},
                         Row{"lion_32bit", lion_32bit},
                         Row{"lion_8bit", lion_8bit},
                         Row{"adafactor", adafactor}}) {
    INFO(row.optim);
    EventLog run;
    const std::vector<Parameter> all = parameters(run);
    Optimizer optimizer(run.e, find_optimizer(row.optim));
    give_gradients(run, all);
    const std::size_t begin = run.events().tensors.size();
    optimizer.step(all);
    std::vector<EventTensor> states;
    for (const EventTensor& made : made_since(run, begin)) {
      if (made.died < 0) states.push_back(made);
    }
    CHECK(words(states) == row.states);
    for (const EventTensor& state : states) CHECK(state.role == Role::Optimizer);
    const std::int64_t live = run.live_bytes();
    optimizer.step(all);
    CHECK(run.live_bytes() == live);
  }
}

TEST_CASE("states made before the first step are the same bytes", "[optimizer]") {
  for (const char* optim : {"adamw_torch", "adamw_torch_fused", "adamw_bnb_8bit", "sgd"}) {
    EventLog first;
    EventLog second;
    const std::vector<Parameter> a = parameters(first);
    const std::vector<Parameter> b = parameters(second);
    Optimizer stepped(first.e, find_optimizer(optim));
    stepped.step(a);
    Optimizer made(second.e, find_optimizer(optim));
    made.create_states(b);
    CHECK(first.live_bytes() == second.live_bytes());
    made.step(b);
    CHECK(first.live_bytes() == second.live_bytes());
  }
}

TEST_CASE("paged states of large tensors take no device memory", "[optimizer]") {
  struct Row {
    const char* optim;
    std::int64_t elements;
    const char* log;
  };
  // bitsandbytes pages from 100 000 elements on; statistics of 8-bit states are never paged.
  for (const Row& row :
       {Row{"paged_adamw_32bit", 100000, ""},
        Row{"paged_adamw_32bit", 99999, "+zeros_like[99999] +zeros_like[99999]"},
        Row{"paged_lion_32bit", 99999, "+zeros_like[99999]"},
        Row{"paged_lion_32bit", 100000, ""},
        Row{"paged_lion_8bit", 99999, "+_to_copy[256] +zeros_like[99999] +zeros[391]"},
        Row{"paged_adamw_8bit", 102400, "+_to_copy[256] +_to_copy[256] +zeros[400] +zeros[400]"},
        Row{"paged_lion_8bit", 102400, "+_to_copy[256] +zeros[400]"}}) {
    EventLog run;
    const std::vector<Parameter> one = {{run.leaf("w", Shape{row.elements}), true, false}};
    Optimizer optimizer(run.e, find_optimizer(row.optim));
    run.skip();
    optimizer.step(one);
    INFO(row.optim << " " << row.elements);
    CHECK(run.log() == row.log);
  }
}

TEST_CASE("Adafactor works in float32 on one parameter at a time, and skips one without gradient",
          "[optimizer]") {
  EventLog run;
  const std::vector<Parameter> all = parameters(run);
  Optimizer optimizer(run.e, find_optimizer("adafactor"));
  optimizer.create_states(all);
  run.skip();
  optimizer.step(all);
  CHECK(run.log().empty());
  give_gradients(run, all);
  const std::int64_t before = run.live_bytes();
  std::int64_t highest = 0;
  std::int64_t live = before;
  const std::size_t begin = run.events().events.size();
  optimizer.step(all);
  for (std::size_t i = begin; i < run.events().events.size(); ++i) {
    const std::int32_t event = run.events().events[i];
    const auto& tensor =
        run.events().tensors[static_cast<std::size_t>(event >= 0 ? event : -event - 1)];
    live += event >= 0 ? tensor.bytes.count() : -tensor.bytes.count();
    highest = std::max(highest, live - before);
  }
  CHECK(run.live_bytes() == before);
  // Sixteen bytes per element of the largest tensor: gradient, parameter, two of the update.
  CHECK(highest >= 16 * 512 * 64);
  CHECK(highest <= 16 * 512 * 64 + 16384);
}

TEST_CASE("8-bit states begin at 4096 elements", "[optimizer]") {
  for (const std::int64_t elements : {4095, 4096, 4097}) {
    EventLog run;
    const std::vector<Parameter> one = {{run.leaf("w", Shape{elements}), true, false}};
    Optimizer optimizer(run.e, find_optimizer("adamw_bnb_8bit"));
    run.skip();
    optimizer.step(one);
    const std::string n = std::to_string(elements);
    const std::string blocks = elements == 4097 ? "17" : "16";
    CHECK(run.log() == (elements == 4095
                            ? "+zeros_like[4095] +zeros_like[4095]"
                            : "+_to_copy[256] +_to_copy[256] +zeros_like[" + n + "] +zeros_like[" +
                                  n + "] +zeros[" + blocks + "] +zeros[" + blocks + "]"));
  }
}

TEST_CASE("foreach AdamW holds one more copy of a group's parameters for a moment", "[optimizer]") {
  for (const DType dtype : {DType::BFloat16, DType::Float32}) {
    EventLog run;
    const std::vector<Parameter> all = parameters(run, dtype);
    Optimizer optimizer(run.e, find_optimizer("adamw_torch"));
    optimizer.create_states(all);
    run.skip();
    optimizer.step(all);
    // Decaying parameters are one group, the norm another; frees are sorted here.
    CHECK(run.log() == canonical("+_foreach_sqrt[512,64] +_foreach_sqrt[128,64] "
                                 "+_foreach_sqrt[8,64] -_foreach_sqrt[512,64] "
                                 "-_foreach_sqrt[128,64] -_foreach_sqrt[8,64] "
                                 "+_foreach_sqrt[64] -_foreach_sqrt[64]"));
    CHECK(run.last().dtype == dtype);
  }
}

TEST_CASE("other optimizers make nothing in later steps", "[optimizer]") {
  for (const char* optim : {"adamw_torch_fused", "adamw_bnb_8bit", "sgd"}) {
    EventLog run;
    const std::vector<Parameter> all = parameters(run);
    Optimizer optimizer(run.e, find_optimizer(optim));
    optimizer.step(all);
    run.skip();
    optimizer.step(all);
    CHECK(run.log().empty());
  }
}

TEST_CASE("an optimizer without parameters does nothing", "[optimizer]") {
  for (const char* optim : {"adamw_torch", "adamw_torch_fused", "adamw_bnb_8bit", "sgd"}) {
    EventLog run;
    Optimizer optimizer(run.e, find_optimizer(optim));
    optimizer.step({});
    CHECK(run.log().empty());
  }
}

TEST_CASE("every optimizer of TrainingArguments is modelled or refused by name", "[optimizer]") {
  std::vector<std::string> modelled;
  for (const SetupKey& key : setup_keys()) {
    if (key.name != "optim") continue;
    std::string names(key.choices);
    for (std::size_t begin = 0; begin < names.size();) {
      const std::size_t end = std::min(names.find(" | ", begin), names.size());
      const std::string name = names.substr(begin, end - begin);
      begin = end + 3;
      const Report report = report_of(Decoder{}.config(), {{"optim", name}, {"method", "full"}});
      INFO(name);
      CHECK(report.has_memory == (find_optimizer(name) != nullptr));
      if (report.has_memory) {
        modelled.push_back(name);
      } else {
        CHECK(report.verdict.answer == Answer::NotModelled);
        CHECK(report.verdict.sentence.find(name) != std::string::npos);
      }
    }
  }
  CHECK(modelled.size() >= 5);
}

}  // namespace
}  // namespace peakline::test
