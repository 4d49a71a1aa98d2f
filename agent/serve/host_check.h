// The guard against DNS rebinding: a page of a stranger's site can make a browser connect here
// under the stranger's name, but the browser then says that name in Host.
#pragma once

#include <cstddef>
#include <string_view>

namespace peakline::serve {

// True only for exactly one Host header that is 127.0.0.1:PORT, [::1]:PORT or localhost:PORT, where
// port 80 may be left out. Names have no case.
[[nodiscard]] bool is_own_host(std::string_view host, std::size_t num_host_headers, int port);

}  // namespace peakline::serve
