#include "allocator/caching_allocator.h"

#include <algorithm>
#include <utility>

namespace peakline::allocator {

namespace {

// c10/core/AllocatorConfig.h and CUDACachingAllocator.cpp.
constexpr Bytes kMinBlockSize = Bytes(512);
constexpr Bytes kSmallSize = mebibytes(1);     // requests up to this come from the small pool
constexpr Bytes kSmallBuffer = mebibytes(2);   // whose segments have this size
constexpr Bytes kLargeBuffer = mebibytes(20);  // segments of requests below kMinLargeAlloc
constexpr Bytes kMinLargeAlloc = mebibytes(10);
constexpr Bytes kRoundLarge = mebibytes(2);  // larger segments are multiples of this
constexpr Bytes kSegmentGap = mebibytes(2);  // segments never touch, so they never merge

Bytes round_up(Bytes size, Bytes multiple) {
  const Bytes padded = size + multiple - Bytes(1);
  return Bytes(padded.count() / multiple.count() * multiple.count());
}

Bytes segment_size(Bytes size) {
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

void CachingAllocator::remove(BlockId block) {
  at(block).free = false;
  FreeList& free = pool_of(at(block).small).blocks;
  free.erase(free.find(block));
}

// get_free_block: the smallest free block that holds the request. With max_split_size, blocks above
// it serve only requests above it, and those not much smaller than themselves.
BlockId CachingAllocator::take_best_fit(Pool& pool, Bytes size) {
  const FreeList::Place found = pool.blocks.find(size, Bytes(0));
  if (pool.blocks.is_end(found)) return kNoBlock;
  const BlockId block = pool.blocks[found];
  if (options_.max_split_size) {
    const Bytes limit = *options_.max_split_size;
    if (size < limit && at(block).size >= limit) return kNoBlock;
    if (size >= limit && at(block).size >= size + kLargeBuffer) return kNoBlock;
  }
  at(block).free = false;
  if (splits(at(block), size)) {
    pool.blocks.replace(found, split(block, size));
  } else {
    pool.blocks.erase(found);
  }
  return block;
}

bool CachingAllocator::may_reserve(Bytes size) const {
  return !options_.capacity || reserved_ + size <= *options_.capacity;
}

BlockId CachingAllocator::new_segment(Bytes size, bool small) {
  if (options_.expandable_segments) return grow(size, small);
  const Bytes bytes = segment_size(size);
  if (!may_reserve(bytes)) return kNoBlock;
  const BlockId block = new_block();
  Block& it = at(block);
  it.address = next_address_;
  it.size = bytes;
  it.small = small;
  next_address_ += bytes + kSegmentGap;
  reserved_ += bytes;
  return block;
}

// One segment a pool, mapped further in whole pages of the pool's segment size; a free block at its
// end is part of what the request needs.
BlockId CachingAllocator::grow(Bytes size, bool small) {
  constexpr Bytes kFarApart = Bytes(std::int64_t{1} << 50);
  Pool& pool = pool_of(small);
  const bool extends = pool.tail != kNoBlock && at(pool.tail).free;
  const Bytes have = extends ? at(pool.tail).size : Bytes(0);
  const Bytes mapped = round_up(size - have, small ? kSmallBuffer : kLargeBuffer);
  if (!may_reserve(mapped)) return kNoBlock;
  reserved_ += mapped;
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
  it.address = pool.tail == kNoBlock ? (small ? Bytes(0) : kFarApart)
                                     : at(pool.tail).address + at(pool.tail).size;
  if (pool.tail != kNoBlock) at(pool.tail).after = block;
  pool.tail = block;
  return block;
}

bool CachingAllocator::splits(const Block& block, Bytes size) const {
  const Bytes remaining = block.size - size;
  if (block.small || options_.expandable_segments) return remaining >= kMinBlockSize;
  const bool may_split = !options_.max_split_size || size < *options_.max_split_size;
  return may_split && remaining > kSmallSize;
}

// The block keeps the request; what is left of it is a free block, not in the list yet.
BlockId CachingAllocator::split(BlockId block, Bytes size) {
  const BlockId rest = new_block();
  Block& it = at(block);
  Block& other = at(rest);
  other.small = it.small;
  other.free = true;
  other.address = it.address + size;
  other.size = it.size - size;
  other.before = block;
  other.after = it.after;
  if (it.after != kNoBlock) at(it.after).before = rest;
  it.after = rest;
  it.size = size;
  Pool& pool = pool_of(it.small);
  if (pool.tail == block) pool.tail = rest;
  return rest;
}

BlockId CachingAllocator::allocate(Bytes bytes) {
  const Bytes size = rounded_to_block(bytes);
  const bool small = size <= kSmallSize;
  Pool& pool = pool_of(small);
  BlockId block = take_best_fit(pool, size);
  if (block == kNoBlock) {
    block = new_segment(size, small);
    if (block == kNoBlock && options_.max_split_size && release_oversize(size))
      block = new_segment(size, small);
    if (block == kNoBlock) {
      ++retries_;
      release_cached();
      block = new_segment(size, small);
    }
    if (block == kNoBlock) return kNoBlock;
    if (splits(at(block), size)) pool.blocks.insert(split(block, size));
  }
  allocated_ += at(block).size;
  return block;
}

// The block after this one, free and out of the list, becomes part of it.
void CachingAllocator::swallow_after(BlockId block) {
  Block& it = at(block);
  const BlockId next = it.after;
  it.size += at(next).size;
  it.after = at(next).after;
  if (it.after != kNoBlock) at(it.after).before = block;
  Pool& pool = pool_of(it.small);
  if (pool.tail == next) pool.tail = block;
  unused_.push_back(next);
}

// A block that grows by its free neighbours takes over the place of one of them.
void CachingAllocator::free(BlockId block) {
  allocated_ -= at(block).size;
  FreeList& free = pool_of(at(block).small).blocks;
  const BlockId before = at(block).before;
  const BlockId after = at(block).after;
  const bool joins_before = before != kNoBlock && at(before).free;
  const bool joins_after = after != kNoBlock && at(after).free;
  const BlockId joined = joins_before ? before : block;
  if (joins_before && joins_after) remove(after);
  FreeList::Place place;
  if (joins_before || joins_after) place = free.find(joins_before ? before : after);
  if (joins_after) swallow_after(block);
  if (joins_before) swallow_after(before);
  at(joined).free = true;
  if (joins_before || joins_after) {
    free.replace(place, joined);
  } else {
    free.insert(joined);
  }
}

bool CachingAllocator::whole_segment(const Block& block) const {
  return block.before == kNoBlock && block.after == kNoBlock;
}

void CachingAllocator::release(BlockId block) {
  remove(block);
  reserved_ -= at(block).size;
  unused_.push_back(block);
}

// release_cached_blocks: whole free segments go back. A growing segment gives back its free end.
bool CachingAllocator::release_cached() {
  bool released = false;
  for (Pool* pool : {&small_, &large_}) {
    std::vector<BlockId> whole;
    for (const BlockId free : pool->blocks.in_order()) {
      const bool goes = options_.expandable_segments ? free == pool->tail : whole_segment(at(free));
      if (goes) whole.push_back(free);
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
bool CachingAllocator::release_oversize(Bytes size) {
  const Bytes wanted = std::max(size, *options_.max_split_size);
  Bytes released;
  while (released < size) {
    BlockId chosen = kNoBlock;
    for (const BlockId free : large_.blocks.in_order()) {
      if (at(free).size < *options_.max_split_size || !whole_segment(at(free))) continue;
      chosen = free;  // the largest so far; the smallest that suffices wins
      if (at(free).size >= wanted) break;
    }
    if (chosen == kNoBlock) return released >= size;
    released += at(chosen).size;
    release(chosen);
  }
  return true;
}

}  // namespace peakline::allocator
