#include "allocator/caching_allocator.h"

#include <algorithm>
#include <limits>

namespace peakline::allocator {

namespace {

// c10/core/AllocatorConfig.h and CUDACachingAllocator.cpp, in bytes.
constexpr std::int64_t kMinBlockSize = 512;
constexpr std::int64_t kSmallSize = 1 << 20;     // requests up to this come from the small pool
constexpr std::int64_t kSmallBuffer = 2 << 20;   // whose segments have this size
constexpr std::int64_t kLargeBuffer = 20 << 20;  // segments of requests below kMinLargeAlloc
constexpr std::int64_t kMinLargeAlloc = 10 << 20;
constexpr std::int64_t kRoundLarge = 2 << 20;  // larger segments are multiples of this
constexpr std::int64_t kSegmentGap = 1 << 21;  // segments never touch, so they never merge

std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

std::int64_t segment_size(std::int64_t size) {
  if (size <= kSmallSize) return kSmallBuffer;
  return size < kMinLargeAlloc ? kLargeBuffer : round_up(size, kRoundLarge);
}

}  // namespace

BlockId CachingAllocator::new_block() {
  if (!unused_.empty()) {
    const BlockId block = unused_.back();
    unused_.pop_back();
    at(block) = {};
    return block;
  }
  blocks_.emplace_back();
  return static_cast<BlockId>(blocks_.size()) - 1;
}

void CachingAllocator::insert(BlockId block) {
  Block& it = at(block);
  it.free = true;
  auto& free = pool_of(it.small).blocks;
  const auto place =
      std::lower_bound(free.begin(), free.end(), it, [](const FreeBlock& a, const Block& b) {
        return a.size != b.size ? a.size < b.size : a.address < b.address;
      });
  free.insert(place, {it.size, it.address, block});
}

void CachingAllocator::remove(BlockId block) {
  Block& it = at(block);
  it.free = false;
  auto& free = pool_of(it.small).blocks;
  const auto place =
      std::lower_bound(free.begin(), free.end(), it, [](const FreeBlock& a, const Block& b) {
        return a.size != b.size ? a.size < b.size : a.address < b.address;
      });
  free.erase(place);
}

// get_free_block: the smallest free block that holds the request. With max_split_size, blocks above
// it serve only requests above it, and those not much smaller than themselves.
BlockId CachingAllocator::take_best_fit(Pool& pool, std::int64_t size) {
  const auto found = std::lower_bound(
      pool.blocks.begin(), pool.blocks.end(), size, [](const FreeBlock& a, std::int64_t wanted) {
        return a.size < wanted;
      });
  if (found == pool.blocks.end()) return kNoBlock;
  if (options_.max_split_size) {
    const std::int64_t limit = options_.max_split_size->count();
    if (size < limit && found->size >= limit) return kNoBlock;
    if (size >= limit && found->size >= size + kLargeBuffer) return kNoBlock;
  }
  const BlockId block = found->block;
  pool.blocks.erase(found);
  at(block).free = false;
  return block;
}

bool CachingAllocator::may_reserve(std::int64_t size) const {
  return !options_.capacity || reserved_ + Bytes(size) <= *options_.capacity;
}

BlockId CachingAllocator::new_segment(std::int64_t size, bool small) {
  if (options_.expandable_segments) return grow(size, small);
  const std::int64_t bytes = segment_size(size);
  if (!may_reserve(bytes)) return kNoBlock;
  const BlockId block = new_block();
  Block& it = at(block);
  it.address = next_address_;
  it.size = bytes;
  it.small = small;
  next_address_ += bytes + kSegmentGap;
  reserved_ += Bytes(bytes);
  return block;
}

// One segment a pool, mapped further in whole pages of the pool's segment size; a free block at its
// end is part of what the request needs.
BlockId CachingAllocator::grow(std::int64_t size, bool small) {
  constexpr std::int64_t kFarApart = std::int64_t{1} << 50;
  Pool& pool = pool_of(small);
  const bool extends = pool.tail != kNoBlock && at(pool.tail).free;
  const std::int64_t have = extends ? at(pool.tail).size : 0;
  const std::int64_t mapped = round_up(size - have, small ? kSmallBuffer : kLargeBuffer);
  if (!may_reserve(mapped)) return kNoBlock;
  reserved_ += Bytes(mapped);
  if (extends) {
    remove(pool.tail);
    at(pool.tail).size += mapped;
    return pool.tail;
  }
  const BlockId block = new_block();
  Block& it = at(block);
  it.small = small;
  it.size = mapped;
  it.before = pool.tail;
  it.address =
      pool.tail == kNoBlock ? (small ? 0 : kFarApart) : at(pool.tail).address + at(pool.tail).size;
  if (pool.tail != kNoBlock) at(pool.tail).after = block;
  pool.tail = block;
  return block;
}

bool CachingAllocator::splits(const Block& block, std::int64_t size) const {
  const std::int64_t remaining = block.size - size;
  if (block.small || options_.expandable_segments) return remaining >= kMinBlockSize;
  const bool may_split = !options_.max_split_size || size < options_.max_split_size->count();
  return may_split && remaining > kSmallSize;
}

void CachingAllocator::split(BlockId block, std::int64_t size) {
  const BlockId rest = new_block();
  Block& it = at(block);
  Block& other = at(rest);
  other.small = it.small;
  other.address = it.address + size;
  other.size = it.size - size;
  other.before = block;
  other.after = it.after;
  other.last_used = requests_;
  if (it.after != kNoBlock) at(it.after).before = rest;
  it.after = rest;
  it.size = size;
  Pool& pool = pool_of(it.small);
  if (pool.tail == block) pool.tail = rest;
  insert(rest);
}

BlockId CachingAllocator::allocate(Bytes bytes) {
  const std::int64_t size = rounded_to_block(bytes).count();
  const bool small = size <= kSmallSize;
  ++requests_;
  BlockId block = take_best_fit(pool_of(small), size);
  if (block == kNoBlock) {
    collect_garbage();
    block = new_segment(size, small);
  }
  if (block == kNoBlock && options_.max_split_size && release_oversize(size))
    block = new_segment(size, small);
  if (block == kNoBlock) {
    ++retries_;
    release_cached();
    block = new_segment(size, small);
  }
  if (block == kNoBlock) return kNoBlock;
  if (splits(at(block), size)) split(block, size);
  allocated_ += Bytes(at(block).size);
  return block;
}

void CachingAllocator::merge_after(BlockId block) {
  Block& it = at(block);
  const BlockId next = it.after;
  if (next == kNoBlock || !at(next).free) return;
  remove(next);
  it.size += at(next).size;
  it.after = at(next).after;
  if (it.after != kNoBlock) at(it.after).before = block;
  Pool& pool = pool_of(it.small);
  if (pool.tail == next) pool.tail = block;
  unused_.push_back(next);
}

void CachingAllocator::free(BlockId block) {
  allocated_ -= Bytes(at(block).size);
  at(block).last_used = requests_;
  merge_after(block);
  const BlockId previous = at(block).before;
  if (previous != kNoBlock && at(previous).free) {
    remove(previous);
    at(block).free = true;  // so that the previous block swallows it
    insert(block);
    merge_after(previous);
    at(previous).last_used = requests_;
    insert(previous);
    return;
  }
  insert(block);
}

bool CachingAllocator::whole_segment(const Block& block) const {
  return block.before == kNoBlock && block.after == kNoBlock;
}

void CachingAllocator::release(BlockId block) {
  remove(block);
  reserved_ -= Bytes(at(block).size);
  unused_.push_back(block);
}

// release_cached_blocks: whole free segments go back. A growing segment gives back its free end.
bool CachingAllocator::release_cached() {
  bool released = false;
  for (Pool* pool : {&small_, &large_}) {
    std::vector<BlockId> whole;
    for (const FreeBlock& free : pool->blocks) {
      const bool goes =
          options_.expandable_segments ? free.block == pool->tail : whole_segment(at(free.block));
      if (goes) whole.push_back(free.block);
    }
    for (const BlockId block : whole) {
      if (options_.expandable_segments) {
        pool->tail = at(block).before;
        if (pool->tail != kNoBlock) at(pool->tail).after = kNoBlock;
      }
      release(block);
      released = true;
    }
  }
  return released;
}

// release_available_cached_blocks: with max_split_size, one large enough oversize block goes back
// first, or as many of the largest as make up the request.
bool CachingAllocator::release_oversize(std::int64_t size) {
  const std::int64_t wanted = std::max(size, options_.max_split_size->count());
  std::int64_t released = 0;
  while (released < size) {
    BlockId chosen = kNoBlock;
    for (const FreeBlock& free : large_.blocks) {
      if (free.size < options_.max_split_size->count() || !whole_segment(at(free.block))) continue;
      chosen = free.block;  // the largest so far; the smallest that suffices wins
      if (free.size >= wanted) break;
    }
    if (chosen == kNoBlock) return released >= size;
    released += at(chosen).size;
    release(chosen);
  }
  return true;
}

// garbage_collect_cached_blocks: whole segments idle for longer than the average go back until the
// reserved bytes are below the threshold.
void CachingAllocator::collect_garbage() {
  if (!options_.garbage_collection_percent || !options_.capacity) return;
  const Bytes threshold = scaled(*options_.capacity, *options_.garbage_collection_percent, 100);
  bool freed = true;
  while (reserved_ > threshold && freed) {
    std::int64_t total_age = 0;
    std::int64_t count = 0;
    for (const FreeBlock& free : large_.blocks) {
      if (!whole_segment(at(free.block))) continue;
      total_age += requests_ - at(free.block).last_used;
      ++count;
    }
    if (count == 0) return;
    std::vector<BlockId> old;
    for (const FreeBlock& free : large_.blocks) {
      const bool idle = (requests_ - at(free.block).last_used) * count >= total_age;
      if (whole_segment(at(free.block)) && idle) old.push_back(free.block);
    }
    freed = !old.empty();
    for (const BlockId block : old) {
      if (reserved_ > threshold) release(block);
    }
  }
}

}  // namespace peakline::allocator
