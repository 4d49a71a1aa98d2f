// The sum of a block's result and its residual.
#pragma once

#include "peakline/engine.h"

namespace peakline {

// transformers 5.24, models/bloom/modeling_bloom.py, dropout_add: what is dropped has a name until
// the sum exists, and the caller's name for `x` lives on.
[[nodiscard]] inline Tensor dropout_add(Engine& e,
                                        const Tensor& x,
                                        const Tensor& residual,
                                        bool drops) {
  const Tensor out = drops ? e.dropout(x) : x;
  return e.add(residual, out);
}

}  // namespace peakline
