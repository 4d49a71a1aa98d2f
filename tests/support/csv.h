// Tables beside the tests: a header line, then rows of fields without quoting.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace peakline::test {

inline std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> fields(1);
  for (const char letter : line) {
    if (letter == separator) {
      fields.emplace_back();
    } else {
      fields.back() += letter;
    }
  }
  return fields;
}

// The rows below the header; empty where the file is missing.
inline std::vector<std::vector<std::string>> read_csv(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) rows.push_back(split(line, ','));
  return rows;
}

// "2 3 4" as numbers.
inline std::vector<std::int64_t> numbers(const std::string& field) {
  std::istringstream words(field);
  std::vector<std::int64_t> all;
  for (std::int64_t number = 0; words >> number;) all.push_back(number);
  return all;
}

}  // namespace peakline::test
