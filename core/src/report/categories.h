// What is alive at one moment, and what it is for. Definitions are those of the recorded rows
// (tests/timelines): a role where the step gave one, else derived from where and when a tensor was
// made.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "peakline/report.h"
#include "peakline/symbolic.h"
#include "report/analyse.h"

namespace peakline {

class PeakView {
 public:
  PeakView(const Events& events, StepRange step, std::int32_t event, std::int64_t vocab_size);

  // Largest first; sums to the live bytes at the moment.
  [[nodiscard]] std::vector<PeakCategory> categories() const;
  // "backward:loss", ...
  [[nodiscard]] std::string_view phase() const;
  // The dispatcher's name of the operation whose allocation reaches the moment.
  [[nodiscard]] std::string_view op() const { return trigger_.op; }

 private:
  [[nodiscard]] Category category_of(const EventTensor& tensor) const;
  [[nodiscard]] bool has_parameter_shape(const EventTensor& tensor) const;
  [[nodiscard]] bool is_vocabulary_wide(const EventTensor& tensor) const;

  const Events& events_;
  std::int32_t event_ = 0;
  std::int32_t backward_begin_ = 0;  // of the moment's step
  std::int64_t vocab_size_ = 0;
  const EventTensor& trigger_;
  std::vector<const EventTensor*> parameter_shapes_;  // one sample of each
};

}  // namespace peakline
