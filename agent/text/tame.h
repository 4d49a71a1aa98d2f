// Text of strangers (a config's names, a file's operations) on its way to a terminal.
#pragma once

#include <string>
#include <string_view>

namespace peakline {

// Without what a terminal would obey: control characters and those that turn the direction of
// writing, so that neither colours nor the order of what is read can be forged. They become '?',
// line breaks and tabs a space.
[[nodiscard]] std::string tame(std::string_view text);

// JSON text of the same meaning, in which such characters are escaped.
[[nodiscard]] std::string tame_json(std::string_view json);

}  // namespace peakline
