// What a person typed or pasted to name a model on the hub: an id or any of its addresses.
#pragma once

#include <string>
#include <string_view>

#include "hub/settings.h"
#include "peakline/result.h"

namespace peakline::hub {

struct Reference {
  std::string id;                    // "org/name", or "name" for the hub's oldest models
  std::string revision = "main";     // branch, tag, commit or "refs/pr/1"
  std::string file = "config.json";  // path inside the repository
};

// True where only the hub can be meant: "https://...", "hf.co/...", "hf://...".
[[nodiscard]] bool is_address(std::string_view text);

// True where an id stands in quotes, behind "hf download" or in from_pretrained("...").
[[nodiscard]] bool is_wrapped_id(std::string_view text);

// True where `text` has the shape of "org/name", "name" or either with "@revision".
[[nodiscard]] bool is_id(std::string_view text);

// An id, or a page, tree, blob, resolve, raw or commit address of huggingface.co or of the
// endpoint, with what is pasted around it. The cases: tests/hub/addresses.json.
[[nodiscard]] Result<Reference> parse_reference(std::string_view text, const Settings& settings);

// The address that serves the file.
[[nodiscard]] std::string resolve_address(const Reference& reference, const Settings& settings);

}  // namespace peakline::hub
