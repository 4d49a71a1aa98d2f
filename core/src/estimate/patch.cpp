#include "estimate/patch.h"

#include <algorithm>

namespace peakline {

void lay_over(json::Value& setup, const json::Value& patch) {
  const json::Object* over = patch.as_object();
  json::Object* under = std::get_if<json::Object>(&setup.data);
  if (over == nullptr || under == nullptr) {
    setup = patch;
    return;
  }
  for (const json::Member& member : *over) {
    const auto found = std::find_if(under->begin(), under->end(), [&](const json::Member& own) {
      return own.first == member.first;
    });
    if (found == under->end()) {
      under->push_back(member);
    } else {
      lay_over(found->second, member.second);
    }
  }
}

}  // namespace peakline
