// Turns what the JSON lexer says into a sentence a person can act on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "peakline/result.h"

namespace peakline::json {

struct SyntaxProblem {
  std::string_view text;     // the whole document
  std::size_t offset = 0;    // characters read when the lexer gave up
  std::string_view reason;   // nlohmann's sentence
  std::string_view token;    // what it read last
  std::size_t num_open = 0;  // objects and arrays still open
};

// `where` stays empty: the reader fills it in.
[[nodiscard]] Error explain_syntax_error(const SyntaxProblem& problem);

}  // namespace peakline::json
