#include "peakline/result.h"

namespace peakline {

std::string code_name(ErrorCode code) {
  std::string digits = std::to_string(static_cast<unsigned>(code));
  return "E" + std::string(digits.size() < 4 ? 4 - digits.size() : 0, '0') + digits;
}

}  // namespace peakline
