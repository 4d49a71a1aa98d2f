#include "serve/site_files.h"

#include <array>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace peakline::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFiles = 2000;
constexpr std::uintmax_t kMaxSiteBytes = 64u << 20;

struct MimeType {
  std::string_view extension;
  std::string_view type;
};
constexpr std::array kMimeTypes = {
    MimeType{".html", "text/html; charset=utf-8"},
    MimeType{".css", "text/css; charset=utf-8"},
    MimeType{".js", "text/javascript; charset=utf-8"},
    MimeType{".mjs", "text/javascript; charset=utf-8"},
    MimeType{".json", "application/json; charset=utf-8"},
    MimeType{".map", "application/json; charset=utf-8"},
    MimeType{".txt", "text/plain; charset=utf-8"},
    MimeType{".webmanifest", "application/manifest+json"},
    MimeType{".wasm", "application/wasm"},
    MimeType{".svg", "image/svg+xml"},
    MimeType{".png", "image/png"},
    MimeType{".ico", "image/x-icon"},
    MimeType{".woff2", "font/woff2"},
};

Error site_error(const fs::path& place, std::string message, std::string hint) {
  return {ErrorCode::FileUnreadable, place.string(), std::move(message), std::move(hint)};
}

std::optional<std::string> content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// Files of one folder tree, hidden ones and links left out.
Result<std::vector<fs::path>> list(const fs::path& folder) {
  std::vector<fs::path> files;
  std::uintmax_t bytes = 0;
  std::error_code failed;
  fs::recursive_directory_iterator it(folder, failed);
  for (; !failed && it != fs::recursive_directory_iterator(); it.increment(failed)) {
    const bool hidden = it->path().filename().string().starts_with('.');
    if (hidden || it->is_symlink(failed)) {
      it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file(failed) || mime_type_of(it->path().filename().string()).empty())
      continue;
    bytes += it->file_size(failed);
    files.push_back(it->path());
    if (files.size() > kMaxFiles || bytes > kMaxSiteBytes) {
      return site_error(
          folder, "this folder holds far more than a page", "give the folder of the page itself");
    }
  }
  if (failed)
    return site_error(folder, "it cannot be read: " + failed.message(), "check its permissions");
  return files;
}

}  // namespace

std::string_view mime_type_of(std::string_view file_name) {
  for (const MimeType& row : kMimeTypes) {
    if (file_name.ends_with(row.extension)) return row.type;
  }
  return {};
}

Result<SiteFiles> read_site(const fs::path& folder) {
  std::error_code failed;
  const fs::path root = fs::canonical(folder, failed);
  if (failed || !fs::is_directory(root, failed)) {
    return site_error(
        folder, "there is no such folder", "give the folder that holds the page's index.html");
  }
  const Result<std::vector<fs::path>> listed = list(root);
  if (!listed) return listed.error();
  SiteFiles files;
  for (const fs::path& path : *listed) {
    std::optional<std::string> content = content_of(path);
    if (!content) return site_error(path, "it cannot be read", "check its permissions");
    const std::string name = "/" + path.lexically_relative(root).generic_string();
    SiteFile file{*std::move(content), mime_type_of(name)};
    constexpr std::string_view kIndex = "index.html";
    if (name.ends_with("/index.html")) files[name.substr(0, name.size() - kIndex.size())] = file;
    files[name] = std::move(file);
  }
  if (!files.contains("/")) {
    return site_error(
        folder, "it has no index.html", "give the folder that holds the page's index.html");
  }
  return files;
}

std::optional<fs::path> own_site_folder() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return std::nullopt;
  fs::path folder = program.parent_path() / ".." / "share" / "peakline" / "site";
  if (!fs::is_directory(folder, failed)) return std::nullopt;
  return folder.lexically_normal();
}

}  // namespace peakline::serve
