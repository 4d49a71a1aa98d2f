#include "cli/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "files/open_file.h"
#include "peakline/json.h"
#include "peakline/report.h"

namespace peakline::cli {
namespace {

std::string shown(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

Error too_large(const std::string& path) {
  const Bytes limit(static_cast<std::int64_t>(json::kMaxDocumentBytes));
  return {ErrorCode::JsonTooLarge,
          shown(path),
          "got more than " + format_bytes(limit) + ", expected a JSON document",
          "weights are not read: give the config.json beside them"};
}

Error packed(const std::string& path) {
  return {ErrorCode::FileUnreadable,
          shown(path),
          "got a file packed with gzip, expected JSON text",
          "unpack it with gunzip; a recorded timeline is read by peakline timeline diff"};
}

bool is_packed(const std::string& text) {
  return text.starts_with("\x1f\x8b");
}

Result<std::string> read_all(int descriptor, const std::string& path) {
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable_file(shown(path), errno);
    if (got == 0) {
      if (is_packed(text)) return packed(path);
      return text;
    }
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > json::kMaxDocumentBytes) return too_large(path);
  }
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  if (path == "-") return read_all(STDIN_FILENO, path);
  const Result<Descriptor> file = open_file(path);
  if (!file) return file.error();
  struct stat status {};
  const bool is_known = fstat(file->number(), &status) == 0;
  if (is_known && status.st_size > static_cast<off_t>(json::kMaxDocumentBytes))
    return too_large(path);
  return read_all(file->number(), path);
}

}  // namespace peakline::cli
