// What a run takes beside the card, the worst of all limits, and what streaming would take.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "support/step.h"

namespace peakline::test {
namespace {

using nlohmann::json;

const Decoder kEightBillion{4096, 14336, 32, 8, 128, 128256, 32, false, "llama"};
const Decoder kSeventyBillion{8192, 28672, 64, 8, 128, 128256, 80, false, "llama"};
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

json answer(const json& config, const json& setup) {
  const json request = {
      {"op", "fit"}, {"changes", true}, {"config", config.dump()}, {"setup", with_card(setup)}};
  const json reply = json::parse(call(request.dump()));
  INFO(reply.dump());
  REQUIRE(reply.at("ok") == true);
  return reply.at("report");
}

json limit(const json& report, const char* resource) {
  for (const json& row : report.at("verdict").at("limits")) {
    if (row.at("resource") == resource) return row;
  }
  return {};
}

TEST_CASE("host memory is what loading and paged states take, and nothing is guessed",
          "[report][limits]") {
  json config = kEightBillion.config();
  constexpr std::int64_t kParameters = 8030261248;
  constexpr std::int64_t kTable = 128256ll * 4096;
  SECTION("a whole model goes through host memory") {
    const json memory = answer(config, {{"method", "lora"}}).at("memory");
    CHECK(memory.at("host_bytes") == 2 * kParameters);
    CHECK(memory.at("disk_bytes").is_null());  // the config states no type
    CHECK(memory.at("pinned_bytes") == 3 * 2048 * 8);
  }
  SECTION("a quantised one weight by weight") {
    const json memory = answer(config, {{"method", "qlora"}, {"max_length", 1100}}).at("memory");
    CHECK(memory.at("host_bytes") == 2 * kTable);
    CHECK(memory.at("pinned_bytes") == 3 * 2048 * 8);  // a power of two
  }
  SECTION("paged moments are there in full; the tables' are not 8-bit") {
    const json memory =
        answer(config, {{"method", "full"}, {"optim", "paged_adamw_8bit"}}).at("memory");
    constexpr std::int64_t kNorms = (2 * 32 + 1) * 4096;  // too small to be paged
    const std::int64_t large = kParameters - kNorms - kTable;
    CHECK(memory.at("host_bytes") == 2 * large + 2 * 4 * kTable);
  }
  SECTION("the files have the type that the config states") {
    config["torch_dtype"] = "float32";
    CHECK(answer(config, {{"method", "lora"}}).at("memory").at("disk_bytes") == 4 * kParameters);
  }
  SECTION("nothing is known of a plain loop's own loading") {
    const json report = answer(config, {{"method", "lora"}, {"trainer", "none"}});
    CHECK(report.at("memory").at("host_bytes").is_null());
    CHECK(report.at("memory").at("pinned_bytes").is_null());
    CHECK(limit(report, "host_ram").is_null());
  }
}

TEST_CASE("the verdict is the worst of its limits, and says which", "[report][limits]") {
  struct Row {
    const char* what;
    json host;
    const char* stated;
    const char* answer;
    const char* says;
  };
  json setup = {{"method", "lora"}, {"max_length", 512}};
  for (const Row& row : {
           Row{"nobody said", json::object(), "bfloat16", "fits", "Fits: needs "},
           Row{"enough", {{"ram_bytes", 64 * kGiB}}, "bfloat16", "fits", "Fits: needs "},
           Row{"pages of a file may be dropped",
               {{"ram_bytes", 8 * kGiB}},
               "bfloat16",
               "too_close",
               "Too close to call: loading takes 15.0 GiB of host memory, and there is 8.0 GiB. "
               "The card alone: fits: needs "},
           Row{"copies may not",
               {{"ram_bytes", 8 * kGiB}},
               "float32",
               "does_not_fit",
               "Does not fit: loading takes "},
           Row{"the files may be there already",
               {{"disk_free_bytes", kGiB}},
               "bfloat16",
               "too_close",
               "Too close to call: the weight files take 15.0 GiB of disk, and there is 1.0 GiB."},
           Row{"pinned",
               {{"pinned_bytes", 4096}},
               "bfloat16",
               "does_not_fit",
               "Does not fit: a batch takes 12.0 KiB of pinned memory, and there is 4.0 KiB."},
       }) {
    INFO(row.what);
    json config = kEightBillion.config();
    config["torch_dtype"] = row.stated;
    setup["host"] = row.host;
    const json verdict = answer(config, setup).at("verdict");
    INFO(verdict.at("sentence"));
    CHECK(verdict.at("answer") == row.answer);
    CHECK(verdict.at("sentence").get<std::string>().starts_with(row.says));
    CHECK(verdict.at("limits")[0].at("answer") == "fits");
  }
}

TEST_CASE("segments never hold less than the tensors, at any point of the timeline",
          "[report][limits]") {
  for (const char* trainer : {"transformers", "none"}) {
    const json memory =
        answer(kEightBillion.config(),
               {{"method", "lora"}, {"trainer", trainer}, {"gradient_checkpointing", true}})
            .at("memory");
    std::int64_t most = 0;
    for (const json& point : memory.at("timeline")) {
      const auto reserved = point.at("reserved_bytes").get<std::int64_t>();
      CHECK(reserved >= point.at("tensor_bytes").get<std::int64_t>());
      CHECK(reserved >= most);  // without a limit nothing is given back
      most = reserved;
    }
    CHECK(most == memory.at("reserved_peak_bytes"));
  }
}

TEST_CASE("what expandable segments save is what a run with them reserves less",
          "[report][limits]") {
  const json off = answer(kEightBillion.config(), {{"method", "qlora"}});
  const json on = answer(kEightBillion.config(),
                         {{"method", "qlora"}, {"allocator", {{"expandable_segments", true}}}});
  const auto reserved = [](const json& report) {
    return report.at("memory").at("reserved_peak_bytes").get<std::int64_t>();
  };
  const auto saving = [](const json& report) {
    return report.at("memory").at("allocator_saving").at("expandable_segments_bytes");
  };
  CHECK(saving(off) == reserved(off) - reserved(on));
  CHECK(saving(on).is_null());
}

TEST_CASE("streaming is offered where nothing resident fits, and only there",
          "[report][streaming]") {
  const json small = {{"method", "qlora"}, {"max_length", 1024}, {"gpu", "RTX 3060 12GB"}};
  const json seventy = answer(kSeventyBillion.config(), small).at("verdict");
  CHECK(seventy.at("answer") == "does_not_fit");
  REQUIRE(seventy.at("streaming").is_object());
  CHECK(seventy.at("streaming").at("gpu_bytes") < seventy.at("usable_bytes"));
  // Full training does not fit either, but adapters on a 4-bit base would.
  const json eight =
      answer(kEightBillion.config(), {{"method", "full"}, {"gpu", "RTX 3060 12GB"}}).at("verdict");
  CHECK(eight.at("answer") == "does_not_fit");
  CHECK(eight.at("streaming").is_null());
  CHECK(
      answer(kEightBillion.config(), {{"method", "lora"}}).at("verdict").at("streaming").is_null());
}

TEST_CASE("a streaming run is answered from its own sums", "[report][streaming]") {
  const auto streamed = [](json placement, json more = json::object()) {
    placement["kind"] = "streaming";
    more["placement"] = std::move(placement);
    if (!more.contains("gpu")) more["gpu"] = "RTX 3060 12GB";
    return answer(kSeventyBillion.config(), more).at("verdict");
  };
  const auto gpu = [&streamed](json placement, json more = json::object()) {
    return streamed(std::move(placement), std::move(more))
        .at("streaming")
        .at("gpu_bytes")
        .get<std::int64_t>();
  };
  const json plain = streamed(json::object());
  CHECK(plain.at("answer") == "fits");
  CHECK(plain.at("limits").size() == 4);
  // NF4 under double quantisation is 0.5159 bytes a parameter; norms are 16-bit.
  constexpr std::int64_t kBlock = 8192ll * (8192 + 1024) * 2 + 3ll * 8192 * 28672;
  constexpr std::int64_t kTable = 128256ll * 8192 * 2;
  const double blocks = plain.at("streaming").at("disk_bytes").get<double>() - 2.0 * kTable;
  CHECK(blocks / (80.0 * kBlock) > 0.5158);
  CHECK(blocks / (80.0 * kBlock) < 0.5162);
  // One more slot or resident block is one more block on the card.
  const std::int64_t base = gpu(json::object());
  const std::int64_t block = gpu({{"ring_slots", 3}}) - base;
  CHECK(block > kBlock / 2);
  CHECK(block < kBlock * 53 / 100);
  CHECK(gpu({{"resident_blocks", 5}}) - base == 5 * block);
  CHECK(gpu({{"activation_cache", "host"}}) == base - 80ll * 2048 * 8192 * 2);
  CHECK(gpu({{"offload_adapters", true}}) < base);
  // All tokens of a step are taken through one block before the next.
  CHECK(gpu(json::object(), {{"gradient_accumulation_steps", 2}}) - base == 82ll * 2048 * 8192 * 2);
}

TEST_CASE("a streaming run may fail beside the card, and only adapters are streamed",
          "[report][streaming]") {
  const json setup = {{"placement", {{"kind", "streaming"}}},
                      {"gpu", "RTX 3060 12GB"},
                      {"host", {{"disk_free_bytes", kGiB}}}};
  const json report = answer(kSeventyBillion.config(), setup);
  CHECK(report.at("setup").at("method") == "qlora");
  CHECK(report.at("verdict").at("answer") == "does_not_fit");
  CHECK(report.at("verdict").at("limits")[0].at("answer") == "fits");
  const Result<TrainSetup> full =
      parse_train_setup(R"({"method": "full", "placement": {"kind": "streaming"}})");
  REQUIRE_FALSE(full);
  CHECK(full.error().front().where == "/placement/kind");
}

TEST_CASE("what is not modelled is said once", "[report][verdict]") {
  struct Row {
    json setup;
    const char* sentence;
  };
  for (const Row& row :
       {Row{{{"packing", true}}, "Not modelled yet: packing = true. "},
        Row{{{"packing", true}, {"routing", "worst"}},
            "Not modelled yet: packing = true; routing = \"worst\". "},
        Row{{{"method", "inference"}}, "Not modelled yet: inference. "},
        Row{{{"trainer", "trl"}}, "Not modelled yet: the defaults of the trainer trl. "}}) {
    const Report report = report_of(Decoder{}.config(), row.setup);
    INFO(report.verdict.sentence);
    CHECK(report.verdict.sentence.starts_with(row.sentence));
  }
}

TEST_CASE("a pointer to an unknown key shows its beginning", "[report][errors]") {
  const json setup = {{std::string(5000, 'k'), 1}};
  const Result<TrainSetup> parsed = parse_train_setup(setup.dump());
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().front().where.size() < 100);
}

}  // namespace
}  // namespace peakline::test
