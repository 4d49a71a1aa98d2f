// What must hold whatever the bytes are. A broken law ends the program, so that the fuzzer keeps
// the input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "peakline/estimate.h"
#include "peakline/json.h"

namespace peakline::fuzz {

inline void require(bool holds, std::string_view law, std::string_view got = {}) {
  if (holds) return;
  std::fprintf(stderr,
               "broken: %.*s\ngot: %.*s\n",
               static_cast<int>(law.size()),
               law.data(),
               static_cast<int>(got.size()),
               got.data());
  std::abort();
}

// A refusal says what is wrong, briefly, and never blames the program itself.
inline void check_errors(const Errors& errors) {
  constexpr std::size_t kLongest = 4096;
  require(!errors.empty(), "a refusal names a mistake");
  for (const Error& error : errors) {
    require(error.code != ErrorCode::Internal, "no input is an internal error", error.message);
    require(!error.message.empty(), "every error has a message", error.where);
    require(error.message.size() + error.hint.size() + error.where.size() < kLongest,
            "an error is a few sentences",
            error.message);
  }
  require(json::parse(errors_json(errors)).has_value(), "errors are written as JSON");
}

}  // namespace peakline::fuzz
