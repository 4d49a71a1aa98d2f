// The free blocks of one pool in best-fit order: by size, then by address. A sorted array of
// numbers: a pool holds some hundred blocks, and a freed or split block mostly moves a few places.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "peakline/quantity.h"

namespace peakline::allocator {

using BlockId = std::int32_t;
inline constexpr BlockId kNoBlock = -1;

struct Block {
  Bytes address;
  Bytes size;
  BlockId before = kNoBlock;  // neighbours within the segment
  BlockId after = kNoBlock;
  bool small = false;
  bool free = false;
};

class FreeList {
 public:
  using Place = std::vector<BlockId>::iterator;

  [[nodiscard]] Place begin() { return ids_.begin(); }
  [[nodiscard]] Place end() { return ids_.end(); }
  // The first block at least this large, and not below the address where sizes are equal.
  [[nodiscard]] Place find(const std::vector<Block>& blocks, Bytes size, Bytes address) {
    return search(blocks, begin(), end(), size, address);
  }
  void insert(const std::vector<Block>& blocks, BlockId id) {
    const Block& block = blocks[static_cast<std::size_t>(id)];
    ids_.insert(find(blocks, block.size, block.address), id);
  }
  void erase(Place at) { ids_.erase(at); }
  // Another block, or the same with another size, for the one at this place: only those between
  // the old place and the new one move.
  void replace(const std::vector<Block>& blocks, Place at, BlockId id) {
    const Block& block = blocks[static_cast<std::size_t>(id)];
    if (at != begin() && !before(blocks, at[-1], block.size, block.address)) {
      const Place below = search(blocks, begin(), at, block.size, block.address);
      std::move_backward(below, at, at + 1);
      *below = id;
    } else {
      const Place above = search(blocks, at + 1, end(), block.size, block.address);
      *std::move(at + 1, above, at) = id;
    }
  }

 private:
  static bool before(const std::vector<Block>& blocks, BlockId id, Bytes size, Bytes address) {
    const Block& block = blocks[static_cast<std::size_t>(id)];
    return block.size != size ? block.size < size : block.address < address;
  }
  static Place search(
      const std::vector<Block>& blocks, Place first, Place last, Bytes size, Bytes address) {
    return std::partition_point(
        first, last, [&](BlockId id) { return before(blocks, id, size, address); });
  }

  std::vector<BlockId> ids_;
};

}  // namespace peakline::allocator
