#include "serve/host_check.h"

#include <catch2/catch_test_macros.hpp>

using peakline::serve::is_own_host;

TEST_CASE("a host is the server's own with its port, which only port 80 may leave out", "[serve]") {
  for (const char* name : {"127.0.0.1", "localhost", "LocalHost", "[::1]"}) {
    CAPTURE(name);
    const std::string host = name;
    CHECK(is_own_host(host + ":8080", 1, 8080));
    CHECK_FALSE(is_own_host(host, 1, 8080));
    CHECK(is_own_host(host, 1, 80));
    CHECK(is_own_host(host + ":80", 1, 80));
    CHECK_FALSE(is_own_host(host + ":8080", 1, 80));
    CHECK_FALSE(is_own_host(host + ":80:80", 1, 80));
    CHECK_FALSE(is_own_host(host, 2, 80));
  }
  for (const char* host : {"", ":80", "::1", "::1:80", "rebound.example", "localhost.", "127.1"}) {
    CAPTURE(host);
    CHECK_FALSE(is_own_host(host, 1, 80));
  }
}
