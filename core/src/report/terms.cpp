#include "report/terms.h"

#include <algorithm>

namespace peakline {

Term context_term(const GpuSetup& gpu) {
  if (gpu.compute_capability == 75) {
    return {"CUDA context and modules",
            mebibytes(133),
            mebibytes(147),
            "T4 runs with torch 2.10: 140.9 MiB measured, 133 to 147 MiB over several"};
  }
  return {"CUDA context and modules",
          mebibytes(300),
          mebibytes(600),
          "0.3 to 0.6 GiB measured between nvidia-smi and torch's counters on other cards"};
}

Term workspace_term(const GpuSetup& gpu) {
  if (gpu.compute_capability / 10 == 9) {
    return {"cuBLAS workspaces",
            mebibytes(64),
            mebibytes(64),
            "CUBLAS_WORKSPACE_CONFIG default on Hopper: 32 MiB per thread"};
  }
  const Bytes two = scaled(mebibytes(65), 2, 8);  // 8.125 MiB each
  return {"cuBLAS workspaces", two, two, "2 x 8.125 MiB seen in 60 of 61 runs on T4 and A100"};
}

Term history_term(Bytes reserved) {
  const Bytes low = Bytes(0) - scaled(reserved, 5, 100);
  const Bytes high = std::max(scaled(reserved, 10, 100), scaled(gibibytes(1), 3, 10));
  return {"allocator history against the replay",
          low,
          high,
          "the replay overshoots in 4 of 21 T4 runs by up to 5 %; nvidia-smi is 1.3 to 2.3 GiB "
          "above it on A100 "
          "runs of 20 to 70 GiB"};
}

Term usable_term(const GpuSetup& gpu) {
  const Bytes others = gpu.used_by_others;
  if (gpu.total_is_reported) {
    return {"usable memory",
            gpu.total - others,
            gpu.total - others,
            "what the driver reports for this card"};
  }
  return {"usable memory",
          scaled(gpu.total, 90, 100) - others,
          gpu.total - others,
          "no source states what the driver reports: 90 to 100 % of the marketed size (T4 0.91, "
          "RTX 4090 0.9995)"};
}

}  // namespace peakline
