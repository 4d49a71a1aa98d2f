// A symbolic engine whose events read as text: "+mm[4,16] -x" is an allocation by mm and the end of
// the storage that the test called x. Frees between two allocations have no order of their own
// (Python drops a frame's names in another order than C++), so each run of them is sorted.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "peakline/symbolic.h"
#include "support/print.h"

namespace peakline::test {

// Words such as "+a -c -b +d" with every run of frees sorted.
inline std::string canonical(const std::string& log) {
  std::istringstream words(log);
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  const auto is_free = [](const std::string& word) { return word.front() == '-'; };
  for (auto at = all.begin(); at != all.end();) {
    const auto first = std::find_if(at, all.end(), is_free);
    at = std::find_if_not(first, all.end(), is_free);
    std::sort(first, at);
  }
  std::string text;
  for (const std::string& word : all) text += (text.empty() ? "" : " ") + word;
  return text;
}

class EventLog {
 public:
  explicit EventLog(const DeviceModel& card = {})
      : engine_(make_symbolic_engine(card, events_)), e(*engine_) {}

  // A tensor under its own name; a leaf requires grad.
  Tensor plain(const char* name, const Shape& shape, DType dtype = DType::Float32) {
    named_.insert(static_cast<std::int32_t>(events_.tensors.size()));
    return e.factory(name, shape, dtype);
  }
  Tensor leaf(const char* name, const Shape& shape, DType dtype = DType::Float32) {
    Tensor tensor = plain(name, shape, dtype);
    e.set_requires_grad(tensor, true);
    return tensor;
  }

  // The events since the last call of log() or skip().
  std::string log() {
    std::string text;
    for (; at_ < events_.events.size(); ++at_) {
      const std::int32_t event = events_.events[at_];
      text += (text.empty() ? "" : " ") + std::string(event >= 0 ? "+" : "-") +
              name_of_tensor(event >= 0 ? event : -event - 1);
    }
    return canonical(text);
  }
  void skip() { at_ = events_.events.size(); }

  std::string backward(Tensor loss) {
    skip();
    e.backward(std::move(loss));
    return log();
  }
  [[nodiscard]] std::int64_t live_bytes() const {
    Bytes live;
    for (const EventTensor& tensor : events_.tensors) {
      if (tensor.died < 0) live += tensor.bytes;
    }
    return live.count();
  }
  [[nodiscard]] const Events& events() const { return events_; }
  [[nodiscard]] const EventTensor& last() const { return events_.tensors.back(); }

 private:
  [[nodiscard]] std::string name_of_tensor(std::int32_t index) const {
    const EventTensor& tensor = events_.tensors[static_cast<std::size_t>(index)];
    if (named_.contains(index)) return tensor.op;
    std::string text = std::string(tensor.op) + "[";
    for (std::int8_t i = 0; i < tensor.rank; ++i) {
      text += (i > 0 ? "," : "") + std::to_string(tensor.dims[static_cast<std::size_t>(i)]);
    }
    return text + "]";
  }

  Events events_;
  std::unique_ptr<Engine> engine_;
  std::set<std::int32_t> named_;
  std::size_t at_ = 0;

 public:
  Engine& e;
};

}  // namespace peakline::test
