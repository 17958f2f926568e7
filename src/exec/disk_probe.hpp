// Disk probe: the figures of one disk, by the requests that plans make (disk/async_io.hpp), and by sweeps.
//
// Method: a sweep reads one file while it writes another, and its requests wait for one another, for which streams of
// requests are too fast. So sweeps over a scratch file are timed through the pipeline that plans use
// (disk/pipeline.hpp): into a new file, again into the same one, in short runs of what is read, and of both, in rows
// that are too short for direct I/O, and while threads on all cores copy each tile, whose time alone is known: that
// says how far computing is hidden. All of these are timed by turns, and medians count. Streams of large and short
// requests, either way alone, say how a sweep's time is shared between reading and writing, what one request takes with
// no other under way, and what short runs cost beside long ones. What a file system without direct I/O keeps in memory
// is measured as it is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "plan/machine.hpp"

namespace spanfft {

// Sets machine's disk figures; some 15 s, quick: 8 s, and longer on a slow disk. Needs 256 MiB (quick: 128 MiB) of free
// space, which it gives back.
Status probe_disk(const std::string& folder, bool quick, Machine& machine);

// The files that a rank's scratch is timed with: one in each of its folders, 128 MiB (quick: 32 MiB) in all.
class ScratchProbe {
  public:
    static Result<std::unique_ptr<ScratchProbe>> make(const std::vector<std::string>& folders, bool quick);
    virtual ~ScratchProbe() = default;
    // Seconds a byte of all of them together, the first time that they are written, and then of reading.
    virtual Result<double> write() = 0;
    virtual Result<double> read() = 0;
};

}  // namespace spanfft
