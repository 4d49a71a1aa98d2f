#include "cli/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "peakline/json.h"
#include "peakline/report.h"

namespace peakline::cli {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ > STDERR_FILENO) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

std::string shown(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

Error unreadable(const std::string& path, int reason) {
  const ErrorCode code = reason == ENOENT ? ErrorCode::FileMissing : ErrorCode::FileUnreadable;
  const std::string message = reason == ENOENT ? "there is no such file" : std::strerror(reason);
  return {
      code, shown(path), message, reason == ENOENT ? "check the path" : "check its permissions"};
}

Error too_large(const std::string& path) {
  const Bytes limit(static_cast<std::int64_t>(json::kMaxDocumentBytes));
  return {ErrorCode::JsonTooLarge,
          shown(path),
          "got more than " + format_bytes(limit) + ", expected a JSON document",
          "weights are not read: give the config.json beside them"};
}

Result<std::string> read_all(int descriptor, const std::string& path) {
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path, errno);
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > json::kMaxDocumentBytes) return too_large(path);
  }
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  if (path == "-") return read_all(STDIN_FILENO, path);
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return unreadable(path, errno);
  struct stat status {};
  if (fstat(file.number(), &status) == 0 && S_ISDIR(status.st_mode))
    return unreadable(path, EISDIR);
  if (S_ISREG(status.st_mode) && status.st_size > static_cast<off_t>(json::kMaxDocumentBytes)) {
    return too_large(path);
  }
  return read_all(file.number(), path);
}

}  // namespace peakline::cli
