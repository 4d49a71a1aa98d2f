// The allocator itself: pools of free blocks, segments, splitting and merging.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "peakline/allocator.h"

namespace peakline::allocator {

using BlockId = std::int32_t;
inline constexpr BlockId kNoBlock = -1;

class CachingAllocator {
 public:
  explicit CachingAllocator(const AllocatorOptions& options) : options_(options) {}

  // kNoBlock where the request cannot be had under the capacity. `size` is above zero.
  [[nodiscard]] BlockId allocate(Bytes size);
  void free(BlockId block);

  [[nodiscard]] Bytes allocated() const { return allocated_; }
  [[nodiscard]] Bytes reserved() const { return reserved_; }
  [[nodiscard]] std::int64_t retries() const { return retries_; }

 private:
  struct FreeBlock {
    Bytes size;
    Bytes address;
    BlockId block = kNoBlock;
    friend bool operator<(const FreeBlock& a, const FreeBlock& b) {
      return a.size != b.size ? a.size < b.size : a.address < b.address;
    }
  };
  using FreeList = std::set<FreeBlock>;  // best fit is the first that is large enough
  struct Block {
    Bytes address;
    Bytes size;
    FreeList::iterator place;   // valid while free
    BlockId before = kNoBlock;  // neighbours within the segment
    BlockId after = kNoBlock;
    bool small = false;
    bool free = false;
  };
  struct Pool {
    FreeList blocks;
    BlockId tail = kNoBlock;  // last block of the pool's one growing segment (expandable segments)
  };

  [[nodiscard]] Pool& pool_of(bool small) { return small ? small_ : large_; }
  [[nodiscard]] Block& at(BlockId block) { return blocks_[static_cast<std::size_t>(block)]; }
  [[nodiscard]] BlockId new_block();
  void insert(BlockId block);
  void remove(BlockId block);
  [[nodiscard]] BlockId take_best_fit(Pool& pool, Bytes size);
  [[nodiscard]] BlockId new_segment(Bytes size, bool small);
  [[nodiscard]] BlockId grow(Bytes size, bool small);
  [[nodiscard]] bool may_reserve(Bytes size) const;
  void split(BlockId block, Bytes size);
  void merge_after(BlockId block);
  [[nodiscard]] bool splits(const Block& block, Bytes size) const;
  [[nodiscard]] bool whole_segment(const Block& block) const;
  bool release_cached();
  bool release_oversize(Bytes size);
  void release(BlockId block);

  AllocatorOptions options_;
  std::vector<Block> blocks_;
  std::vector<BlockId> unused_;
  std::vector<FreeList::node_type> spare_;  // nodes to use again: most blocks are free only briefly
  Pool small_;
  Pool large_;
  Bytes next_address_;
  std::int64_t retries_ = 0;
  Bytes allocated_;
  Bytes reserved_;
};

}  // namespace peakline::allocator
