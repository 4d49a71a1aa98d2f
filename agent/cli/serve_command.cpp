// peakline serve: the page on this machine, without the internet.
#include <charconv>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/output.h"
#include "serve/server.h"
#include "serve/site_files.h"

namespace peakline::cli {
namespace {

constexpr const char* kDescription =
    "Serves the page on 127.0.0.1 and [::1], for this machine alone, until Ctrl-C. Everything is "
    "computed in the "
    "browser; the page asks the hub only when a model id is typed.";

constexpr const char* kExamples =
    "# Examples\n"
    "  peakline serve\n"
    "  peakline serve --port 8080\n";

struct ServeOptions {
  std::string port;
  std::string site;
};

Result<serve::SiteFiles> site_files(const std::string& folder) {
  if (!folder.empty()) return serve::read_site(folder);
  const std::optional<std::filesystem::path> own = serve::own_site_folder();
  if (own) return serve::read_site(*own);
  return Error{ErrorCode::FileMissing,
               "--site",
               "the page was not found beside this program (../share/peakline/site)",
               "give the folder that holds the page's index.html"};
}

// 0, a free one, where nothing was given.
std::optional<int> port_of(const std::string& text) {
  int port = 0;
  const char* end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, port);
  if (text.empty()) return 0;
  if (read.ec != std::errc() || read.ptr != end || port < 0 || port > 65535) return std::nullopt;
  return port;
}

// Ctrl-C and a polite kill end the program; threads started later inherit the mask.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }
  void wait() const {
    int received = 0;
    sigwait(&signals_, &received);
  }

 private:
  sigset_t signals_{};
};

ExitCode serve_page(const ServeOptions& options) {
  const std::optional<int> port = port_of(options.port);
  if (!port) {
    return fail({{ErrorCode::UsageBadValue,
                  "--port",
                  "got \"" + options.port + "\", expected 0 to 65535",
                  "leave --port out to get a free one"}});
  }
  Result<serve::SiteFiles> files = site_files(options.site);
  if (!files) return fail(files.error());
  const bool has_module = files->contains("/wasm/peakline.wasm");
  const StopSignals signals;
  const Result<std::unique_ptr<serve::Server>> server =
      serve::Server::start(std::move(*files), *port);
  if (!server) return fail(server.error());
  std::string where = "Peakline is at http://127.0.0.1:" + std::to_string((*server)->port()) +
                      "/\nOnly this machine can reach it. Ctrl-C ends it.\n";
  if (!has_module)
    where += "The page has no wasm/peakline.wasm and cannot compute: build the wasm preset.\n";
  // A page at an address that nobody was told is of no use.
  if (!print(where)) return ExitCode::OurFault;
  signals.wait();
  return print("\nEnded.\n") ? ExitCode::Fits : ExitCode::OurFault;
}

std::function<ExitCode()> attach(CLI::App& app) {
  auto options = std::make_shared<ServeOptions>();
  app.description(kDescription);
  app.footer(kExamples);
  app.add_option("-p,--port", options->port, "Port to listen on; a free one otherwise.")
      ->option_text("-p, --port N")
      ->group("Options");
  app.add_option("--site", options->site, "Folder of another copy of the page.")
      ->option_text("--site DIR")
      ->group("Options");
  return [options] { return serve_page(*options); };
}

}  // namespace

const Command kServeCommand = {"serve", "The same answers as a page in the browser.", attach};

}  // namespace peakline::cli
