#include "cli/exit_code.h"

#include <algorithm>

namespace peakline::cli {
namespace {

ExitCode exit_code_of(const Error& error) {
  const auto number = static_cast<unsigned>(error.code);
  if (error.code == ErrorCode::Internal) return ExitCode::OurFault;
  if (error.code == ErrorCode::NotModelled) return ExitCode::TooClose;
  if (error.code == ErrorCode::HubReference) return ExitCode::Usage;
  if (number >= 600 && number < 700) return ExitCode::Unreachable;
  if (number >= 700 && number < 800) return ExitCode::Usage;
  const bool is_setup = number >= 300 && number < 400;
  return is_setup && error.where.starts_with("--") ? ExitCode::Usage : ExitCode::BadData;
}

}  // namespace

ExitCode exit_code_of(Answer answer) {
  switch (answer) {
    case Answer::Fits:
      return ExitCode::Fits;
    case Answer::DoesNotFit:
      return ExitCode::DoesNotFit;
    case Answer::TooClose:
    case Answer::NotModelled:
      return ExitCode::TooClose;
  }
  return ExitCode::OurFault;
}

ExitCode exit_code_of(const Errors& errors) {
  ExitCode gravest = errors.empty() ? ExitCode::Usage : ExitCode::Fits;
  for (const Error& error : errors) gravest = std::max(gravest, exit_code_of(error));
  return gravest;
}

}  // namespace peakline::cli
