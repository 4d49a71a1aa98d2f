#include "serve/host_check.h"

#include <string>

namespace peakline::serve {

bool is_own_host(std::string_view host, std::size_t num_host_headers, int port) {
  if (num_host_headers != 1) return false;
  const std::string suffix = ":" + std::to_string(port);
  return host == "127.0.0.1" + suffix || host == "[::1]" + suffix || host == "localhost" + suffix;
}

}  // namespace peakline::serve
