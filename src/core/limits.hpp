// Bounds on what may be asked for, where nothing else bounds it before it is tried.
#pragma once

namespace spanfft {

constexpr int kMostThreads = 4096;  // of a process; more than machines have cores, fewer than kernels run

}  // namespace spanfft
