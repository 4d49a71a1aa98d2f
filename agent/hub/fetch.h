// A file from the hub, or a clear sentence about why not.
#pragma once

#include <string>

#include "hub/reference.h"
#include "hub/settings.h"
#include "peakline/result.h"

namespace peakline::hub {

struct File {
  std::string text;
  std::string commit;  // the commit it was read from; empty where the hub does not say
};

// At most 10 MB of JSON text. Follows redirects; the token never leaves the endpoint's own origin.
// Waits and asks again where the hub is busy, but never longer than a few seconds in all.
[[nodiscard]] Result<File> fetch(const Reference& reference, const Settings& settings);

}  // namespace peakline::hub
