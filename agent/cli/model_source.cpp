#include "cli/model_source.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/file.h"
#include "cli/nearest.h"
#include "cli/terminal.h"
#include "hub/fetch.h"
#include "hub/reference.h"
#include "hub/settings.h"
#include "peakline/json.h"

namespace peakline::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShortCommit = 7;

bool is_path(const std::string& argument) {
  std::error_code ignored;
  return argument.starts_with('/') || argument.starts_with("./") || argument.starts_with("../") ||
         argument.starts_with('~') || argument == "." || argument == ".." ||
         argument.ends_with(".json") || fs::exists(argument, ignored);
}

std::vector<std::string> names_in(const fs::path& folder) {
  constexpr std::size_t kMaxNames = 2000;
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed); !failed && it != fs::directory_iterator();
       it.increment(failed)) {
    if (names.size() == kMaxNames) break;
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool any_ends_with(const std::vector<std::string>& names, std::string_view ending) {
  return std::any_of(names.begin(), names.end(), [ending](const std::string& name) {
    return name.ends_with(ending);
  });
}

// An adapter's own config names the model it was trained on.
std::string hint_for_adapter(const fs::path& folder) {
  const Result<std::string> text = read_file((folder / "adapter_config.json").string());
  const Result<json::Value> config = json::parse(text ? *text : "");
  const json::Value* base = config ? config->find("base_model_name_or_path") : nullptr;
  if (base == nullptr || base->as_string() == nullptr) {
    return "it holds an adapter: give the base model that its adapter_config.json names";
  }
  return "it holds an adapter of " + *base->as_string() + ": give that model";
}

// What the folder is instead, said from what lies in it.
std::string hint_for_folder(const fs::path& folder) {
  const std::vector<std::string> names = names_in(folder);
  const auto has = [&names](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (has("adapter_config.json")) return hint_for_adapter(folder);
  if (has("model_index.json"))
    return "it holds a pipeline of several models: give the folder of one of them";
  if (has("params.json"))
    return "it holds original weights: give the converted model, which has a config.json";
  if (any_ends_with(names, ".gguf"))
    return "it holds GGUF files: give the model they were made from";
  if (has("snapshots"))
    return "it is a folder of the hub's cache: give one of the folders in snapshots";
  for (const std::string& name : names) {
    const bool is_checkpoint = name.starts_with("checkpoint-");
    if (is_checkpoint) return "did you mean its folder " + name + "?";
  }
  return "give the folder of a model, its config.json, or a hub id such as org/name";
}

Result<ModelSource> from_folder(const fs::path& folder) {
  const fs::path file = folder / "config.json";
  std::error_code ignored;
  if (!fs::exists(file, ignored)) {
    return Error{ErrorCode::FileMissing,
                 folder.string(),
                 "the folder has no config.json",
                 hint_for_folder(folder)};
  }
  Result<std::string> text = read_file(file.string());
  if (!text) return text.error();
  return ModelSource{file.string(), std::move(*text)};
}

std::string hint_for_missing(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  const std::string name = fs::path(path).filename().string();
  const std::string near = nearest(name, names_in(parent.empty() ? "." : parent));
  if (!near.empty()) return "did you mean " + (parent / near).string() + "?";
  return "give a file, a folder with a config.json, - for standard input, or a hub id such as "
         "org/name";
}

Result<ModelSource> from_file(const std::string& path) {
  for (const std::string_view ending : {".safetensors", ".gguf", ".bin", ".pt", ".pth"}) {
    if (!path.ends_with(ending)) continue;
    return Error{ErrorCode::FileUnreadable,
                 path,
                 "got a file of weights, expected a config.json",
                 "give the config.json that belongs to it, or its folder"};
  }
  Result<std::string> text = read_file(path);
  if (text) return ModelSource{path == "-" ? "standard input" : path, std::move(*text)};
  Error error = text.error().front();
  if (error.code == ErrorCode::FileMissing) error.hint = hint_for_missing(path);
  return error;
}

// A line on the terminal for as long as this lives.
class Waiting {
 public:
  explicit Waiting(const std::string& text) : shows_(terminal_of(Stream::Err).colours) {
    if (shows_) std::fprintf(stderr, "%s", tame(text).c_str());
  }
  ~Waiting() {
    if (shows_) std::fputs("\r\x1b[K", stderr);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  bool shows_;
};

Result<ModelSource> from_hub(const std::string& argument, const std::string& revision) {
  const Result<hub::Settings> settings = hub::settings_from_environment();
  if (!settings) return settings.error();
  Result<hub::Reference> reference = hub::parse_reference(argument, *settings);
  if (!reference) return reference.error();
  if (!revision.empty()) {
    if (!hub::is_id(reference->id + "@" + revision)) {
      return Error{ErrorCode::UsageBadValue,
                   "--revision",
                   "got \"" + revision + "\", expected a branch, tag or commit",
                   ""};
    }
    reference->revision = revision;
  }
  const Waiting waiting("asking " + settings->endpoint + " for " + reference->id + " ...");
  Result<hub::File> file = hub::fetch(*reference, *settings);
  if (!file) return file.error();
  const std::string version =
      file->commit.empty() ? reference->revision : file->commit.substr(0, kShortCommit);
  return ModelSource{reference->id + "@" + version, std::move(file->text)};
}

}  // namespace

bool is_on_hub(const std::string& argument) {
  if (argument == "-" || argument.starts_with("file://")) return false;
  return hub::is_address(argument) ||
         (!is_path(argument) && (hub::is_id(argument) || hub::is_wrapped_id(argument)));
}

Result<ModelSource> read_model(const std::string& argument, const std::string& revision) {
  if (argument.starts_with("file://")) return read_model(argument.substr(7), revision);
  if (argument == "-" || (!hub::is_address(argument) && is_path(argument))) {
    if (!revision.empty()) {
      return Error{ErrorCode::UsageConflict,
                   "--revision",
                   "got a model that is read from " +
                       std::string(argument == "-" ? "standard input" : "disk"),
                   "only models on the hub have revisions"};
    }
    std::error_code ignored;
    return fs::is_directory(argument, ignored) ? from_folder(argument) : from_file(argument);
  }
  if (is_on_hub(argument)) {
    Result<ModelSource> model = from_hub(argument, revision);
    if (model || hub::is_address(argument)) return model;
    // A misspelt path may look like an id.
    for (Error& error : model.error()) {
      const bool may_be_path =
          error.code == ErrorCode::HubNotFound || error.code == ErrorCode::HubUnreachable;
      if (may_be_path)
        error.hint += "; a file or folder called " + argument + " does not exist here";
    }
    return model;
  }
  return Error{ErrorCode::FileMissing,
               argument,
               "there is no such file or folder, and a hub id has another form",
               hint_for_missing(argument)};
}

}  // namespace peakline::cli
