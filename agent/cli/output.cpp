#include "cli/output.h"

#include <cerrno>
#include <cstdio>
#include <string>

#include "cli/error_text.h"
#include "cli/terminal.h"
#include "peakline/estimate.h"

namespace peakline::cli {

bool print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  const bool flushed = std::fflush(stdout) == 0;
  if ((written && flushed) || errno == EPIPE) return true;
  std::fputs("peakline: the answer could not be written\n", stderr);
  return false;
}

bool print_json(std::string_view json) {
  return print(tame_json(json) + "\n");
}

ExitCode fail(const Errors& errors, std::string_view excerpt) {
  const std::string text = error_text(errors, terminal_of(Stream::Err)) + std::string(excerpt);
  std::fwrite(text.data(), 1, text.size(), stderr);
  return exit_code_of(errors);
}

ExitCode fail_with_json(const Errors& errors) {
  print_json(errors_json(errors));
  return fail(errors);
}

}  // namespace peakline::cli
