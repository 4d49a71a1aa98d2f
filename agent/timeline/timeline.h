// A timeline: every storage's birth and death in order. The symbolic engine makes one, and so does
// the real Python stack on fake CUDA tensors; both have this form.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "peakline/quantity.h"
#include "peakline/result.h"
#include "peakline/symbolic.h"

namespace peakline::timeline {

struct TimelineTensor {
  Bytes bytes;  // rounded to 512
  std::vector<std::int64_t> shape;
  std::string dtype;
  std::string op;  // the dispatcher's name
  std::string phase;
  std::string module;  // dotted name, may be empty
  std::string rule;    // id of the rule behind it, where one is known
  bool kernel_temporary = false;
};

struct Mark {
  std::int64_t event = 0;
  std::string phase;
};

struct Timeline {
  std::vector<TimelineTensor> tensors;
  std::vector<std::int64_t> events;  // i >= 0 allocates tensors[i], i < 0 frees tensors[-i - 1]
  std::vector<Mark> phases;          // a phase starts with the event at its index
};

[[nodiscard]] Timeline from_events(const Events& events);

// JSON, gzipped where the file's name ends in ".gz" (reading looks at the content instead).
[[nodiscard]] Result<Timeline> read_timeline(const std::filesystem::path& path);
// The "row" object beside a recorded timeline (settings, peak, versions), as JSON text; "null"
// without one.
[[nodiscard]] std::string read_row(const std::filesystem::path& path);
[[nodiscard]] Result<Timeline> parse_timeline(std::string_view json);
[[nodiscard]] std::string to_json(const Timeline& timeline);
[[nodiscard]] Result<bool> write_timeline(const Timeline& timeline,
                                          const std::filesystem::path& path);

// One line on a tensor, harmless to a terminal: "8388608 B [1, 1024, 2048] float32 _to_copy in
// model.layers.0 (forward)".
[[nodiscard]] std::string describe(const TimelineTensor& tensor);

}  // namespace peakline::timeline
