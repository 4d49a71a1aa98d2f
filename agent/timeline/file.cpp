// Reading and writing timelines as JSON, gzipped or plain.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "files/open_file.h"
#include "timeline/timeline.h"

namespace peakline::timeline {

namespace {

constexpr std::size_t kMaxTimelineBytes = std::size_t{1} << 30;
constexpr std::ptrdiff_t kMaxValues = std::ptrdiff_t{1} << 26;  // of the longest step: 6e7

Error broken(const std::string& where, const std::string& message) {
  return {
      ErrorCode::JsonSyntax,
      where,
      message,
      "a timeline is an object with tensors, events and phases, as `peakline timeline` writes it"};
}

// Reads until the end of the stream. What a few bytes unpack to is refused long before it fills the
// memory: JSON of timelines shrinks to a twentieth, a crafted file to a thousandth.
class Unpacker {
 public:
  // Takes the descriptor over.
  Unpacker(int descriptor, std::string path)
      : file_(gzdopen(descriptor, "rb")), path_(std::move(path)) {}
  ~Unpacker() {
    if (file_ != nullptr) gzclose(file_);
  }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  Result<std::string> read() {
    if (file_ == nullptr) return unreadable_file(path_, errno);
    std::string text;
    std::array<char, 1 << 16> buffer{};
    int count = 0;
    while ((count = gzread(file_, buffer.data(), buffer.size())) > 0) {
      if (text.size() + buffer.size() > text.capacity())
        text.reserve(std::min(2 * text.capacity(), kMaxTimelineBytes) + buffer.size());
      text.append(buffer.data(), static_cast<std::size_t>(count));
      if (text.size() > kMaxTimelineBytes) return broken(path_, "more than 1 GiB of JSON");
      if (is_out_of_proportion(text.size())) {
        return broken(path_, "the gzip stream unpacks to far more than a timeline would");
      }
    }
    return is_whole(count) ? Result<std::string>(std::move(text)) : problem();
  }

 private:
  // A stream that ends early, its checksum missing, is only told of after the last byte.
  bool is_whole(int last_count) {
    gzerror(file_, &code_);
    return last_count == 0 && (code_ == Z_OK || code_ == Z_STREAM_END);
  }

  Error problem() {
    if (code_ == Z_BUF_ERROR) {
      return broken(path_, "the gzip stream is truncated: it ends before its checksum");
    }
    if (code_ == Z_ERRNO) return unreadable_file(path_, errno);
    return broken(path_, "the gzip stream is damaged");
  }

  bool is_out_of_proportion(std::size_t unpacked) {
    constexpr std::size_t kAlwaysRead = std::size_t{16} << 20;
    constexpr std::size_t kMostUnpacked = 250;  // bytes from one
    if (unpacked <= kAlwaysRead || gzdirect(file_) == 1) return false;
    const z_off_t packed = gzoffset(file_);  // negative for a pipe
    return packed >= 0 && unpacked / kMostUnpacked > static_cast<std::size_t>(packed);
  }

  gzFile file_;
  std::string path_;
  int code_ = Z_OK;
};

// gzread also reads plain files.
Result<std::string> read_all(const std::filesystem::path& path) {
  Result<Descriptor> file = open_file(path.string());
  if (!file) return file.error();
  return Unpacker(file->release(), path.string()).read();
}

bool read_tensor(const nlohmann::json& source, TimelineTensor& tensor) {
  if (!source.is_object() || !source.contains("bytes") || !source["bytes"].is_number_integer())
    return false;
  tensor.bytes = Bytes(source["bytes"].get<std::int64_t>());
  for (const auto& dim : source.value("shape", nlohmann::json::array())) {
    if (!dim.is_number_integer()) return false;
    tensor.shape.push_back(dim.get<std::int64_t>());
  }
  const auto text = [&](const char* key) {
    const auto found = source.find(key);
    return found != source.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  tensor.dtype = text("dtype");
  tensor.op = text("op");
  tensor.phase = text("phase");
  tensor.module = text("module");
  tensor.rule = text("rule");
  const auto temporary = source.find("kernel_temporary");
  tensor.kernel_temporary =
      temporary != source.end() && temporary->is_boolean() && temporary->get<bool>();
  return true;
}

// A recorded row says how many events its last step has; what follows is the process winding down.
void drop_teardown(const nlohmann::json& root, Timeline& timeline) {
  if (!root.contains("row") || !root["row"].is_object()) return;
  const auto count = root["row"].find("n_events");
  if (count == root["row"].end() || !count->is_number_integer()) return;
  std::int64_t last_step = 0;
  for (const Mark& mark : timeline.phases) {
    if (mark.phase == "data") last_step = mark.event;
  }
  const auto end = static_cast<std::size_t>(last_step + count->get<std::int64_t>());
  if (end < timeline.events.size()) timeline.events.resize(end);
}

// Who compares timelines relies on it: a storage lives once at a time, and dies alive.
Errors check_lifetimes(const Timeline& timeline) {
  std::vector<bool> alive(timeline.tensors.size());
  std::vector<bool> made(timeline.tensors.size());
  for (std::size_t i = 0; i < timeline.events.size(); ++i) {
    const std::int64_t event = timeline.events[i];
    const bool births = event >= 0;
    const auto tensor = static_cast<std::size_t>(births ? event : -event - 1);
    if (alive[tensor] == births) {
      const std::string which = "tensor " + std::to_string(tensor);
      const std::string what = births         ? "got an allocation of " + which + ", which is alive"
                               : made[tensor] ? "got a second free of " + which
                                              : "got a free of " + which + ", never allocated";
      return {broken("/events/" + std::to_string(i),
                     what + "; expected every tensor to be allocated before it is freed")};
    }
    alive[tensor] = births;
    made[tensor] = true;
  }
  return {};
}

// gzwrite counts in 32 bits.
bool write_all(gzFile file, std::string_view text) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, kPiece);
    const auto size = static_cast<unsigned>(piece.size());
    if (gzwrite(file, piece.data(), size) != static_cast<int>(size)) return false;
    text.remove_prefix(piece.size());
  }
  return true;
}

}  // namespace

Result<Timeline> parse_timeline(std::string_view json) {
  // A tree of them takes sixteen times their text and more.
  const auto num_values = std::count(json.begin(), json.end(), ',') +
                          std::count(json.begin(), json.end(), '[') +
                          std::count(json.begin(), json.end(), '{');
  if (num_values > kMaxValues) return broken("", "got far more values than a timeline has");
  const nlohmann::json root = nlohmann::json::parse(json, nullptr, false);
  if (!root.is_object())
    return broken("", "got something that is not a JSON object, expected a timeline");
  for (const char* key : {"tensors", "events", "phases"}) {
    if (!root.contains(key) || !root[key].is_array()) {
      return broken(std::string("/") + key, "got no array, expected one");
    }
  }
  Timeline timeline;
  for (const auto& source : root["tensors"]) {
    TimelineTensor tensor;
    if (!read_tensor(source, tensor)) {
      return broken("/tensors/" + std::to_string(timeline.tensors.size()),
                    "got no tensor, expected bytes and shape");
    }
    timeline.tensors.push_back(std::move(tensor));
  }
  const auto count = static_cast<std::int64_t>(timeline.tensors.size());
  for (const auto& event : root["events"]) {
    const std::int64_t value = event.is_number_integer() ? event.get<std::int64_t>() : count;
    if (value >= count || value < -count) {
      return broken("/events/" + std::to_string(timeline.events.size()),
                    "got an event of a tensor that does not exist");
    }
    timeline.events.push_back(value);
  }
  for (const auto& mark : root["phases"]) {
    if (!mark.is_array() || mark.size() != 2 || !mark[0].is_number_integer() ||
        !mark[1].is_string()) {
      return broken("/phases", "got a phase that is not [event, name]");
    }
    timeline.phases.push_back({mark[0].get<std::int64_t>(), mark[1].get<std::string>()});
  }
  drop_teardown(root, timeline);
  Errors errors = check_lifetimes(timeline);
  if (!errors.empty()) return errors;
  return timeline;
}

Result<Timeline> read_timeline(const std::filesystem::path& path) {
  const Result<std::string> text = read_all(path);
  if (!text) return text.error();
  Result<Timeline> timeline = parse_timeline(*text);
  if (!timeline) {
    for (Error& error : timeline.error())
      error.where = path.string() + (error.where.empty() ? "" : ": ") + error.where;
  }
  return timeline;
}

std::string read_row(const std::filesystem::path& path) {
  const Result<std::string> text = read_all(path);
  const nlohmann::json root =
      text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
  return root.is_object() && root.contains("row") ? root["row"].dump() : "null";
}

std::string to_json(const Timeline& timeline) {
  nlohmann::json root;
  root["schema"] = 1;
  auto& tensors = root["tensors"] = nlohmann::json::array();
  for (const TimelineTensor& tensor : timeline.tensors) {
    tensors.push_back({{"bytes", tensor.bytes.count()},
                       {"shape", tensor.shape},
                       {"dtype", tensor.dtype},
                       {"op", tensor.op},
                       {"phase", tensor.phase},
                       {"module", tensor.module},
                       {"rule", tensor.rule},
                       {"kernel_temporary", tensor.kernel_temporary}});
  }
  root["events"] = timeline.events;
  auto& phases = root["phases"] = nlohmann::json::array();
  for (const Mark& mark : timeline.phases) phases.push_back({mark.event, mark.phase});
  return root.dump();
}

Result<bool> write_timeline(const Timeline& timeline, const std::filesystem::path& path) {
  const std::string text = to_json(timeline);
  // "T" writes without compression.
  gzFile file = gzopen(path.c_str(), path.extension() == ".gz" ? "wb6" : "wbT");
  const bool opened = file != nullptr;
  const bool written = opened && write_all(file, text);
  const bool closed = opened && gzclose(file) == Z_OK;
  if (written && closed) return true;
  return Error{ErrorCode::FileUnwritable,
               path.string(),
               std::string("the file cannot be written: ") + std::strerror(errno),
               "give a path in a folder that exists and has room"};
}

}  // namespace peakline::timeline
