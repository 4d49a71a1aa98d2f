#include "parse/syntax_error.h"

#include <algorithm>

namespace peakline::json {
namespace {

constexpr std::size_t kMaxQuoted = 40;

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// "... syntax error while parsing value - unexpected '}'; expected string literal" -> the part
// after " - ", without the copy of the input that the lexer adds.
std::string essence(std::string_view reason) {
  const std::size_t dash = reason.find(" - ");
  std::string result(dash == std::string_view::npos ? reason : reason.substr(dash + 3));
  const std::size_t last_read = result.find("; last read: '");
  if (last_read != std::string::npos) {
    const std::size_t expected = result.rfind("; expected ");
    const bool expectation_follows = expected != std::string::npos && expected > last_read;
    result = result.substr(0, last_read) + (expectation_follows ? result.substr(expected) : "");
  }
  return result;
}

// Printable ASCII only, at most kMaxQuoted characters of the line the lexer stopped on.
std::string excerpt(std::string_view text, std::size_t offset) {
  const std::size_t end = std::min(offset, text.size());
  std::size_t begin = end > kMaxQuoted ? end - kMaxQuoted : 0;
  const std::size_t line = text.substr(0, end).rfind('\n');
  if (line != std::string_view::npos && line + 1 < end) begin = std::max(begin, line + 1);
  std::string result;
  for (const char c : text.substr(begin, end - begin)) {
    const bool printable = c >= ' ' && c <= '~';
    result += printable ? c : '?';
  }
  return result;
}

// The last character before `offset` that is not blank, skipping `skip` of them.
char significant_before(std::string_view text, std::size_t offset, int skip) {
  for (std::size_t i = std::min(offset, text.size()); i > 0; --i) {
    const char c = text[i - 1];
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    if (skip-- == 0) return c;
  }
  return '\0';
}

std::string hint_for(const SyntaxProblem& problem, bool at_end) {
  const std::string_view text = problem.text;
  const char got = significant_before(text, problem.offset, 0);
  if (at_end && problem.num_open > 0) {
    const bool one = problem.num_open == 1;
    return "The text seems cut off: " + std::to_string(problem.num_open) +
           (one ? " object or array is" : " objects or arrays are") +
           " still open. Copy or download it again.";
  }
  if ((got == '}' || got == ']') && significant_before(text, problem.offset, 1) == ',') {
    return "Remove the comma before the closing bracket.";
  }
  if (problem.num_open == 0 &&
      problem.reason.find("expected end of input") != std::string_view::npos) {
    return "The document ends before this: remove what follows it.";
  }
  if (got == '\'') return "Strings need double quotes.";
  if (got == '/' || got == '#') return "JSON has no comments: remove them.";
  if (got == 'T' || got == 'F' || got == 'N') return "JSON writes true, false and null.";
  return "";
}

}  // namespace

Error explain_syntax_error(const SyntaxProblem& problem) {
  const std::string why = essence(problem.reason);
  const bool bad_utf8 =
      why.find("ill-formed UTF-8") != std::string::npos || why.find("BOM") != std::string::npos;
  if (bad_utf8) {
    return {ErrorCode::JsonEncoding,
            "",
            "got bytes that are not UTF-8, expected UTF-8 text",
            "Save the file as UTF-8."};
  }
  if (why.find("number overflow") != std::string::npos) {
    return {ErrorCode::JsonSyntax,
            "",
            "got a number too large for any format after '" +
                excerpt(problem.text, problem.offset) + "'",
            ""};
  }
  const bool at_end =
      starts_with(why, "unexpected end of input") && problem.offset >= problem.text.size();
  const bool cut_string = why.find("missing closing quote") != std::string::npos;
  if (at_end || (cut_string && problem.offset >= problem.text.size())) {
    return {ErrorCode::JsonSyntax,
            "",
            "got the end of the text in the middle of the document, expected more",
            hint_for(problem, true)};
  }
  std::string message = why;
  if (starts_with(message, "unexpected "))
    message = "got " + message.substr(11);
  else
    message = "got text that is not JSON: " + message;
  const std::size_t expected = message.find("; expected ");
  if (expected != std::string::npos) message.replace(expected, 2, ", ");
  return {ErrorCode::JsonSyntax,
          "",
          message + " after '" + excerpt(problem.text, problem.offset) + "'",
          hint_for(problem, false)};
}

}  // namespace peakline::json
