// Fixed-size blocks from a free list: tensors, storages and nodes live and die by the ten thousand
// in one run.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace peakline::symbolic {

template <class T>
class Pool {
 public:
  // Default-initialised: members without an initialiser stay as they are.
  T* make() {
    if (free_ == nullptr) grow();
    Cell* cell = free_;
    free_ = cell->next;
    return new (cell->bytes) T;
  }
  void drop(T* object) {
    object->~T();
    Cell* cell = reinterpret_cast<Cell*>(object);
    cell->next = free_;
    free_ = cell;
  }

 private:
  union Cell {
    Cell* next;
    alignas(T) std::byte bytes[sizeof(T)];
  };
  static constexpr std::size_t kCellsPerSlab = 256;

  void grow() {
    slabs_.push_back(std::make_unique_for_overwrite<Cell[]>(kCellsPerSlab));
    Cell* slab = slabs_.back().get();
    for (std::size_t i = kCellsPerSlab; i-- > 0;) {
      slab[i].next = free_;
      free_ = &slab[i];
    }
  }

  std::vector<std::unique_ptr<Cell[]>> slabs_;
  Cell* free_ = nullptr;
};

}  // namespace peakline::symbolic
