// The setup inside a report: what was asked, without what defaults added.
#pragma once

#include <string>

#include "peakline/json.h"

namespace peakline::cli {

struct GivenSetup {
  json::Value document;
  std::string place;  // where it lies in the file: "/setup", or empty for the whole
};

// A report holds a setup and the origin of each value; only what was given is asked again, so that
// another card or method brings its own defaults. The setup of a report alone is as complete and
// has no origins: what the rest of it leads to counts as not given. Any other document is itself.
[[nodiscard]] GivenSetup given_setup(json::Value document);

}  // namespace peakline::cli
