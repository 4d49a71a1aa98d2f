// Programs drawn by chance: a list of instructions over tensors of one shape, so that any list runs
// and any part of a failing one can be left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parity/parity.h"

namespace peakline::test {

struct Instruction {
  std::uint32_t op = 0;     // index into the table of program.cpp, modulo its size
  std::uint32_t first = 0;  // operands: indices of values made so far, modulo their number
  std::uint32_t second = 0;
  std::uint32_t flavour = 0;  // what else the operation leaves open
};

using Instructions = std::vector<Instruction>;

[[nodiscard]] Instructions draw_program(std::uint64_t seed, std::size_t length);
[[nodiscard]] std::string words(const Instructions& program);

// Runs the program forward and backward, twice over the same leaves.
[[nodiscard]] Program run_twice(const Instructions& program);

// The smallest part of a failing program that still fails.
[[nodiscard]] Instructions shrunk(Instructions program);

}  // namespace peakline::test
