// The caching allocator's rules, one by one (c10/cuda/CUDACachingAllocator.cpp).
#include "peakline/allocator.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <vector>

#include "allocator/caching_allocator.h"

namespace peakline::allocator {
namespace {

constexpr Bytes kMiB = mebibytes(1);

AllocatorOptions limited(Bytes capacity) {
  AllocatorOptions options;
  options.capacity = capacity;
  return options;
}

TEST_CASE("a small request takes a 2 MiB segment and the next ones share it", "[allocator]") {
  CachingAllocator allocator({});
  REQUIRE(allocator.allocate(Bytes(1)) != kNoBlock);
  CHECK(allocator.allocated() == Bytes(512));
  CHECK(allocator.reserved() == 2 * kMiB);
  for (int i = 0; i < 4095; ++i) REQUIRE(allocator.allocate(Bytes(512)) != kNoBlock);
  CHECK(allocator.reserved() == 2 * kMiB);
  REQUIRE(allocator.allocate(Bytes(512)) != kNoBlock);
  CHECK(allocator.reserved() == 4 * kMiB);
}

TEST_CASE("segments of large requests: 20 MiB below 10 MiB, then multiples of 2 MiB",
          "[allocator]") {
  struct Row {
    Bytes request;
    Bytes segment;
  };
  for (const Row& row : {Row{kMiB, 2 * kMiB},
                         Row{kMiB + Bytes(512), 20 * kMiB},
                         Row{10 * kMiB - Bytes(512), 20 * kMiB},
                         Row{10 * kMiB, 10 * kMiB},
                         Row{10 * kMiB + Bytes(1), 12 * kMiB}}) {
    CachingAllocator allocator({});
    REQUIRE(allocator.allocate(row.request) != kNoBlock);
    CHECK(allocator.reserved() == row.segment);
  }
}

TEST_CASE("a large block is handed out whole when 1 MiB or less would remain", "[allocator]") {
  CachingAllocator allocator({});
  const BlockId first = allocator.allocate(12 * kMiB);
  allocator.free(first);
  REQUIRE(allocator.allocate(11 * kMiB) != kNoBlock);
  CHECK(allocator.allocated() == 12 * kMiB);
  CachingAllocator other({});
  other.free(other.allocate(12 * kMiB));
  REQUIRE(other.allocate(11 * kMiB - Bytes(512)) != kNoBlock);
  CHECK(other.allocated() == 11 * kMiB - Bytes(512));
}

TEST_CASE("free neighbours merge, so the whole segment serves again", "[allocator]") {
  CachingAllocator allocator({});
  std::vector<BlockId> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(allocator.allocate(5 * kMiB));
  CHECK(allocator.reserved() == 20 * kMiB);
  for (const std::size_t i : {1U, 3U, 0U, 2U}) allocator.free(blocks[i]);
  CHECK(allocator.allocated() == Bytes(0));
  REQUIRE(allocator.allocate(20 * kMiB) != kNoBlock);
  CHECK(allocator.reserved() == 20 * kMiB);
}

TEST_CASE("the smallest block that fits is taken", "[allocator]") {
  CachingAllocator allocator({});
  const BlockId wide = allocator.allocate(40 * kMiB);
  const BlockId narrow = allocator.allocate(30 * kMiB);
  allocator.free(wide);
  allocator.free(narrow);
  const BlockId chosen = allocator.allocate(29 * kMiB + Bytes(512));
  CHECK(chosen == narrow);
}

TEST_CASE("at the limit cached segments go back and the request is tried again", "[allocator]") {
  CachingAllocator allocator(limited(100 * kMiB));
  const BlockId cached = allocator.allocate(60 * kMiB);
  allocator.free(cached);
  CHECK(allocator.reserved() == 60 * kMiB);
  REQUIRE(allocator.allocate(80 * kMiB) != kNoBlock);
  CHECK(allocator.reserved() == 80 * kMiB);
  CHECK(allocator.retries() == 1);
  CHECK(allocator.allocate(30 * kMiB) == kNoBlock);
}

TEST_CASE("a segment with a live block cannot go back", "[allocator]") {
  CachingAllocator allocator(limited(100 * kMiB));
  const BlockId segment = allocator.allocate(60 * kMiB);
  allocator.free(segment);
  const BlockId pin = allocator.allocate(2 * kMiB);  // splits the cached segment
  CHECK(allocator.allocate(60 * kMiB) == kNoBlock);
  allocator.free(pin);
  CHECK(allocator.allocate(60 * kMiB) != kNoBlock);
}

TEST_CASE("growing segments keep freed space in one piece", "[allocator]") {
  AllocatorOptions options;
  options.expandable_segments = true;
  for (const bool expandable : {false, true}) {
    options.expandable_segments = expandable;
    CachingAllocator allocator(options);
    std::vector<BlockId> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(allocator.allocate(40 * kMiB));
    for (const BlockId block : blocks) allocator.free(block);
    REQUIRE(allocator.allocate(160 * kMiB) != kNoBlock);
    CHECK(allocator.reserved() == (expandable ? 160 * kMiB : 320 * kMiB));
  }
}

TEST_CASE("growing segments are mapped in pages of 20 MiB and reuse their free end",
          "[allocator]") {
  AllocatorOptions options;
  options.expandable_segments = true;
  CachingAllocator allocator(options);
  const BlockId first = allocator.allocate(21 * kMiB);
  CHECK(allocator.reserved() == 40 * kMiB);
  REQUIRE(allocator.allocate(25 * kMiB) != kNoBlock);  // 19 MiB are there already
  CHECK(allocator.reserved() == 60 * kMiB);
  allocator.free(first);
  CHECK(allocator.reserved() == 60 * kMiB);
}

TEST_CASE("blocks above max_split_size are neither split nor given to small requests",
          "[allocator]") {
  AllocatorOptions options;
  options.max_split_size = 100 * kMiB;
  CachingAllocator allocator(options);
  allocator.free(allocator.allocate(200 * kMiB));
  REQUIRE(allocator.allocate(50 * kMiB) != kNoBlock);
  CHECK(allocator.reserved() == 250 * kMiB);
  REQUIRE(allocator.allocate(190 * kMiB) != kNoBlock);  // within 20 MiB of the cached block
  CHECK(allocator.reserved() == 250 * kMiB);
  CHECK(allocator.allocated() == 250 * kMiB);
}

TEST_CASE("of free blocks of one size the one at the lowest address is taken", "[allocator]") {
  CachingAllocator allocator({});
  std::vector<BlockId> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(allocator.allocate(30 * kMiB));
  for (const std::size_t i : {3U, 1U, 4U, 0U, 2U}) allocator.free(blocks[i]);
  for (const BlockId block : blocks) CHECK(allocator.allocate(30 * kMiB) == block);
  CHECK(allocator.reserved() == 150 * kMiB);
}

TEST_CASE("many free blocks cost little more than few", "[allocator]") {
  constexpr int kBlocks = 100'000;
  const auto begin = std::chrono::steady_clock::now();
  CachingAllocator allocator({});
  std::vector<BlockId> blocks;
  for (int i = 0; i < kBlocks; ++i) blocks.push_back(allocator.allocate((10 + 2 * i) * kMiB));
  for (; !blocks.empty(); blocks.pop_back()) allocator.free(blocks.back());
  for (int i = 0; i < kBlocks; ++i) blocks.push_back(allocator.allocate((10 + 2 * i) * kMiB));
  CHECK(allocator.reserved() == allocator.allocated());
  // A tenth of a second; in one sorted array it is more than four.
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(4));
}

TEST_CASE("counts return to zero and reserved never falls below allocated",
          "[allocator][property]") {
  std::uint32_t state = 1;
  const auto random = [&state](std::uint32_t below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % below;
  };
  for (const bool expandable : {false, true}) {
    AllocatorOptions options;
    options.expandable_segments = expandable;
    CachingAllocator allocator(options);
    std::vector<BlockId> live;
    for (int i = 0; i < 4000; ++i) {
      if (live.empty() || random(3) != 0) {
        const Bytes size = random(2) == 0 ? Bytes(1 + random(1 << 20)) : Bytes(1 + random(1 << 26));
        live.push_back(allocator.allocate(size));
      } else {
        const std::size_t at = random(static_cast<std::uint32_t>(live.size()));
        allocator.free(live[at]);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      }
      REQUIRE(allocator.reserved() >= allocator.allocated());
    }
    for (const BlockId block : live) allocator.free(block);
    CHECK(allocator.allocated() == Bytes(0));
  }
}

}  // namespace
}  // namespace peakline::allocator
