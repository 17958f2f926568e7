// Disk probe: the figures of one disk, by the requests that plans make (disk/async_io.hpp), both ways at once.
//
// Method: a sweep reads one file while it writes another, which takes a disk another time than either alone: less where
// it serves both ways, more where they get in each other's way. So one scratch file is read while another is
// overwritten, in large blocks from one end to the other, and in short scattered ones. Either way alone says how the
// time is shared between reading and writing. What a short request takes beyond its bytes is what short runs cost on
// this disk; it decides between few sweeps with short runs and more sweeps with long ones. Then both go on while
// threads on all cores copy memory: what they copy meanwhile, and how much longer the disk takes, says how far
// computing costs no time beside it. What a file system without direct I/O keeps in memory is measured as it is.
#pragma once

#include <string>

#include "core/status.hpp"
#include "plan/machine.hpp"

namespace spanfft {

// Sets machine's disk figures; some 5 s, quick: 1 s. Needs 1 GiB (quick: 128 MiB) of free space, which it gives back.
Status probe_disk(const std::string& folder, bool quick, Machine& machine);

}  // namespace spanfft
