// What a command is asked about: a model and a setup, from the words of the command line. All
// mistakes in both are found at once and named by what the person wrote: an option, a file, a line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/model_source.h"
#include "cli/setup_options.h"
#include "peakline/json.h"
#include "peakline/result.h"

namespace peakline::cli {

struct Asked {
  ModelSource model;
  std::string setup;  // JSON text, partial
};

class Question {
 public:
  // Adds MODEL, --revision, --setup and an option per setup key. `app` must outlive this object's
  // use.
  void attach(CLI::App& app);

  // Reads the files and, once everything else is right, asks the hub.
  [[nodiscard]] Result<Asked> read();

  // Errors of the core with their places as the person knows them.
  [[nodiscard]] Errors named(Errors errors, const ModelSource& model);

  // The line of the config that a reported error points into, marked; empty where none does.
  [[nodiscard]] const std::string& excerpt() const { return excerpt_; }

 private:
  [[nodiscard]] json::Value setup_file(Errors& errors);
  [[nodiscard]] std::string place_in_setup(const std::string& pointer) const;

  std::string model_;
  std::string revision_;
  std::string setup_file_;
  std::string setup_place_;  // where a pointer into the setup begins: "report.json: /setup"
  SetupOptions setup_;
  std::string excerpt_;
};

}  // namespace peakline::cli
