#include "hub/reference.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>
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

// Names under which the hub's models lie; each is then read from the endpoint.
constexpr std::array<std::string_view, 5> kHubHosts = {
    "huggingface.co", "www.huggingface.co", "hf.co", "www.hf.co", "hf-mirror.com"};
// Hubs of others: people take their addresses for this one's.
constexpr std::array<std::string_view, 4> kModelScope = {
    "modelscope.cn", "www.modelscope.cn", "modelscope.ai", "www.modelscope.ai"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& hosts, std::string_view host) {
  return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
}

// What stands before the first slash, in lower case.
std::string first_step(std::string_view text) {
  std::string host(text.substr(0, text.find('/')));
  for (char& c : host) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return host;
}

// What is pasted around a name: spaces, quotes, the command or the call it stood in, git's ways to
// write an address.
std::string tidied(std::string_view typed) {
  constexpr std::string_view kAround = " \t\r\n\"'`<>";
  constexpr std::string_view kCall = "from_pretrained(";
  std::string text(typed);
  if (const std::size_t call = text.find(kCall); call != std::string::npos) {
    const std::size_t quote = text.find_first_of("\"'", call);
    if (quote != std::string::npos)
      text = text.substr(quote + 1, text.find(text[quote], quote + 1) - quote - 1);
  }
  const auto trim = [&] {
    text.erase(0, std::min(text.find_first_not_of(kAround), text.size()));
    text.erase(text.find_last_not_of(kAround) + 1);
  };
  trim();
  constexpr std::pair<std::string_view, std::string_view> kBegins[] = {
      {"git clone ", ""},
      {"hf download ", ""},
      {"huggingface-cli download ", ""},
      {"git+", ""},
      {"ssh://git@", "https://"},
  };
  for (const auto& [before, after] : kBegins) {
    if (text.starts_with(before)) text.replace(0, before.size(), after);
    trim();
  }
  if (text.starts_with("git@")) {
    if (const std::size_t colon = text.find(':'); colon != std::string::npos) text[colon] = '/';
    text.replace(0, 4, "https://");
  }
  if (const std::size_t git = text.find(".git@"); git != std::string::npos) text.erase(git, 4);
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  if (text.ends_with(".git")) text.resize(text.size() - 4);
  return text;
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
  if (const std::size_t at = reference.id.find('@'); at != std::string::npos) {
    reference.revision = reference.id.substr(at + 1);
    reference.id.resize(at);
  }
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

// What an address of the hub leads to instead of a model; "" where to a model.
std::string_view other_kind(const std::vector<std::string>& path) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"datasets", "a dataset"},
      {"spaces", "a Space"},
      {"collections", "a collection"},
      {"papers", "a paper"},
      {"docs", "a page of documentation"},
  };
  if (path.empty()) return "";
  if (path.size() == 1 && path[0] == "models") return "a list of models";
  for (const auto& [step, kind] : kKinds) {
    if (path[0] == step) return kind;
  }
  return "";
}

Result<Reference> from_address(std::string_view text, const Settings& settings) {
  std::string address(text);
  if (address.find("://") == std::string::npos) address = "https://" + address;
  const std::size_t host = address.find("://") + 3;
  if (address.find('@', host) < address.find('/', host)) {
    return Error{ErrorCode::HubReference,  // which is not repeated: it may be a password
                 "MODEL",
                 "got an address with a user name or a password, expected one without",
                 "a token for the hub is given as HF_TOKEN"};
  }
  const std::optional<Url> url = parse_url(address);
  if (!url)
    return bad_reference(text, "an http or https address", "paste the address of the model's page");
  std::vector<std::string> path = url->path;
  if (url->origin() == settings.endpoint_url.origin()) {
    const std::size_t prefix = settings.endpoint_url.path.size();
    if (path.size() >= prefix)
      path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(prefix));
  } else if (is_one_of(kModelScope, url->host)) {
    return bad_reference(text,
                         "a model of the Hugging Face hub; this is an address of ModelScope",
                         "where the hub has the model too, give its id, org/name; else save its "
                         "config.json and give the file");
  } else if (!is_one_of(kHubHosts, url->host)) {
    return bad_reference(text,
                         "an address on huggingface.co or on " + settings.endpoint,
                         "for a mirror set HF_ENDPOINT=" + url->origin() +
                             "; for any other site save its config.json and give the file");
  }
  if (const std::string_view kind = other_kind(path); !kind.empty()) {
    return bad_reference(text,
                         "a model; this is the address of " + std::string(kind),
                         "open a model and paste its address");
  }
  const std::optional<Reference> reference = from_path(std::move(path));
  if (!reference)
    return bad_reference(
        text, "the address of a model", "it looks like https://huggingface.co/org/name");
  return *reference;
}

}  // namespace

bool is_address(std::string_view typed) {
  const std::string text = tidied(typed);
  if (text.find("://") != std::string::npos) return true;
  const std::string host = first_step(text);
  return text.size() > host.size() && (is_one_of(kHubHosts, host) || is_one_of(kModelScope, host));
}

bool is_wrapped_id(std::string_view typed) {
  const std::string text = tidied(typed);
  return text != typed && is_id(text);
}

bool is_id(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) return is_plain_id(text);
  return is_plain_id(text.substr(0, at)) && is_revision(text.substr(at + 1));
}

Result<Reference> parse_reference(std::string_view typed, const Settings& settings) {
  const std::string tidy = tidied(typed);
  std::string_view text = tidy;
  if (text.starts_with(kScheme)) {
    text.remove_prefix(kScheme.size());
  } else if (is_address(text)) {
    return from_address(text, settings);
  }
  if (!is_id(text)) {
    return bad_reference(
        typed, "a hub id", "an id is org/name or org/name@revision, as in the address of its page");
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
