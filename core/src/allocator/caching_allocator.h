// The allocator itself: pools of free blocks, segments, splitting and merging.
#pragma once

#include <cstdint>
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
  struct Block {
    std::int64_t address = 0;
    std::int64_t size = 0;
    BlockId before = kNoBlock;  // neighbours within the segment
    BlockId after = kNoBlock;
    bool small = false;
    bool free = false;
    std::int64_t last_used = 0;  // the request after which it became free
  };
  struct FreeBlock {
    std::int64_t size;
    std::int64_t address;
    BlockId block;
  };
  // Sorted by size, then address.
  struct Pool {
    std::vector<FreeBlock> blocks;
    BlockId tail = kNoBlock;  // last block of the pool's one growing segment (expandable segments)
  };

  [[nodiscard]] Pool& pool_of(bool small) { return small ? small_ : large_; }
  [[nodiscard]] Block& at(BlockId block) { return blocks_[static_cast<std::size_t>(block)]; }
  [[nodiscard]] BlockId new_block();
  void insert(BlockId block);
  void remove(BlockId block);
  [[nodiscard]] BlockId take_best_fit(Pool& pool, std::int64_t size);
  [[nodiscard]] BlockId new_segment(std::int64_t size, bool small);
  [[nodiscard]] BlockId grow(std::int64_t size, bool small);
  [[nodiscard]] bool may_reserve(std::int64_t size) const;
  void split(BlockId block, std::int64_t size);
  void merge_after(BlockId block);
  [[nodiscard]] bool splits(const Block& block, std::int64_t size) const;
  [[nodiscard]] bool whole_segment(const Block& block) const;
  bool release_cached();
  bool release_oversize(std::int64_t size);
  void release(BlockId block);
  void collect_garbage();

  AllocatorOptions options_;
  std::vector<Block> blocks_;
  std::vector<BlockId> unused_;
  Pool small_;
  Pool large_;
  std::int64_t next_address_ = 0;
  std::int64_t requests_ = 0;
  std::int64_t retries_ = 0;
  Bytes allocated_;
  Bytes reserved_;
};

}  // namespace peakline::allocator
