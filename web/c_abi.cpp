// core for JavaScript: text in, text out. JavaScript writes a request of `size` bytes of UTF-8 JSON
// into memory from peakline_allocate, calls, and reads the reply up to its NUL before it calls
// again. Requests and replies: peakline/estimate.h.
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

#include "peakline/estimate.h"

namespace {

// The module's one piece of state: the reply that JavaScript is about to read.
std::string& reply() {
  static std::string text;
  return text;
}

}  // namespace

extern "C" {

// Null where the memory cannot be had.
char* peakline_allocate(std::size_t size) {
  return static_cast<char*>(std::malloc(size));
}

void peakline_free(char* memory) {
  std::free(memory);
}

const char* peakline_call(const char* request, std::size_t size) {
  reply() = peakline::call(std::string_view(request, size));
  return reply().c_str();
}

}  // extern "C"
