// A list of short texts in one literal, each ended by a zero: `TextList("one\0" "two\0")`. In the
// module a table of views would take eight bytes more for each.
#pragma once

#include <cstddef>
#include <string_view>

namespace peakline {

class TextList {
 public:
  class Iterator {
   public:
    explicit constexpr Iterator(std::string_view rest) : rest_(rest) {}
    constexpr std::string_view operator*() const { return rest_.substr(0, rest_.find('\0')); }
    constexpr Iterator& operator++() {
      rest_.remove_prefix(rest_.find('\0') + 1);
      return *this;
    }
    constexpr bool operator!=(const Iterator& other) const {
      return rest_.size() != other.rest_.size();
    }

   private:
    std::string_view rest_;
  };

  constexpr TextList() = default;
  template <std::size_t N>
  explicit constexpr TextList(const char (&literal)[N]) : all_(literal, N - 1) {}

  [[nodiscard]] constexpr Iterator begin() const { return Iterator(all_); }
  [[nodiscard]] constexpr Iterator end() const { return Iterator({}); }
  [[nodiscard]] constexpr bool empty() const { return all_.empty(); }

 private:
  std::string_view all_;
};

}  // namespace peakline
