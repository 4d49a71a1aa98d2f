#include "serve/server.h"

#include <httplib.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "serve/host_check.h"
#include "serve/response_headers.h"

namespace peakline::serve {
namespace {

constexpr int kReadSeconds = 5;
constexpr std::size_t kMaxBodyBytes = 64u << 10;
constexpr std::size_t kNumThreads = 16;
constexpr int kFreePortAttempts = 20;
constexpr int kStartMilliseconds = 5000;
constexpr std::size_t kMaxRanges = 4;  // each may be the whole file again

// Not the library's own options: with SO_REUSEPORT a second program could share the port unnoticed.
void set_socket_options(socket_t socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

void answer_plainly(httplib::Response& response, int status, const std::string& text) {
  response.status = status;
  response.set_content(text + "\n", "text/plain; charset=utf-8");
}

bool has_ipv6_loopback() {
  const int probe = ::socket(AF_INET6, SOCK_STREAM, 0);
  if (probe < 0) return false;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool bound =
      ::bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(probe);
  return bound;
}

int port_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

// Ends every connection to `port`, so that no thread goes on waiting for a slow client. The library
// keeps its sockets to itself; the system lists them.
void shut_connections(int port) {
  std::error_code failed;
  std::filesystem::directory_iterator it("/proc/self/fd", failed);
  for (; !failed && it != std::filesystem::directory_iterator(); it.increment(failed)) {
    const std::string name = it->path().filename().string();
    int descriptor = -1;
    std::from_chars(name.data(), name.data() + name.size(), descriptor);
    sockaddr_storage address{};
    auto* const place = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (getsockname(descriptor, place, &size) != 0 || port_of(address) != port) continue;
    size = sizeof address;
    if (getpeername(descriptor, place, &size) == 0) ::shutdown(descriptor, SHUT_RDWR);
  }
}

// The answer to every request; nothing is routed after it.
void answer(const httplib::Request& request,
            httplib::Response& response,
            const SiteFiles& files,
            int port) {
  if (!is_own_host(
          request.get_header_value("Host"), request.get_header_value_count("Host"), port)) {
    answer_plainly(response, 421, "This server answers only to its own address on this machine.");
    return;
  }
  if (request.method != "GET" && request.method != "HEAD") {
    response.set_header("Allow", "GET, HEAD");
    answer_plainly(response, 405, "Only GET and HEAD are served here.");
    return;
  }
  const auto file = files.find(request.path);
  if (file == files.end()) {
    answer_plainly(response, 404, "There is no such file in the page.");
    return;
  }
  // The status is left to the library, which knows whether a range was asked for.
  response.set_content(file->second.content, std::string(file->second.mime_type));
}

}  // namespace

struct Server::State {
  SiteFiles files;
  int port = 0;
  std::unique_ptr<httplib::Server> ipv4;
  std::unique_ptr<httplib::Server> ipv6;  // absent where the machine has no [::1]
  std::thread ipv4_thread;
  std::thread ipv6_thread;
  std::atomic<int> num_loops = 0;  // accept loops that have not ended

  std::unique_ptr<httplib::Server> make_server(int family) const;
  bool bind(int wanted_port);
  bool bind_both(int wanted_port);
  std::thread loop_of(httplib::Server& server);
  bool run();
  void stop();
};

std::unique_ptr<httplib::Server> Server::State::make_server(int family) const {
  auto server = std::make_unique<httplib::Server>();
  server->set_address_family(family);
  server->set_socket_options(set_socket_options);
  server->set_payload_max_length(kMaxBodyBytes);
  server->set_read_timeout(kReadSeconds);
  server->set_write_timeout(kReadSeconds);
  server->set_keep_alive_timeout(1);
  // One request per connection: a body nobody read can never be taken for the next request.
  server->set_keep_alive_max_count(1);
  server->new_task_queue = [] { return new httplib::ThreadPool(kNumThreads); };
  httplib::Headers headers;
  for (const ResponseHeader& header : kResponseHeaders) headers.emplace(header.name, header.value);
  server->set_default_headers(std::move(headers));
  server->set_pre_routing_handler(
      [this](const httplib::Request& request, httplib::Response& response) {
        if (request.ranges.size() > kMaxRanges) {
          // What is handled here would be cut into those ranges.
          answer_plainly(response, 416, "Too many ranges of one file were asked for.");
          return httplib::Server::HandlerResponse::Unhandled;
        }
        answer(request, response, files, port);
        return httplib::Server::HandlerResponse::Handled;
      });
  return server;
}

// "localhost" may mean either address, so a port is good only if no one else has it on [::1].
bool Server::State::bind_both(int wanted_port) {
  ipv4 = make_server(AF_INET);
  port = wanted_port;
  if (port == 0) {
    port = ipv4->bind_to_any_port("127.0.0.1");
  } else if (!ipv4->bind_to_port("127.0.0.1", port)) {
    return false;
  }
  if (port <= 0) return false;
  if (!has_ipv6_loopback()) return true;
  ipv6 = make_server(AF_INET6);
  return ipv6->bind_to_port("::1", port);
}

bool Server::State::bind(int wanted_port) {
  const int attempts = wanted_port == 0 ? kFreePortAttempts : 1;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (bind_both(wanted_port)) return true;
  }
  return false;
}

std::thread Server::State::loop_of(httplib::Server& server) {
  ++num_loops;
  return std::thread([this, &server] {
    server.listen_after_bind();
    --num_loops;
  });
}

// False where a loop ended at once. A stop before the loops run would be lost, so they are waited
// for.
bool Server::State::run() {
  ipv4_thread = loop_of(*ipv4);
  if (ipv6) ipv6_thread = loop_of(*ipv6);
  for (int i = 0; i < kStartMilliseconds; ++i) {
    if (ipv4->is_running() && (!ipv6 || ipv6->is_running())) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// A loop ends with the last of its connections.
void Server::State::stop() {
  ipv4->stop();
  if (ipv6) ipv6->stop();
  while (num_loops > 0) {
    shut_connections(port);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (ipv4_thread.joinable()) ipv4_thread.join();
  if (ipv6_thread.joinable()) ipv6_thread.join();
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() {
  state_->stop();
}

int Server::port() const {
  return state_->port;
}

Result<std::unique_ptr<Server>> Server::start(SiteFiles files, int port) {
  auto state = std::make_unique<State>();
  state->files = std::move(files);
  if (!state->bind(port)) {
    const std::string message =
        port == 0 ? std::string("no free port was found on 127.0.0.1")
                  : "port " + std::to_string(port) + " is taken or not allowed for this user";
    return Error{ErrorCode::UsageBadValue, "--port", message, "leave --port out to get a free one"};
  }
  State& running = *state;
  std::unique_ptr<Server> server(new Server(std::move(state)));
  if (!running.run()) {
    return Error{ErrorCode::Internal, "", "the server's accept loop did not start", "try again"};
  }
  return server;
}

}  // namespace peakline::serve
