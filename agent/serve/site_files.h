// The files of the page, read once. Requests look names up in this table and never reach the file
// system.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "peakline/result.h"

namespace peakline::serve {

struct SiteFile {
  std::string content;
  std::string_view mime_type;
};

// Keys are request paths: "/index.html", "/wasm/peakline.wasm"; folders with an index.html have "/"
// and the like as well.
using SiteFiles = std::map<std::string, SiteFile, std::less<>>;

// "text/javascript"; empty for a kind of file that a page does not need.
[[nodiscard]] std::string_view mime_type_of(std::string_view file_name);

// Every file under `folder` whose kind has a MIME type. Hidden files and links are left out.
[[nodiscard]] Result<SiteFiles> read_site(const std::filesystem::path& folder);

// The page that was installed or built with this program.
[[nodiscard]] std::optional<std::filesystem::path> own_site_folder();

}  // namespace peakline::serve
