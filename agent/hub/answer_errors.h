// What the hub's answers mean to a person.
#pragma once

#include <optional>

#include "hub/http_get.h"
#include "hub/reference.h"
#include "hub/settings.h"
#include "peakline/result.h"

namespace peakline::hub {

// Nothing where the answer is the JSON text that was asked for.
[[nodiscard]] std::optional<Error> error_of(const HttpAnswer& answer,
                                            const Reference& reference,
                                            const Settings& settings);

[[nodiscard]] Error offline_error(const Reference& reference);

// The seconds a busy hub asks to be left alone for.
[[nodiscard]] std::optional<int> seconds_asked(const HttpAnswer& answer);

}  // namespace peakline::hub
