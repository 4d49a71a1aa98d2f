// The page on this machine and for this machine only.
#pragma once

#include <memory>

#include "peakline/result.h"
#include "serve/site_files.h"

namespace peakline::serve {

// Serves from construction to destruction, on 127.0.0.1 and, where the machine has it, on [::1].
class Server {
 public:
  // `port` 0 takes a free one. Errors: a port that is taken or may not be used.
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(SiteFiles files, int port);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] int port() const;

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace peakline::serve
