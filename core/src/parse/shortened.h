// Text of a person's file in a sentence: its beginning.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace peakline {

// A report holds at most this much of any one string of the config.
inline constexpr std::size_t kMaxShownBytes = 200;

// At most `most` bytes and "...", cut between UTF-8 characters.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most = kMaxShownBytes);

}  // namespace peakline
