#include "hub/reference.h"

#include <cctype>
#include <optional>
#include <vector>

namespace peakline::hub {
namespace {

constexpr std::string_view kScheme = "hf://";
constexpr std::size_t kMaxNameLength = 96;  // the hub's own limit for each half of an id

Error bad_reference(std::string_view text, std::string expected, std::string hint) {
  return {ErrorCode::HubReference,
          "MODEL",
          "got \"" + std::string(text) + "\", expected " + std::move(expected),
          std::move(hint)};
}

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxNameLength || text.front() == '.' || text.front() == '-') {
    return false;
  }
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (!plain && c != '-' && c != '_' && c != '.') return false;
  }
  return text.find("..") == std::string_view::npos;
}

bool is_plain_id(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_name(text);
  return is_name(text.substr(0, slash)) && is_name(text.substr(slash + 1));
}

// Git's own rules are longer; these keep a revision inside one segment of an address.
bool is_revision(std::string_view text) {
  if (text.empty() || text.size() > 256 || text.find("..") != std::string_view::npos) return false;
  for (const char c : text) {
    if (c <= ' ' || c > '~' || c == '?' || c == '#' || c == '%' || c == '\\') return false;
  }
  return true;
}

bool is_hub_host(std::string_view host) {
  return host == "huggingface.co" || host == "www.huggingface.co" || host == "hf.co";
}

// "refs/pr/1" and "refs/convert/x" are one revision that spans three segments.
std::string take_revision(const std::vector<std::string>& path, std::size_t& next) {
  std::string revision = path[next++];
  if (revision != "refs") return revision;
  for (int i = 0; i < 2 && next < path.size(); ++i) revision += "/" + path[next++];
  return revision;
}

bool is_view(std::string_view segment) {
  return segment == "tree" || segment == "blob" || segment == "resolve" || segment == "raw" ||
         segment == "blame" || segment == "edit" || segment == "commit" || segment == "commits";
}

bool is_page(std::string_view segment) {
  return is_view(segment) || segment == "discussions" || segment == "settings";
}

// A .json file is taken at its word; a README, a weight file or a folder means the config beside
// it.
std::string file_of(const std::string& view,
                    const std::vector<std::string>& path,
                    std::size_t next) {
  std::string folder;
  for (std::size_t i = next; i < path.size(); ++i) {
    const bool last = i + 1 == path.size();
    if (last && view != "tree") {
      return path[i].ends_with(".json") ? folder + path[i] : folder + "config.json";
    }
    folder += path[i] + "/";
  }
  return folder + "config.json";
}

bool is_inside(std::string_view file) {
  // A percent sign would be a second encoding: "%252e%252e".
  return file.find("..") == std::string_view::npos &&
         file.find_first_of("\\%") == std::string_view::npos;
}

std::optional<Reference> from_path(std::vector<std::string> path) {
  if (path.size() >= 2 && path[0] == "api" && path[1] == "models") {
    path.erase(path.begin(), path.begin() + 2);
  } else if (!path.empty() && path[0] == "models") {
    path.erase(path.begin());
  }
  if (path.empty()) return std::nullopt;
  Reference reference;
  reference.id = path[0];
  std::size_t next = 1;
  if (next < path.size() && !is_page(path[next])) reference.id += "/" + path[next++];
  if (next < path.size() && is_view(path[next])) {
    const std::string view = path[next++];
    if (next < path.size()) reference.revision = take_revision(path, next);
    if (view != "commit" && view != "commits") reference.file = file_of(view, path, next);
  }
  if (!is_plain_id(reference.id) || !is_revision(reference.revision) ||
      !is_inside(reference.file)) {
    return std::nullopt;
  }
  return reference;
}

Result<Reference> from_address(std::string_view text, const Settings& settings) {
  std::string address(text);
  if (address.find("://") == std::string::npos) address = "https://" + address;
  const std::optional<Url> url = parse_url(address);
  if (!url)
    return bad_reference(text, "an http or https address", "paste the address of the model's page");
  std::vector<std::string> path = url->path;
  if (url->origin() == settings.endpoint_url.origin()) {
    const std::size_t prefix = settings.endpoint_url.path.size();
    if (path.size() >= prefix)
      path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(prefix));
  } else if (!is_hub_host(url->host)) {
    return bad_reference(text,
                         "an address on huggingface.co or on " + settings.endpoint,
                         "for a mirror set HF_ENDPOINT=" + url->origin() +
                             "; for any other site save its config.json and give the file");
  }
  if (!path.empty() && (path[0] == "datasets" || path[0] == "spaces")) {
    return bad_reference(text, "a model", "this is the address of something in " + path[0]);
  }
  const std::optional<Reference> reference = from_path(std::move(path));
  if (!reference)
    return bad_reference(
        text, "the address of a model", "it looks like https://huggingface.co/org/name");
  return *reference;
}

}  // namespace

bool is_address(std::string_view text) {
  return text.find("://") != std::string_view::npos || text.starts_with("huggingface.co/") ||
         text.starts_with("www.huggingface.co/") || text.starts_with("hf.co/");
}

bool is_id(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) return is_plain_id(text);
  return is_plain_id(text.substr(0, at)) && is_revision(text.substr(at + 1));
}

Result<Reference> parse_reference(std::string_view text, const Settings& settings) {
  if (text.starts_with(kScheme)) {
    text.remove_prefix(kScheme.size());
  } else if (is_address(text)) {
    return from_address(text, settings);
  }
  if (!is_id(text)) {
    return bad_reference(
        text, "a hub id", "an id is org/name or org/name@revision, as in the address of its page");
  }
  Reference reference;
  const std::size_t at = text.find('@');
  reference.id = text.substr(0, at);
  if (at != std::string_view::npos) reference.revision = text.substr(at + 1);
  return reference;
}

std::string resolve_address(const Reference& reference, const Settings& settings) {
  std::string address =
      settings.endpoint + "/" + reference.id + "/resolve/" + encode_segment(reference.revision);
  std::string_view file = reference.file;
  while (!file.empty()) {
    const std::size_t slash = file.find('/');
    address += "/" + encode_segment(file.substr(0, slash));
    file = slash == std::string_view::npos ? "" : file.substr(slash + 1);
  }
  return address;
}

}  // namespace peakline::hub
