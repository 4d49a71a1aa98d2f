#include "peakline/quantity.h"

#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <type_traits>

#include "peakline/dtype.h"

namespace peakline {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};

TEST_CASE("a quantity knows its unit", "[quantity]") {
  STATIC_CHECK(Addable<Bytes, Bytes>);
  STATIC_CHECK_FALSE(Addable<Bytes, Elements>);
  STATIC_CHECK_FALSE(Addable<Bytes, std::int64_t>);
  STATIC_CHECK_FALSE(Comparable<Bytes, Tokens>);
  STATIC_CHECK_FALSE(std::is_convertible_v<std::int64_t, Bytes>);
  STATIC_CHECK_FALSE(std::is_convertible_v<Bytes, std::int64_t>);
  STATIC_CHECK(sizeof(Bytes) == 8);  // on wasm32 too
}

TEST_CASE("arithmetic saturates instead of wrapping", "[quantity]") {
  CHECK(Bytes(kMax) + Bytes(1) == Bytes(kMax));
  CHECK(Bytes(kMin) + Bytes(-1) == Bytes(kMin));
  CHECK(Bytes(kMin) - Bytes(1) == Bytes(kMin));
  CHECK(Bytes(kMax) - Bytes(-1) == Bytes(kMax));
  CHECK(Bytes(0) - Bytes(kMin) == Bytes(kMax));
  CHECK(Bytes(kMax) * 2 == Bytes(kMax));
  CHECK(Bytes(kMax) * -2 == Bytes(kMin));
  CHECK(Bytes(kMin) * 2 == Bytes(kMin));
  CHECK(Bytes(kMin) * -2 == Bytes(kMax));
  CHECK(-3 * Bytes(kMax) == Bytes(kMin));
  Bytes sum(kMax - 1);
  sum += Bytes(5);
  CHECK(sum.saturated());
  sum -= Bytes(1);
  CHECK_FALSE(sum.saturated());
}

TEST_CASE("ordinary arithmetic is exact", "[quantity]") {
  CHECK(Bytes(3) + Bytes(4) == Bytes(7));
  CHECK(Bytes(3) - Bytes(4) == Bytes(-1));
  CHECK(2 * Bytes(3) == Bytes(6));
  CHECK(Bytes(1) < Bytes(2));
  CHECK(Bytes{} == Bytes(0));
  CHECK(mebibytes(3) == Bytes(3 * 1048576));
  CHECK(gibibytes(80) == Bytes(85899345920));
}

TEST_CASE("a share of a quantity is rounded down, without overflow in between", "[quantity]") {
  struct Row {
    std::int64_t bytes;
    std::int64_t numerator;
    std::int64_t denominator;
    std::int64_t result;
  };
  for (const Row& row : {Row{100, 1, 3, 33},
                         Row{100, 90, 100, 90},
                         Row{-100, 1, 3, -33},
                         Row{kMax, 1, 1, kMax},
                         Row{kMax - 1, 90, 100, 8301034833169298225},
                         Row{kMax, 90, 100, kMax},  // too much stays too much
                         Row{kMin, 90, 100, kMin},
                         Row{kMax, -5, 100, kMin},
                         Row{kMax, 0, 100, 0},
                         Row{kMax - 1, 110, 100, kMax},
                         Row{kMin + 1, 110, 100, kMin},
                         Row{gibibytes(80).count(), 95, 100, 81604378624},
                         Row{5, 0, 7, 0},
                         Row{8, 65, 2, 260}}) {
    CHECK(scaled(Bytes(row.bytes), row.numerator, row.denominator) == Bytes(row.result));
  }
}

TEST_CASE("storages take whole blocks of 512 bytes", "[quantity]") {
  struct Row {
    std::int64_t bytes;
    std::int64_t block;
  };
  for (const Row& row : {Row{0, 0},
                         Row{1, 512},
                         Row{511, 512},
                         Row{512, 512},
                         Row{513, 1024},
                         Row{(1LL << 40) + 1, (1LL << 40) + 512},
                         Row{kMax - 1023, kMax - 1023},
                         Row{kMax - 510, kMax},
                         Row{kMax, kMax}}) {
    CHECK(rounded_to_block(Bytes(row.bytes)) == Bytes(row.block));
  }
}

TEST_CASE("sizes of element types", "[quantity]") {
  using enum DType;
  struct Row {
    DType dtype;
    std::int64_t bytes;
    const char* name;
    bool floating;
    bool half;
  };
  for (const Row& row : {Row{Bool, 1, "bool", false, false},
                         Row{UInt8, 1, "uint8", false, false},
                         Row{Int8, 1, "int8", false, false},
                         Row{Int32, 4, "int32", false, false},
                         Row{Int64, 8, "int64", false, false},
                         Row{UInt64, 8, "uint64", false, false},
                         Row{Float16, 2, "float16", true, true},
                         Row{BFloat16, 2, "bfloat16", true, true},
                         Row{Float32, 4, "float32", true, false}}) {
    CHECK(bytes_per_element(row.dtype) == row.bytes);
    CHECK(name_of(row.dtype) == row.name);
    CHECK(is_floating_point(row.dtype) == row.floating);
    CHECK(is_half(row.dtype) == row.half);
    CHECK(size_of(Elements(1LL << 40), row.dtype) == Bytes((1LL << 40) * row.bytes));
  }
  CHECK(size_of(Elements(kMax), Float32).saturated());
}

}  // namespace
}  // namespace peakline
