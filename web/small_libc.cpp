// The linker takes these wherever strtod and snprintf are called (--wrap in CMakeLists.txt).
#include "small_libc.h"

extern "C" {

double __wrap_strtod(const char* text, char** end) {
  return peakline::small_libc::decimal_number(text, end);
}

int __wrap_snprintf(char* out, std::size_t room, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const int length = peakline::small_libc::print_hex(out, room, format, arguments);
  va_end(arguments);
  return length;
}

}  // extern "C"
