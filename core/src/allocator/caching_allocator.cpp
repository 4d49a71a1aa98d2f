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

void CachingAllocator::insert(BlockId block) {
  Block& it = at(block);
  it.free = true;
  FreeList& free = pool_of(it.small).blocks;
  const FreeBlock entry{it.size, it.address, block};
  if (spare_.empty()) {
    it.place = free.insert(entry).first;
    return;
  }
  spare_.back().value() = entry;
  it.place = free.insert(std::move(spare_.back())).position;
  spare_.pop_back();
}

void CachingAllocator::remove(BlockId block) {
  Block& it = at(block);
  it.free = false;
  spare_.push_back(pool_of(it.small).blocks.extract(it.place));
}

// get_free_block: the smallest free block that holds the request. With max_split_size, blocks above
// it serve only requests above it, and those not much smaller than themselves.
BlockId CachingAllocator::take_best_fit(Pool& pool, Bytes size) {
  const auto found = pool.blocks.lower_bound({size, Bytes(0), kNoBlock});
  if (found == pool.blocks.end()) return kNoBlock;
  if (options_.max_split_size) {
    const Bytes limit = *options_.max_split_size;
    if (size < limit && found->size >= limit) return kNoBlock;
    if (size >= limit && found->size >= size + kLargeBuffer) return kNoBlock;
  }
  const BlockId block = found->block;
  remove(block);
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

void CachingAllocator::split(BlockId block, Bytes size) {
  const BlockId rest = new_block();
  Block& it = at(block);
  Block& other = at(rest);
  other.small = it.small;
  other.address = it.address + size;
  other.size = it.size - size;
  other.before = block;
  other.after = it.after;
  if (it.after != kNoBlock) at(it.after).before = rest;
  it.after = rest;
  it.size = size;
  Pool& pool = pool_of(it.small);
  if (pool.tail == block) pool.tail = rest;
  insert(rest);
}

BlockId CachingAllocator::allocate(Bytes bytes) {
  const Bytes size = rounded_to_block(bytes);
  const bool small = size <= kSmallSize;
  BlockId block = take_best_fit(pool_of(small), size);
  if (block == kNoBlock) block = new_segment(size, small);
  if (block == kNoBlock && options_.max_split_size && release_oversize(size))
    block = new_segment(size, small);
  if (block == kNoBlock) {
    ++retries_;
    release_cached();
    block = new_segment(size, small);
  }
  if (block == kNoBlock) return kNoBlock;
  if (splits(at(block), size)) split(block, size);
  allocated_ += at(block).size;
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
  allocated_ -= at(block).size;
  merge_after(block);
  const BlockId previous = at(block).before;
  if (previous != kNoBlock && at(previous).free) {
    remove(previous);
    at(block).free = true;  // so that the previous block swallows it
    insert(block);
    merge_after(previous);
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
  reserved_ -= at(block).size;
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
bool CachingAllocator::release_oversize(Bytes size) {
  const Bytes wanted = std::max(size, *options_.max_split_size);
  Bytes released;
  while (released < size) {
    BlockId chosen = kNoBlock;
    for (const FreeBlock& free : large_.blocks) {
      if (free.size < *options_.max_split_size || !whole_segment(at(free.block))) continue;
      chosen = free.block;  // the largest so far; the smallest that suffices wins
      if (free.size >= wanted) break;
    }
    if (chosen == kNoBlock) return released >= size;
    released += at(chosen).size;
    release(chosen);
  }
  return true;
}

}  // namespace peakline::allocator
