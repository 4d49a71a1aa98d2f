#include "serve/host_check.h"

#include <cctype>
#include <string>

namespace peakline::serve {
namespace {

constexpr int kHttpPort = 80;  // a browser leaves it out

}  // namespace

bool is_own_host(std::string_view host, std::size_t num_host_headers, int port) {
  if (num_host_headers != 1) return false;
  std::string name(host);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::string suffix = ":" + std::to_string(port);
  if (name.ends_with(suffix)) {
    name.resize(name.size() - suffix.size());
  } else if (port != kHttpPort) {
    return false;
  }
  return name == "127.0.0.1" || name == "[::1]" || name == "localhost";
}

}  // namespace peakline::serve
