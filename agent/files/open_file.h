// Opens what a person names, without ever waiting for it.
#pragma once

#include <string>

#include "peakline/result.h"

namespace peakline {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();

  [[nodiscard]] int number() const { return number_; }
  // The caller closes it from now on.
  [[nodiscard]] int release() {
    const int number = number_;
    number_ = -1;
    return number;
  }

 private:
  int number_;
};

// Errors: nothing there, no permission, and all that is neither a file nor a pipe that the shell
// opened for this program (`<(...)`, /dev/stdin): a named pipe may never have a writer.
[[nodiscard]] Result<Descriptor> open_file(const std::string& path);

// Why a file that was opened cannot be read.
[[nodiscard]] Error unreadable_file(const std::string& path, int reason);

}  // namespace peakline
