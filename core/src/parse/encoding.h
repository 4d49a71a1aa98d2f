// Text that is no UTF-8: told by its first bytes, before a reader stumbles over them.
#pragma once

#include <optional>
#include <string_view>

namespace peakline::json {

// "UTF-16", "UTF-32": by a byte order mark, or by the zero bytes beside a document's first letters.
[[nodiscard]] std::optional<std::string_view> foreign_encoding(std::string_view text);

}  // namespace peakline::json
