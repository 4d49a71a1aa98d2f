#include "files/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace peakline {
namespace {

// Names of descriptors that were open before this program started.
bool is_inherited(const std::string& path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

Error refused(const std::string& path, const std::string& got, const std::string& hint) {
  return {ErrorCode::FileUnreadable, path, "got " + got + ", expected a file", hint};
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ > STDERR_FILENO) close(number_);
}

Error unreadable_file(const std::string& path, int reason) {
  if (reason == ENOENT || reason == ENOTDIR)
    return {ErrorCode::FileMissing, path, "there is no such file", "check the path"};
  return {ErrorCode::FileUnreadable, path, std::strerror(reason), "check its permissions"};
}

Result<Descriptor> open_file(const std::string& path) {
  // O_NONBLOCK: a named pipe without a writer would be waited for right here.
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (file.number() < 0) {
    const int reason = errno;
    if (reason == ENXIO) return refused(path, "a socket or a device", "give a file");
    return unreadable_file(path, reason);
  }
  if (fstat(file.number(), &status) != 0) return unreadable_file(path, errno);
  if (S_ISDIR(status.st_mode)) return refused(path, "a folder", "give a file in it");
  if (S_ISFIFO(status.st_mode) && !is_inherited(path)) {
    return refused(path, "a named pipe", "feed standard input instead: - < " + path);
  }
  if (!S_ISREG(status.st_mode) && !is_inherited(path)) {
    return refused(path, "a device", "give a file, or - for standard input");
  }
  const int flags = fcntl(file.number(), F_GETFL);
  if (flags < 0 || fcntl(file.number(), F_SETFL, flags & ~O_NONBLOCK) < 0)
    return unreadable_file(path, errno);
  return file;
}

}  // namespace peakline
