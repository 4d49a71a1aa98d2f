// The answer: numbers, the moment of the peak, the verdict. JSON form: schema 1, keys frozen by a
// test.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "peakline/architecture.h"
#include "peakline/dtype.h"
#include "peakline/json.h"
#include "peakline/quantity.h"
#include "peakline/train_setup.h"

namespace peakline {

inline constexpr std::string_view kCoreVersion = "0.1.0";

enum class Category : std::uint8_t {
  WeightsFrozen,
  WeightsTrainable,
  Quant,
  Buffers,
  Gradients,
  Optimizer,
  Batch,
  Activations,
  Logits,
  AutocastWeightCasts,
  Recomputed,
  Temporaries,
  KernelTemporaries,
  OtherStatic,
};
inline constexpr int kNumCategories = 14;
[[nodiscard]] std::string_view name_of(Category category);  // "weights_frozen", ...

struct PeakTensor {
  std::string name;  // "layers.*.mlp.up_proj: mm"
  std::vector<std::int64_t> shape;
  DType dtype = DType::BFloat16;
  Bytes bytes;  // of all `count` together
  std::int64_t count = 1;
  std::string rule;  // "R017" or empty
};

struct PeakCategory {
  Category category = Category::Activations;
  Bytes bytes;
  std::vector<PeakTensor> tensors;  // largest first, at most kMaxPeakTensors
};
inline constexpr std::size_t kMaxPeakTensors = 6;

struct PhaseMemory {
  std::string name;
  Bytes tensor_peak;
  Bytes end;
};

struct TimelinePoint {
  std::int64_t t = 0;  // event index
  Bytes tensors;
  Bytes reserved;  // segments the replayed allocator holds then
  std::string phase;
};

// Where nine of ten runs are meant to end: tests/bench/outcomes says how many do.
inline constexpr double kIntervalCoverage = 0.9;

struct Interval {
  Bytes low;
  Bytes high;
  std::string why;
};

struct Memory {
  Bytes tensor_peak;     // live bytes, each rounded to 512
  Bytes allocated_peak;  // blocks handed out: torch.cuda.max_memory_allocated
  Bytes reserved_peak;   // segments held: torch.cuda.max_memory_reserved
  Bytes process_peak;    // midpoint of `interval`: nvidia-smi
  Bytes context;
  Bytes workspace;
  Interval interval;   // of the process
  Bytes static_bytes;  // alive once the model is loaded
  std::string peak_phase;
  std::string peak_op;
  std::vector<PhaseMemory> phases;
  std::vector<PeakCategory> at_peak;  // largest first; sums to tensor_peak
  // At most kMaxTimelinePoints; keeps every local maximum that matters.
  std::vector<TimelinePoint> timeline;
  // What PYTORCH_ALLOC_CONF=expandable_segments:True would take off `reserved_peak`; below zero
  // where it would add. Absent where it is on; filled by add_advice.
  std::optional<Bytes> expandable_saving;
  std::string saving_sentence;
  // Beside the card, where it is known.
  std::optional<Bytes> host;
  std::optional<Bytes> pinned;
  std::optional<Bytes> disk;
};
inline constexpr std::size_t kMaxTimelinePoints = 240;

enum class Answer : std::uint8_t { Fits, TooClose, DoesNotFit, NotModelled };
enum class Risk : std::uint8_t { Low, Medium, High };
[[nodiscard]] std::string_view name_of(Risk risk);      // "low", ...
[[nodiscard]] std::string_view name_of(Answer answer);  // "fits", ...

enum class Resource : std::uint8_t { Gpu, HostRam, Pinned, Disk };
[[nodiscard]] std::string_view name_of(Resource resource);  // "gpu", ...

// One thing a run takes, against what there is.
struct Limit {
  Resource resource = Resource::Gpu;
  Bytes needed;
  std::optional<Bytes> have;     // absent where nobody said
  std::optional<Answer> answer;  // likewise
  std::string sentence;
};

// What training would take if 4-bit blocks came from disk one by one.
struct Streaming {
  Bytes gpu;
  Bytes host;
  Bytes pinned;  // the part of `host` that may not be swapped out
  Bytes disk;
  std::string sentence;
};

struct Verdict {
  Answer answer = Answer::NotModelled;
  Risk risk = Risk::High;
  Bytes usable;
  // Usable minus the interval's high end. Below zero a run may still fit: PyTorch gives cached
  // memory back before it fails.
  Bytes margin;
  std::string sentence;
  std::vector<Limit> limits;           // the worst of their answers is `answer`
  std::optional<Streaming> streaming;  // where it was asked for, or nothing else is left
};

// What a change costs beside memory.
enum class Cost : std::uint8_t { None, Slower, Quality };
[[nodiscard]] std::string_view name_of(Cost cost);  // "none", ...

// A smaller run: what to change in the setup, and what was simulated with it.
struct Change {
  json::Value patch;  // a partial setup
  Bytes saves;        // of the process, between the middles of both intervals
  Cost cost = Cost::None;
  Answer answer = Answer::NotModelled;
  std::string sentence;
};

struct Provenance {
  std::string value;  // JSON pointer or name of the number it speaks of
  std::string kind;   // exact | derived | assumed | measured
  std::string sentence;
};

// What the fields may mean as well.
struct Alternative {
  Elements num_parameters;  // adapters included, as in Report
  std::string sentence;
};

struct Report {
  Architecture architecture;
  TrainSetup setup;
  Elements num_parameters;            // 0: not counted
  Elements num_trainable_parameters;  // likewise
  std::optional<Alternative> alternative;
  // False where the step is not modelled: weights only, never a guessed peak.
  bool has_memory = false;
  Memory memory;
  Verdict verdict;
  std::vector<Change> changes;  // filled by add_advice, which simulates a dozen more runs
  std::vector<Provenance> provenance;
  std::vector<std::string> notes;
};

// Compact JSON of at most 64 KB.
[[nodiscard]] std::string to_json(const Report& report);

// "21.4 GiB", "512 MiB", "96 B": the one place where bytes become words.
[[nodiscard]] std::string format_bytes(Bytes bytes);

}  // namespace peakline
