// The free blocks of one pool in best-fit order: by size, then by address. A pool holds some
// hundred blocks, and a freed or split block mostly moves a few places, so they are numbers in a
// sorted array; a longer one is cut into runs, so that an absurd step costs no more per event.
#pragma once

#include <cstddef>
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
  struct Place {
    std::size_t run = 0;
    std::size_t at = 0;
  };

  explicit FreeList(const std::vector<Block>& blocks) : blocks_(blocks) {}

  [[nodiscard]] bool is_end(Place place) const { return place.run == runs_.size(); }
  [[nodiscard]] BlockId operator[](Place place) const { return runs_[place.run][place.at]; }
  // The first block at least this large, and not below the address where sizes are equal.
  [[nodiscard]] Place find(Bytes size, Bytes address) const;
  [[nodiscard]] Place find(BlockId id) const { return find(block(id).size, block(id).address); }
  void insert(BlockId id);
  void erase(Place place);
  // Another block, or the same with another size, for the one at this place.
  void replace(Place place, BlockId id);
  [[nodiscard]] std::vector<BlockId> in_order() const;

 private:
  using Run = std::vector<BlockId>;
  static constexpr std::size_t kLongestRun = 1024;

  [[nodiscard]] const Block& block(BlockId id) const {
    return blocks_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] bool before(BlockId id, Bytes size, Bytes address) const {
    const Block& it = block(id);
    return it.size != size ? it.size < size : it.address < address;
  }
  // How many of these, in order, come before.
  [[nodiscard]] std::size_t search(const BlockId* ids,
                                   std::size_t n,
                                   Bytes size,
                                   Bytes address) const;
  [[nodiscard]] bool belongs_into(std::size_t run, const Block& it) const;

  const std::vector<Block>& blocks_;
  std::vector<Run> runs_;  // none is empty
};

}  // namespace peakline::allocator
