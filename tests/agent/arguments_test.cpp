#include "cli/arguments.h"

#include <catch2/catch_test_macros.hpp>

#include "cli/command.h"
#include "cli/option_names.h"

using peakline::Errors;
using peakline::cli::add_switch;
using peakline::cli::canonical_arguments;
using Words = std::vector<std::string>;

namespace {

struct Parser {
  CLI::App app;
  std::string model;
  int length = 0;
  bool ckpt = false;

  Parser() {
    app.add_option("MODEL", model);
    app.add_option("-l,--max-length", length);
    add_switch(app, "-c,--ckpt", ckpt, "");
  }
};

Words canonical(const Words& words) {
  Parser parser;
  Errors errors;
  Words result = canonical_arguments(parser.app, words, errors);
  CHECK(errors.empty());
  return result;
}

Errors mistakes(const Words& words) {
  Parser parser;
  Errors errors;
  (void)canonical_arguments(parser.app, words, errors);
  return errors;
}

}  // namespace

TEST_CASE("options are taken in any spelling", "[arguments]") {
  const Words expected = {"--max-length=8"};
  CHECK(canonical({"--max-length", "8"}) == expected);
  CHECK(canonical({"--max_length=8"}) == expected);
  CHECK(canonical({"--Max.Length", "8"}) == expected);
  CHECK(canonical({"-l", "8"}) == expected);
  CHECK(canonical({"-l8"}) == expected);
  CHECK(canonical({"-l=8"}) == expected);
  CHECK(canonical({"--max-length", "-1"}) == Words{"--max-length=-1"});
}

TEST_CASE("a switch stands alone, takes a truth word or is denied, and never swallows the model",
          "[arguments]") {
  CHECK(canonical({"--ckpt", "config.json"}) == Words{"--ckpt=true", "config.json"});
  CHECK(canonical({"--ckpt", "False", "m"}) == Words{"--ckpt=false", "m"});
  CHECK(canonical({"--no-ckpt", "m"}) == Words{"--ckpt=false", "m"});
  CHECK(canonical({"--no_ckpt"}) == Words{"--ckpt=false"});
  CHECK(canonical({"-c"}) == Words{"--ckpt=true"});
}

TEST_CASE("standard input and words after two dashes are left alone", "[arguments]") {
  CHECK(canonical({"-"}) == Words{"-"});
  CHECK(canonical({"--", "--max_length"}) == Words{"--", "--max_length"});
}

TEST_CASE("every mistake is told at once", "[arguments]") {
  const Errors errors =
      mistakes({"--max-lenght", "8", "--max-length", "--ckpt", "--learning_rate", "1", "-q"});
  REQUIRE(errors.size() == 4);
  CHECK(errors[0].hint == "did you mean --max-length?");
  CHECK(errors[1].message == "got the option --ckpt, expected a value");
  CHECK(errors[2].hint == "it changes no memory: leave it out");
  CHECK(errors[3].where == "-q");
  CHECK(mistakes({"--max-length"}).size() == 1);
  CHECK(mistakes({"--max-length="}).size() == 1);
  CHECK(mistakes({"--no-max-length"}).size() == 1);
}

TEST_CASE("every setup key has an option and no name is given twice", "[arguments]") {
  std::set<std::string> taken;
  for (const auto& names : peakline::cli::option_names_of(peakline::setup_keys())) {
    CHECK(names.main.starts_with("--"));
    CHECK(names.shown.find(names.main) != std::string::npos);
    std::string_view rest = names.all;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      CAPTURE(rest.substr(0, comma));
      CHECK(taken.insert(std::string(rest.substr(0, comma))).second);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  for (const char* name : {"--per-device-train-batch-size",
                           "--batch",
                           "--max-length",
                           "--max-seq-length",
                           "--length",
                           "--gradient-checkpointing",
                           "--ckpt",
                           "--lora-r",
                           "--rank",
                           "--lora-alpha",
                           "--target-modules",
                           "--bnb-4bit-quant-type",
                           "--gpu-count"}) {
    CAPTURE(name);
    CHECK(taken.contains(name));
  }
}
