#include "allocator/free_list.h"

#include <algorithm>
#include <utility>

namespace peakline::allocator {

std::size_t FreeList::search(const BlockId* ids, std::size_t n, Bytes size, Bytes address) const {
  const Block* blocks = blocks_.data();
  const BlockId* first = ids;
  while (n > 0) {
    const std::size_t half = n / 2;
    const Block& it = blocks[static_cast<std::size_t>(first[half])];
    if (it.size < size || (it.size == size && it.address < address)) {
      first += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return static_cast<std::size_t>(first - ids);
}

FreeList::Place FreeList::find(Bytes size, Bytes address) const {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const Run& run = runs_[i];
    const bool is_last = i + 1 == runs_.size();
    if (!is_last && before(run.back(), size, address)) continue;
    const std::size_t at = search(run.data(), run.size(), size, address);
    if (at < run.size()) return {i, at};
  }
  return {runs_.size(), 0};
}

void FreeList::insert(BlockId id) {
  if (runs_.empty()) {
    runs_.push_back({id});
    return;
  }
  Place place = find(id);
  if (is_end(place)) place = {runs_.size() - 1, runs_.back().size()};
  Run& run = runs_[place.run];
  run.insert(run.begin() + static_cast<std::ptrdiff_t>(place.at), id);
  if (run.size() <= kLongestRun) return;
  const auto middle = run.begin() + static_cast<std::ptrdiff_t>(run.size() / 2);
  Run upper(middle, run.end());
  run.erase(middle, run.end());
  runs_.insert(runs_.begin() + static_cast<std::ptrdiff_t>(place.run) + 1, std::move(upper));
}

void FreeList::erase(Place place) {
  Run& run = runs_[place.run];
  run.erase(run.begin() + static_cast<std::ptrdiff_t>(place.at));
  if (run.empty()) runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(place.run));
}

bool FreeList::belongs_into(std::size_t run, const Block& it) const {
  const bool above = run == 0 || before(runs_[run - 1].back(), it.size, it.address);
  return above && (run + 1 == runs_.size() || !before(runs_[run + 1].front(), it.size, it.address));
}

// Within a run only those between the old place and the new one move.
void FreeList::replace(Place place, BlockId id) {
  const Block& it = block(id);
  if (runs_.size() > 1 && !belongs_into(place.run, it)) {
    erase(place);
    insert(id);
    return;
  }
  BlockId* run = runs_[place.run].data();
  BlockId* at = run + place.at;
  if (place.at > 0 && !before(at[-1], it.size, it.address)) {
    BlockId* below = run + search(run, place.at, it.size, it.address);
    std::move_backward(below, at, at + 1);
    *below = id;
  } else {
    const std::size_t left = runs_[place.run].size() - place.at - 1;
    BlockId* above = at + 1 + search(at + 1, left, it.size, it.address);
    *std::move(at + 1, above, at) = id;
  }
}

std::vector<BlockId> FreeList::in_order() const {
  std::vector<BlockId> all;
  for (const Run& run : runs_) all.insert(all.end(), run.begin(), run.end());
  return all;
}

}  // namespace peakline::allocator
