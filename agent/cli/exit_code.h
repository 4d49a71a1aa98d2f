// What the program tells the shell. The numbers of failures are those of sysexits.h.
#pragma once

#include "peakline/report.h"
#include "peakline/result.h"

namespace peakline::cli {

enum class ExitCode : int {
  Fits = 0,  // or: done
  DoesNotFit = 1,
  TooClose = 2,  // or: not known, because the model's step is not modelled yet
  Usage = 64,
  BadData = 65,
  Unreachable = 69,
  OurFault = 70,
};

[[nodiscard]] ExitCode exit_code_of(Answer answer);

// The gravest of all errors decides. A setup mistake counts as usage where its place is an option
// ("--batch").
[[nodiscard]] ExitCode exit_code_of(const Errors& errors);

}  // namespace peakline::cli
