// Reading, writing and comparing timelines, on ones written by hand.
#include "timeline/diff.h"

#include <unistd.h>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "timeline/timeline.h"

namespace peakline::timeline {
namespace {

constexpr std::int64_t kLarge = 8192;

TimelineTensor tensor_of(std::int64_t bytes,
                         std::vector<std::int64_t> shape,
                         const char* dtype,
                         const char* op,
                         const char* module = "") {
  TimelineTensor tensor;
  tensor.bytes = Bytes(bytes);
  tensor.shape = std::move(shape);
  tensor.dtype = dtype;
  tensor.op = op;
  tensor.module = module;
  return tensor;
}

// Writes a timeline step by step: a model of two tensors, then what a test adds.
class Script {
 public:
  Script() {
    phase("load");
    alloc(tensor_of(2 * kLarge, {64, 64}, "bfloat16", "empty.memory_format"));
    alloc(tensor_of(kLarge, {64}, "float32", "ones"));
    phase("data");
  }
  Script& phase(const std::string& name) {
    phase_ = name;
    timeline_.phases.push_back({static_cast<std::int64_t>(timeline_.events.size()), name});
    return *this;
  }
  std::int64_t alloc(TimelineTensor tensor) {
    tensor.phase = phase_;
    timeline_.events.push_back(static_cast<std::int64_t>(timeline_.tensors.size()));
    timeline_.tensors.push_back(std::move(tensor));
    return timeline_.events.back();
  }
  std::int64_t alloc(std::int64_t bytes, const char* op = "mm") {
    return alloc(tensor_of(bytes, {bytes / 2}, "bfloat16", op, "model.layers.0.mlp"));
  }
  Script& free(std::int64_t tensor) {
    timeline_.events.push_back(-tensor - 1);
    return *this;
  }
  [[nodiscard]] const Timeline& get() const { return timeline_; }

 private:
  Timeline timeline_;
  std::string phase_;
};

std::string difference(const Script& a, const Script& b) {
  const Comparison comparison = compare(a.get(), b.get());
  return comparison.first ? comparison.first->what : "";
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a timeline is equal to itself", "[timeline_diff]") {
  Script s;
  s.phase("forward");
  const auto x = s.alloc(kLarge);
  const auto y = s.alloc(kLarge);
  s.free(x).free(y);
  const Comparison comparison = compare(s.get(), s.get());
  CHECK_FALSE(comparison.first.has_value());
  CHECK(comparison.compared_events == 4);
}

TEST_CASE("each part of an allocation is compared", "[timeline_diff]") {
  const TimelineTensor same = tensor_of(kLarge, {64, 64}, "bfloat16", "mm");
  TimelineTensor bytes = same;
  bytes.bytes = Bytes(kLarge + 512);
  TimelineTensor shape = same;
  shape.shape = {4096};
  TimelineTensor dtype = same;
  dtype.dtype = "float16";
  TimelineTensor op = same;
  op.op = "addmm";
  TimelineTensor module = same;
  module.module = "model.layers.1";
  const auto with = [](const TimelineTensor& tensor) {
    Script s;
    s.phase("forward");
    s.alloc(tensor);
    return s;
  };
  for (const TimelineTensor& other : {bytes, shape, dtype, op}) {
    const std::string what = difference(with(same), with(other));
    INFO(describe(other));
    CHECK(contains(what, "different allocations"));
    CHECK(contains(what, "A: 8192 B [64, 64] bfloat16 mm (forward)"));
  }
  CHECK(difference(with(same), with(same)).empty());
  // Names of modules are for reading: not every recording has them.
  CHECK(difference(with(same), with(module)).empty());
}

TEST_CASE("frees between two allocations have no order", "[timeline_diff]") {
  const auto freed = [](bool forward, bool all) {
    Script s;
    s.phase("forward");
    const auto x = s.alloc(kLarge);
    const auto y = s.alloc(2 * kLarge);
    if (forward) s.free(x);
    if (all) s.free(y);
    if (!forward) s.free(x);
    s.alloc(kLarge);
    if (!all) s.free(y);
    return s;
  };
  CHECK(difference(freed(true, true), freed(false, true)).empty());
  const std::string what = difference(freed(true, true), freed(true, false));
  CHECK(contains(what, "different tensors are freed here"));
  CHECK(contains(what, "only A frees 16384 B"));
  CHECK_FALSE(contains(what, "only B frees"));
}

TEST_CASE("storages that look the same are told apart by their place", "[timeline_diff]") {
  const auto freed = [](bool first) {
    Script s;
    s.phase("forward");
    const auto x = s.alloc(kLarge);
    const auto y = s.alloc(kLarge);
    s.free(first ? x : y);
    return s;
  };
  CHECK(contains(difference(freed(true), freed(false)), "different tensors are freed here"));
}

TEST_CASE("how a model is loaded is not compared, what is loaded is", "[timeline_diff]") {
  Script plain;
  // The same tensors after a detour.
  Script detour;
  {
    Timeline t = plain.get();
    Timeline longer;
    longer.tensors = {tensor_of(99 * kLarge, {}, "uint8", "scratch")};
    longer.events = {0, -1};
    for (TimelineTensor& tensor : t.tensors) {
      longer.events.push_back(static_cast<std::int64_t>(longer.tensors.size()));
      longer.tensors.push_back(tensor);
    }
    longer.phases = {{0, "load"}, {4, "data"}};
    CHECK_FALSE(compare(plain.get(), longer).first.has_value());
    longer.tensors[2].dtype = "bfloat16";
    const Comparison other = compare(plain.get(), longer);
    REQUIRE(other.first.has_value());
    CHECK(contains(other.first->what, "the models differ once loaded"));
    longer.events.erase(longer.events.begin() + 3);
    longer.phases[1].event = 3;
    CHECK(contains(compare(plain.get(), longer).first->what,
                   "A holds 2 large tensors once loaded, B 1"));
  }
}

TEST_CASE("small storages are compared by their bytes, within 1 MiB", "[timeline_diff]") {
  const auto with = [](int small) {
    Script s;
    s.phase("forward");
    for (int i = 0; i < small; ++i) s.alloc(4096, i % 2 == 0 ? "mul.Tensor" : "rsqrt");
    s.alloc(kLarge);
    return s;
  };
  CHECK(difference(with(0), with(256)).empty());  // 1 MiB apart
  CHECK(contains(difference(with(0), with(257)), "small tensors differ by more than 1 MiB"));
  CHECK(contains(difference(with(257), with(0)), "A 1052672, B 0"));
}

TEST_CASE("a timeline that goes on is a difference", "[timeline_diff]") {
  Script shorter;
  Script longer;
  shorter.phase("forward").alloc(kLarge);
  longer.phase("forward").alloc(kLarge);
  longer.alloc(2 * kLarge, "addmm");
  CHECK(contains(difference(longer, shorter), "only A goes on with 16384 B [8192] bfloat16 addmm"));
  CHECK(contains(difference(shorter, longer), "only B goes on"));
}

TEST_CASE("a difference has its place, phase and the events before it", "[timeline_diff]") {
  Script a;
  Script b;
  for (Script* s : {&a, &b}) {
    s->phase("forward");
    for (int i = 0; i < 12; ++i) s->free(s->alloc(kLarge * (2 + i), "silu"));
    s->phase("backward");
  }
  a.alloc(kLarge, "mm");
  b.alloc(kLarge, "bmm");
  const Comparison comparison = compare(a.get(), b.get());
  REQUIRE(comparison.first.has_value());
  CHECK(comparison.first->phase == "backward");
  CHECK(comparison.first->event_a == 26);
  CHECK(comparison.first->event_b == 26);
  CHECK(comparison.compared_events == 24);
  CHECK(contains(comparison.first->context, "  - 106496 B [53248] bfloat16 silu"));
  CHECK_FALSE(contains(comparison.first->context, "16384 B [8192]"));  // eight lines back only
}

TEST_CASE("events of the engine become a timeline with dotted names", "[timeline_diff]") {
  Events events;
  EventTensor tensor;
  tensor.bytes = Bytes(1024);
  tensor.op = "mm";
  tensor.module = {"self_attn.q_proj", 3};
  tensor.dims = {2, 256};
  tensor.rank = 2;
  tensor.dtype = DType::BFloat16;
  tensor.phase = Phase::Forward;
  events.tensors = {tensor, tensor, tensor};
  events.tensors[1].module = {"lm_head", -1};
  events.tensors[2].module = {"", 0};
  events.events = {0, 1, -1, 2};
  events.phases = {{0, Phase::Forward}, {3, Phase::AfterBackward}};
  const Timeline timeline = from_events(events);
  REQUIRE(timeline.tensors.size() == 3);
  CHECK(timeline.tensors[0].module == "model.layers.3.self_attn.q_proj");
  CHECK(timeline.tensors[1].module == "lm_head");
  CHECK(timeline.tensors[2].module == "model.layers.0");
  CHECK(timeline.tensors[0].shape == std::vector<std::int64_t>{2, 256});
  CHECK(timeline.events == std::vector<std::int64_t>{0, 1, -1, 2});
  CHECK(timeline.phases[1].phase == "after_backward");
  CHECK(describe(timeline.tensors[0]) ==
        "1024 B [2, 256] bfloat16 mm in model.layers.3.self_attn.q_proj (forward)");
}

TEST_CASE("a timeline survives a file, plain and compressed", "[timeline_diff]") {
  Script s;
  s.phase("forward");
  for (int i = 0; i < 8000; ++i) s.free(s.alloc(kLarge));  // written in several pieces
  const auto folder =
      std::filesystem::temp_directory_path() / ("peakline-timeline-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  for (const char* name : {"t.json", "t.json.gz"}) {
    const auto path = folder / name;
    REQUIRE(write_timeline(s.get(), path).has_value());
    std::ifstream file(path, std::ios::binary);
    CHECK((file.get() == '{') == (path.extension() == ".json"));
    const Result<Timeline> read = read_timeline(path);
    REQUIRE(read.has_value());
    CHECK(to_json(*read) == to_json(s.get()));
    CHECK_FALSE(compare(*read, s.get()).first.has_value());
  }
  std::filesystem::resize_file(folder / "t.json.gz", 60);
  const Result<Timeline> damaged = read_timeline(folder / "t.json.gz");
  REQUIRE_FALSE(damaged.has_value());
  CHECK(contains(damaged.error().front().where, "t.json.gz"));
  const Result<Timeline> missing = read_timeline(folder / "no.json");
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().front().code == ErrorCode::FileMissing);
  const Result<bool> unwritable = write_timeline(s.get(), folder / "no" / "t.json");
  REQUIRE_FALSE(unwritable.has_value());
  CHECK(unwritable.error().front().code == ErrorCode::FileUnwritable);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a file that is no timeline is refused with its place", "[timeline_diff]") {
  struct Row {
    const char* text;
    const char* where;
  };
  for (const Row& row :
       {Row{"", ""},
        Row{"[]", ""},
        Row{"{", ""},
        Row{"{}", "/tensors"},
        Row{R"({"tensors": [], "events": 3, "phases": []})", "/events"},
        Row{R"({"tensors": [{"shape": []}], "events": [], "phases": []})", "/tensors/0"},
        Row{R"({"tensors": [{"bytes": 512}, 7], "events": [], "phases": []})", "/tensors/1"},
        Row{R"({"tensors": [{"bytes": 1, "shape": ["x"]}], "events": [], "phases": []})",
            "/tensors/0"},
        Row{R"({"tensors": [{"bytes": 512}], "events": [0, 1], "phases": []})", "/events/1"},
        Row{R"({"tensors": [{"bytes": 512}], "events": [-2], "phases": []})", "/events/0"},
        Row{R"({"tensors": [{"bytes": 512}], "events": ["0"], "phases": []})", "/events/0"},
        Row{R"({"tensors": [{"bytes": 512}], "events": [-1], "phases": []})", "/events/0"},
        Row{R"({"tensors": [{"bytes": 512}], "events": [0, -1, -1], "phases": []})", "/events/2"},
        Row{R"({"tensors": [{"bytes": 512}], "events": [0, 0], "phases": []})", "/events/1"},
        Row{R"({"tensors": [], "events": [], "phases": [["a", 0]]})", "/phases"}}) {
    INFO(row.text);
    const Result<Timeline> timeline = parse_timeline(row.text);
    REQUIRE_FALSE(timeline.has_value());
    CHECK(timeline.error().front().where == row.where);
    CHECK_FALSE(timeline.error().front().message.empty());
    CHECK_FALSE(timeline.error().front().hint.empty());
  }
}

TEST_CASE("a storage that dies without having lived is named", "[timeline_diff]") {
  const auto message = [](const std::string& events) {
    const Result<Timeline> timeline = parse_timeline(
        R"({"tensors": [{"bytes": 9000}, {"bytes": 9000}], "phases": [], "events": )" + events +
        "}");
    return timeline ? "" : timeline.error().front().message;
  };
  CHECK(message("[0, 1, -1, 0]").empty());  // a tensor's number may be used again
  CHECK(contains(message("[0, -2]"), "a free of tensor 1, never allocated"));
  CHECK(contains(message("[0, 1, -2, -2]"), "a second free of tensor 1"));
  CHECK(contains(message("[0, 1, 1]"), "an allocation of tensor 1, which is alive"));
}

TEST_CASE("what a recording holds after its last step is left out", "[timeline_diff]") {
  const std::string tensors = R"([{"bytes": 8192}, {"bytes": 8192}])";
  const std::string events = "[0, -1, 1, -2, 0, -1, 1, -2]";
  const std::string phases = R"([[0, "data"], [2, "data"]])";
  const std::string body =
      R"("tensors": )" + tensors + R"(, "events": )" + events + R"(, "phases": )" + phases;
  const Result<Timeline> whole = parse_timeline("{" + body + "}");
  const Result<Timeline> cut = parse_timeline(R"({"row": {"n_events": 4}, )" + body + "}");
  REQUIRE(whole.has_value());
  REQUIRE(cut.has_value());
  CHECK(whole->events.size() == 8);
  CHECK(cut->events.size() == 6);
}

}  // namespace
}  // namespace peakline::timeline
