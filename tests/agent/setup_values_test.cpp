#include "cli/setup_values.h"

#include <catch2/catch_test_macros.hpp>

using namespace peakline::cli;
using peakline::Bytes;
using peakline::SetupKey;
namespace json = peakline::json;

namespace {

const SetupKey& key_named(std::string_view name) {
  for (const SetupKey& key : peakline::setup_keys()) {
    if (key.name == name) return key;
  }
  FAIL("no key " << name);
  return peakline::setup_keys().front();
}

std::string as_json(const SetupKey& key, const std::string& text) {
  const auto value = value_of(key, "--x", text);
  return value ? json::dump(*value) : "error: " + value.error().front().message;
}

}  // namespace

TEST_CASE("words become values of the key's kind", "[setup]") {
  const SetupKey integer{"max_length", "integer", "", ""};
  CHECK(as_json(integer, "8") == "8");
  CHECK(as_json(integer, "null") == "null");
  CHECK(as_json(integer, "8k") == "error: got \"8k\", expected a whole number");
  CHECK(as_json(integer, "") == "error: got \"\", expected a whole number");
  CHECK(as_json(integer, "1.5") == "error: got \"1.5\", expected a whole number");

  const SetupKey number{"max_grad_norm", "number", "", ""};
  CHECK(as_json(number, "0.5") == "0.5");
  CHECK(as_json(number, ".5") == "0.5");
  CHECK(as_json(number, "1") == "1");
  for (const char* text : {"inf", "nan", "0x10", "1e999", "1,5"}) {
    CAPTURE(text);
    CHECK(as_json(number, text).starts_with("error"));
  }

  const SetupKey boolean{"gradient_checkpointing", "boolean", "", ""};
  CHECK(as_json(boolean, "True") == "true");
  CHECK(as_json(boolean, "off") == "false");
  CHECK(as_json(boolean, "perhaps").starts_with("error"));

  const SetupKey& list = key_named("lora.target_modules");
  CHECK(as_json(list, "all-linear") == "\"all-linear\"");
  CHECK(as_json(list, "q_proj,v_proj") == "[\"q_proj\",\"v_proj\"]");
  CHECK(as_json(list, "[\"q_proj\"]") == "[\"q_proj\"]");

  const SetupKey object{"optim_args", "object", "", ""};
  CHECK(as_json(object, "rank=8,scale=0.25,on=true,name=x") ==
        "{\"rank\":8,\"scale\":0.25,\"on\":true,\"name\":\"x\"}");
  CHECK(as_json(object, "rank").starts_with("error"));
}

TEST_CASE("a word for off is null only where the key may be null", "[setup]") {
  CHECK(as_json({"autocast", "choice", "bf16 | fp16", ""}, "none") == "null");
  CHECK(as_json({"method", "choice", "full | lora", ""}, "none") == "\"none\"");
  CHECK(as_json({"lora.bias", "choice", "none | all", ""}, "none") == "\"none\"");
}

TEST_CASE("members are set inside groups and replace what is no group", "[setup]") {
  json::Value root;
  set_member(root, "lora.r", json::Value{std::int64_t{8}});
  set_member(root, "lora.bias", json::Value{std::string("all")});
  set_member(root, "lora.r", json::Value{std::int64_t{16}});
  CHECK(json::dump(root) == "{\"lora\":{\"r\":16,\"bias\":\"all\"}}");
}

TEST_CASE("memory is read in binary units and never guessed", "[setup]") {
  CHECK(memory_of("24") == peakline::gibibytes(24));
  CHECK(memory_of("23.5GiB") == peakline::mebibytes(24064));
  CHECK(memory_of("24564MiB") == peakline::mebibytes(24564));
  for (const char* text : {"", "0", "-1", "24GB", "24G", "1e12", "GiB", "a"}) {
    CAPTURE(text);
    CHECK_FALSE(memory_of(text));
  }
}
