// The native side of same_reply_test.mjs: one request per line in, one reply per line out.
#include <iostream>
#include <string>

#include "peakline/estimate.h"

int main() {
  std::string request;
  while (std::getline(std::cin, request)) {
    std::cout << peakline::call(request) << '\n';
  }
  return 0;
}
