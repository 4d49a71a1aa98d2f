// How this process keeps its memory.
#pragma once

#include <cstdlib>  // defines __GLIBC__ where it is that

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace peakline {

// A simulated step takes some megabytes and gives them back. Left alone glibc returns them to the
// system after each and faults them in, zeroed, for the next: a third of a report's time.
inline void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int kKept = 256 << 20;
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // glibc's most
  mallopt(M_TRIM_THRESHOLD, kKept);
  mallopt(M_TOP_PAD, 1 << 20);
#endif
}

}  // namespace peakline
