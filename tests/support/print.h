// How failed comparisons show the core's types.
#pragma once

#include <catch2/catch_tostring.hpp>
#include <string>

#include "peakline/engine.h"
#include "peakline/report.h"

namespace Catch {

template <class Tag>
struct StringMaker<peakline::Quantity<Tag>> {
  static std::string convert(peakline::Quantity<Tag> quantity) {
    return std::to_string(quantity.count());
  }
};

template <>
struct StringMaker<peakline::DType> {
  static std::string convert(peakline::DType dtype) { return std::string(name_of(dtype)); }
};

template <>
struct StringMaker<peakline::Category> {
  static std::string convert(peakline::Category category) { return std::string(name_of(category)); }
};

template <>
struct StringMaker<peakline::Shape> {
  static std::string convert(const peakline::Shape& shape) {
    std::string text = "[";
    for (int i = 0; i < shape.rank(); ++i) text += (i > 0 ? "," : "") + std::to_string(shape[i]);
    return text + "]";
  }
};

}  // namespace Catch
