// Disk probe: the figures of one disk, by the requests that plans make (disk/async_io.hpp).
//
// Method: a scratch file in the folder is written and read from one end to the other in large blocks, which gives the
// bandwidth, and then in scattered single blocks of 4 KiB. What such a request takes beyond its bytes is what short
// runs cost on this disk, and it decides between few sweeps with short runs and more sweeps
// with long ones. What a file system without direct I/O keeps in memory is measured as it is.
#pragma once

#include <string>

#include "plan/machine.hpp"

namespace spanfft {

// Sets machine's disk figures; about 5 s, quick: 1 s. Needs 512 MiB (quick: 64 MiB) of free space, which it gives back.
Status probe_disk(const std::string& folder, bool quick, Machine& machine);

}  // namespace spanfft
