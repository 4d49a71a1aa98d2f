#include "train/packing.h"

namespace peakline {

namespace {

constexpr std::int64_t kQuantBlock = 64;    // bitsandbytes blocksize of 4-bit weights
constexpr std::int64_t kNestedBlock = 256;  // and of their statistics under double quantisation
constexpr std::int64_t kCodes4bit = 16;
constexpr std::int64_t kCodes8bit = 256;

Tensor quant(Engine& e, const char* op, const Shape& shape, DType dtype) {
  Tensor tensor = e.factory(op, shape, dtype);
  e.mark(tensor, Role::Quant);
  return tensor;
}

}  // namespace

// bitsandbytes 0.50, functional.py, quantize_4bit. Rule R023: two codes a byte, one absmax per 64
// weights; double quantisation stores the absmax as 8-bit codes with one float32 per 256 of them.
Packed4bit pack_4bit(
    Engine& e, const TrainSetup& setup, std::int64_t out, std::int64_t in, Tensor& dynamic_code) {
  Packed4bit packed;
  packed.shape = Shape{out, in};
  packed.dtype = setup.dtype;
  const std::int64_t blocks = divide_up(out * in, kQuantBlock);
  packed.packed =
      quant(e, "bitsandbytes.quantize_4bit", Shape{divide_up(out * in, 2), 1}, DType::UInt8);
  packed.code = quant(e, "_to_copy", Shape{kCodes4bit}, DType::Float32);
  if (!setup.quantization.bnb_4bit_use_double_quant) {
    packed.absmax = quant(e, "bitsandbytes.quantize_4bit", Shape{blocks}, DType::Float32);
    return packed;
  }
  packed.offset = quant(e, "mean", Shape{}, DType::Float32);
  // functional.py, name2qmap.
  if (!dynamic_code.defined())
    dynamic_code = quant(e, "_to_copy", Shape{kCodes8bit}, DType::Float32);
  packed.nested_code = quant(e, "_to_copy", Shape{kCodes8bit}, DType::Float32);
  packed.absmax = quant(e, "bitsandbytes.quantize_blockwise", Shape{blocks}, DType::UInt8);
  packed.nested_absmax = quant(
      e, "bitsandbytes.quantize_blockwise", Shape{divide_up(blocks, kNestedBlock)}, DType::Float32);
  return packed;
}

// bitsandbytes 0.50, backends/cuda/ops.py, int8_vectorwise_quant. Rule R026: a byte a weight and a
// float32 scale for each row.
Packed8bit pack_8bit(Engine& e, std::int64_t out, std::int64_t in) {
  Packed8bit packed;
  packed.scales = quant(e, "empty.memory_format", Shape{out}, DType::Float32);
  packed.values = quant(e, "empty.memory_format", Shape{out, in}, DType::Int8);
  return packed;
}

}  // namespace peakline
