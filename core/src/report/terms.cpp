#include "report/terms.h"

#include <algorithm>

namespace peakline {

namespace {

// The cards whose process memory was measured, known by what stays the same across drivers.
bool is_t4(const GpuSetup& gpu) {
  return gpu.compute_capability == 75 && gpu.sm_count == 40;
}
bool is_a100(const GpuSetup& gpu) {
  return gpu.compute_capability == 80 && gpu.sm_count == 108;
}

}  // namespace

Term context_term(const GpuSetup& gpu) {
  constexpr std::string_view kName = "CUDA context and modules";
  if (is_t4(gpu)) {
    return {kName,
            mebibytes(133),
            mebibytes(147),
            "T4 runs with torch 2.10: 140.9 MiB measured, 133 to 147 MiB over several",
            "measured"};
  }
  return {kName,
          mebibytes(300),
          mebibytes(600),
          "0.3 to 0.6 GiB measured between nvidia-smi and torch's counters on other cards",
          "assumed"};
}

Term workspace_term(const GpuSetup& gpu) {
  constexpr std::string_view kName = "cuBLAS workspaces";
  if (gpu.compute_capability / 10 == 9) {
    return {kName,
            mebibytes(64),
            mebibytes(64),
            "CUBLAS_WORKSPACE_CONFIG default on Hopper: 32 MiB per thread",
            "derived"};
  }
  const Bytes two = scaled(mebibytes(65), 2, 8);  // 8.125 MiB each
  return {kName,
          two,
          two,
          "2 x 8.125 MiB seen in 60 of 61 runs on T4 and A100",
          is_t4(gpu) || is_a100(gpu) ? "measured" : "assumed"};
}

Term history_term(Bytes reserved) {
  const Bytes low = Bytes(0) - scaled(reserved, 5, 100);
  const Bytes high = std::max(scaled(reserved, 10, 100), scaled(gibibytes(1), 3, 10));
  return {"allocator history against the replay",
          low,
          high,
          "the replay overshoots in 4 of 21 T4 runs by up to 5 %; nvidia-smi is 1.3 to 2.3 GiB "
          "above it on A100 runs of 20 to 70 GiB",
          "assumed"};
}

Term usable_term(const GpuSetup& gpu) {
  const auto left_of = [&gpu](Bytes total) {
    return std::max(total - gpu.used_by_others, Bytes(0));
  };
  if (gpu.total_is_reported) {
    return {"usable memory",
            left_of(gpu.total),
            left_of(gpu.total),
            "what the driver reports for this card",
            "measured"};
  }
  return {"usable memory",
          left_of(scaled(gpu.total, 90, 100)),
          left_of(gpu.total),
          "no source states what the driver reports: 90 to 100 % of the marketed size (T4 0.91, "
          "RTX 4090 0.9995)",
          "assumed"};
}

}  // namespace peakline
