#include "timeline/diff.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "text/tame.h"

namespace peakline::timeline {

namespace {

constexpr std::size_t kContextLines = 8;

// Walks one timeline by large events. A large storage gets a number: its place among the large
// allocations of the part compared, which is what identifies it across timelines.
class Walker {
 public:
  explicit Walker(const Timeline& timeline) : timeline_(timeline) { skip_load(); }

  [[nodiscard]] const std::vector<std::int64_t>& initial() const { return initial_; }

  // Collects frees up to the next large allocation; false at the end.
  bool advance() {
    frees_.clear();
    while (at_ < timeline_.events.size()) {
      const std::int64_t event = timeline_.events[at_++];
      const TimelineTensor& tensor = tensor_of(event);
      const bool large = tensor.bytes > kSmall;
      if (!large) {
        small_ = event >= 0 ? small_ + tensor.bytes : small_ - tensor.bytes;
        continue;
      }
      note(event);
      if (event >= 0) {
        numbers_[event] = next_number_++;
        allocated_ = event;
        return true;
      }
      frees_.push_back(number_of(-event - 1));
    }
    allocated_ = -1;
    return false;
  }

  [[nodiscard]] const TimelineTensor& allocated() const {
    return timeline_.tensors[static_cast<std::size_t>(allocated_)];
  }
  [[nodiscard]] std::vector<std::int64_t> sorted_frees() const {
    std::vector<std::int64_t> sorted = frees_;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
  [[nodiscard]] const TimelineTensor& numbered(std::int64_t number) const {
    const auto found = std::find_if(numbers_.begin(), numbers_.end(), [&](const auto& entry) {
      return entry.second == number;
    });
    return timeline_.tensors[static_cast<std::size_t>(found->first)];
  }
  [[nodiscard]] Bytes small() const { return small_; }
  [[nodiscard]] std::int64_t event() const { return static_cast<std::int64_t>(at_) - 1; }
  [[nodiscard]] std::string phase() const {
    std::string phase;
    for (const Mark& mark : timeline_.phases) {
      if (mark.event <= event()) phase = mark.phase;
    }
    return tame(phase);
  }
  [[nodiscard]] std::string context() const {
    std::string text;
    for (const std::int64_t event : recent_) {
      text += std::string(event >= 0 ? "  + " : "  - ") + describe(tensor_of(event)) + "\n";
    }
    return text;
  }

 private:
  [[nodiscard]] const TimelineTensor& tensor_of(std::int64_t event) const {
    return timeline_.tensors[static_cast<std::size_t>(event >= 0 ? event : -event - 1)];
  }
  [[nodiscard]] std::int64_t number_of(std::int64_t tensor) const {
    const auto found = numbers_.find(tensor);
    return found == numbers_.end() ? -1 : found->second;
  }
  void note(std::int64_t event) {
    recent_.push_back(event);
    if (recent_.size() > kContextLines) recent_.erase(recent_.begin());
  }

  void skip_load() {
    std::size_t begin = 0;
    for (const Mark& mark : timeline_.phases) {
      if (mark.phase != "data") continue;
      begin = static_cast<std::size_t>(mark.event);
      break;
    }
    std::map<std::int64_t, bool> alive;
    for (; at_ < begin && at_ < timeline_.events.size(); ++at_) {
      const std::int64_t event = timeline_.events[at_];
      if (event >= 0) {
        alive[event] = true;
      } else {
        alive.erase(-event - 1);
      }
    }
    for (const auto& [tensor, unused] : alive) {
      if (tensor_of(tensor).bytes > kSmall) {
        numbers_[tensor] = next_number_++;
        initial_.push_back(tensor);
      } else {
        small_ += tensor_of(tensor).bytes;
      }
    }
  }

  const Timeline& timeline_;
  std::size_t at_ = 0;
  std::map<std::int64_t, std::int64_t> numbers_;  // tensor -> number
  std::int64_t next_number_ = 0;
  std::vector<std::int64_t> initial_;
  std::vector<std::int64_t> frees_;
  std::vector<std::int64_t> recent_;
  std::int64_t allocated_ = -1;
  Bytes small_;
};

std::string pair_of(const TimelineTensor& a, const TimelineTensor& b) {
  return "A: " + describe(a) + "\nB: " + describe(b);
}

Difference difference(const Walker& a, const Walker& b, std::string what) {
  Difference out;
  out.what = std::move(what);
  out.event_a = a.event();
  out.event_b = b.event();
  out.phase = a.phase();
  for (const auto& [name, walker] : {std::pair{"A", &a}, std::pair{"B", &b}}) {
    const std::string before = walker->context();
    if (!before.empty()) out.context += std::string(name) + " before it:\n" + before;
  }
  return out;
}

bool same(const TimelineTensor& a, const TimelineTensor& b) {
  return a.bytes == b.bytes && a.dtype == b.dtype && a.shape == b.shape && a.op == b.op;
}

std::optional<Difference> compare_initial(const Timeline& a,
                                          const Timeline& b,
                                          const Walker& in_a,
                                          const Walker& in_b) {
  const std::size_t count = std::min(in_a.initial().size(), in_b.initial().size());
  for (std::size_t i = 0; i < count; ++i) {
    const TimelineTensor& first = a.tensors[static_cast<std::size_t>(in_a.initial()[i])];
    const TimelineTensor& second = b.tensors[static_cast<std::size_t>(in_b.initial()[i])];
    if (first.bytes == second.bytes && first.dtype == second.dtype && first.shape == second.shape)
      continue;
    return difference(in_a, in_b, "the models differ once loaded\n" + pair_of(first, second));
  }
  if (in_a.initial().size() == in_b.initial().size()) return std::nullopt;
  return difference(in_a,
                    in_b,
                    "A holds " + std::to_string(in_a.initial().size()) +
                        " large tensors once loaded, B " + std::to_string(in_b.initial().size()));
}

std::optional<Difference> compare_frees(const Walker& a, const Walker& b) {
  const std::vector<std::int64_t> first = a.sorted_frees();
  const std::vector<std::int64_t> second = b.sorted_frees();
  if (first == second) return std::nullopt;
  std::string what = "different tensors are freed here";
  std::size_t lines = 0;
  for (const std::int64_t number : first) {
    if (lines < kContextLines && !std::binary_search(second.begin(), second.end(), number)) {
      what += "\nonly A frees " + describe(a.numbered(number));
      ++lines;
    }
  }
  lines = 0;
  for (const std::int64_t number : second) {
    if (lines < kContextLines && !std::binary_search(first.begin(), first.end(), number)) {
      what += "\nonly B frees " + describe(b.numbered(number));
      ++lines;
    }
  }
  return difference(a, b, what);
}

}  // namespace

Comparison compare(const Timeline& a, const Timeline& b) {
  Comparison result;
  Walker in_a(a);
  Walker in_b(b);
  result.first = compare_initial(a, b, in_a, in_b);
  while (!result.first) {
    const bool more_a = in_a.advance();
    const bool more_b = in_b.advance();
    if ((result.first = compare_frees(in_a, in_b))) break;
    result.compared_events += static_cast<std::int64_t>(in_a.sorted_frees().size());
    if (!more_a && !more_b) break;
    if (more_a != more_b) {
      result.first = difference(in_a,
                                in_b,
                                std::string(more_a ? "only A" : "only B") + " goes on with " +
                                    describe((more_a ? in_a : in_b).allocated()));
      break;
    }
    if (!same(in_a.allocated(), in_b.allocated())) {
      result.first = difference(
          in_a, in_b, "different allocations\n" + pair_of(in_a.allocated(), in_b.allocated()));
      break;
    }
    const Bytes apart = in_a.small() - in_b.small();
    if (apart > kSmallSlack || Bytes(0) - apart > kSmallSlack) {
      result.first = difference(in_a,
                                in_b,
                                "bytes in small tensors differ by more than 1 MiB: A " +
                                    std::to_string(in_a.small().count()) + ", B " +
                                    std::to_string(in_b.small().count()));
      break;
    }
    ++result.compared_events;
  }
  return result;
}

}  // namespace peakline::timeline
