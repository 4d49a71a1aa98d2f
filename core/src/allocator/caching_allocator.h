// The allocator itself: pools of free blocks, segments, splitting and merging.
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/free_list.h"
#include "peakline/allocator.h"

namespace peakline::allocator {

class CachingAllocator {
 public:
  explicit CachingAllocator(const AllocatorOptions& options) : options_(options) {}
  // The free lists look into this allocator's blocks.
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // kNoBlock where the request cannot be had under the capacity. `size` is above zero.
  [[nodiscard]] BlockId allocate(Bytes size);
  void free(BlockId block);

  [[nodiscard]] Bytes allocated() const { return allocated_; }
  [[nodiscard]] Bytes reserved() const { return reserved_; }
  [[nodiscard]] std::int64_t retries() const { return retries_; }

 private:
  struct Pool {
    FreeList blocks;
    BlockId tail = kNoBlock;  // last block of the pool's one growing segment (expandable segments)
  };

  [[nodiscard]] Pool& pool_of(bool small) { return small ? small_ : large_; }
  [[nodiscard]] Block& at(BlockId block) { return blocks_[static_cast<std::size_t>(block)]; }
  [[nodiscard]] BlockId new_block();
  // From the free list; where the request leaves enough of the block, the rest stays free.
  [[nodiscard]] BlockId take_best_fit(Pool& pool, Bytes size);
  void remove(BlockId block);
  [[nodiscard]] BlockId new_segment(Bytes size, bool small);
  [[nodiscard]] BlockId grow(Bytes size, bool small);
  [[nodiscard]] bool may_reserve(Bytes size) const;
  [[nodiscard]] BlockId split(BlockId block, Bytes size);
  void swallow_after(BlockId block);
  [[nodiscard]] bool splits(const Block& block, Bytes size) const;
  [[nodiscard]] bool whole_segment(const Block& block) const;
  bool release_cached();
  bool release_oversize(Bytes size);
  void release(BlockId block);

  AllocatorOptions options_;
  std::vector<Block> blocks_;
  std::vector<BlockId> unused_;
  Pool small_{FreeList(blocks_)};
  Pool large_{FreeList(blocks_)};
  Bytes next_address_;
  std::int64_t retries_ = 0;
  Bytes allocated_;
  Bytes reserved_;
};

}  // namespace peakline::allocator
