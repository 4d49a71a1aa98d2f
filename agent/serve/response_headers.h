// Headers of every answer: the page may run its own files and ask a hub, and nobody may frame or
// embed it.
#pragma once

#include <string_view>

namespace peakline::serve {

struct ResponseHeader {
  std::string_view name;
  std::string_view value;
};

inline constexpr ResponseHeader kResponseHeaders[] = {
    // The page's own policy (site/index.html) and what a page cannot say of itself: who may frame
    // it.
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src "
     "'self'; "
     "img-src 'self'; connect-src 'self' https: http://127.0.0.1:* http://localhost:*; base-uri "
     "'none'; "
     "form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Referrer-Policy", "no-referrer"},
    {"Cache-Control", "no-store"},
};

}  // namespace peakline::serve
