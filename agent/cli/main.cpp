#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/run.h"
#include "process/heap.h"

int main(int argc, char** argv) {
  peakline::keep_freed_memory();
  // A reader that stops early (`| head`) is no reason to die with a signal.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return static_cast<int>(peakline::cli::run(std::vector<std::string>(argv + 1, argv + argc)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peakline: a fault of its own: %s\n", error.what());
    return static_cast<int>(peakline::cli::ExitCode::OurFault);
  }
}
