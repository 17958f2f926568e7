// Copies between two arrangements of one array in a rank's memory: FFTW's padded rows and swapped axes, and the C order
// that spanfft takes. Axes that are contiguous on both sides become one run of bytes; of the last two axes that remain,
// small tiles are copied, so that a transposition keeps within the cache on both sides.
#pragma once
#include <cstddef>
#include <vector>

namespace fftw3_mpi {

// An axis: its indices, and the bytes from one to the next in source and target.
struct CopyAxis {
    std::ptrdiff_t count, from_step, to_step;
};

// A copy that was planned once: axes, slowest first, and the bytes of a run.
class StridedCopy {
  public:
    StridedCopy() = default;
    StridedCopy(std::vector<CopyAxis> axes, std::size_t element_bytes);
    void operator()(const void* from, void* to) const;

  private:
    std::vector<CopyAxis> axes_;
    std::size_t run_bytes_ = 0;
    bool empty_ = true;
};

}  // namespace fftw3_mpi
