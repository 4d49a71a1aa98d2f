#include "hub/reference.h"

#include <catch2/catch_test_macros.hpp>

#include "hub/url.h"

using peakline::hub::is_address;
using peakline::hub::is_id;
using peakline::hub::parse_reference;
using peakline::hub::parse_url;
using peakline::hub::Settings;

namespace {

Settings settings_for(const std::string& endpoint) {
  Settings settings;
  settings.endpoint = endpoint;
  settings.endpoint_url = *parse_url(endpoint);
  return settings;
}

}  // namespace

TEST_CASE("an id has one or two plain names and perhaps a revision", "[reference]") {
  SECTION("good") {
    for (const char* text :
         {"org/name", "name", "org/Name-1.5_b", "org/name@main", "name@refs/pr/1"}) {
      CAPTURE(text);
      CHECK(is_id(text));
    }
  }
  SECTION("bad") {
    for (const char* text : {"",
                             "/",
                             "org/",
                             "/name",
                             "a/b/c",
                             "..",
                             "org/..",
                             "org/.hidden",
                             "org/a b",
                             "org/name@",
                             "org/name@a..b",
                             "-x",
                             "org/n?x",
                             "org/n#x",
                             "org/n%2f"}) {
      CAPTURE(text);
      CHECK_FALSE(is_id(text));
    }
    CHECK_FALSE(is_id(std::string(97, 'a')));
  }
}

TEST_CASE("only text with a scheme or the hub's name is an address", "[reference]") {
  CHECK(is_address("https://huggingface.co/a/b"));
  CHECK(is_address("hf.co/a/b"));
  CHECK(is_address("hf://a/b"));
  CHECK_FALSE(is_address("huggingface.company/b"));
  CHECK_FALSE(is_address("org/name"));
}

TEST_CASE("an address of the endpoint loses the endpoint's own path", "[reference]") {
  const Settings settings = settings_for("http://127.0.0.1:8000/mirror");
  const auto reference =
      parse_reference("http://127.0.0.1:8000/mirror/org/name/tree/dev", settings);
  REQUIRE(reference);
  CHECK(reference->id == "org/name");
  CHECK(reference->revision == "dev");
  CHECK(resolve_address(*reference, settings) ==
        "http://127.0.0.1:8000/mirror/org/name/resolve/dev/config.json");
}

TEST_CASE("the same host on another port is another server", "[reference]") {
  CHECK_FALSE(
      parse_reference("http://127.0.0.1:8001/org/name", settings_for("http://127.0.0.1:8000")));
  CHECK(parse_url("https://Host/x")->origin() == "https://host");
  CHECK(parse_url("https://host:443/x")->origin() == "https://host");
  CHECK(parse_url("http://host:443/x")->origin() == "http://host:443");
  CHECK(parse_url("http://[::1]:9/x")->is_loopback());
  CHECK(parse_url("http://127.1.2.3/x")->is_loopback());
  CHECK(parse_url("http://LocalHost/x")->is_loopback());
  for (const char* text : {"http://localhost.example/x",
                           "http://127.evil.example/x",
                           "http://127.0.0.1.example/x",
                           "http://128.0.0.1/x"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_url(text)->is_loopback());
  }
  CHECK_FALSE(parse_url("http://name@host/"));
}

TEST_CASE("a path never leaves its repository", "[reference]") {
  const Settings settings = settings_for("https://huggingface.co");
  for (const char* text : {"https://huggingface.co/org/name/blob/main/%2e%2e/%2e%2e/x.json",
                           "https://huggingface.co/org/name/blob/main/a%5C..%5Cx.json",
                           "https://huggingface.co/org/name/blob/main/%252e%252e/x.json",
                           "https://huggingface.co/org/name/tree/%2e%2e"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_reference(text, settings));
  }
}
