// SweepOutline: what a step tells about each of its sweeps of disks, so that sums and a journal can be kept of them,
// and stores found for them, whatever the step is (sweeps/sweep_run.hpp).
//
// Method: arrays are told by place; which store a place is in a run is found once, for all sweeps (RunArrays). What is
// read and written is told as partitions of the places' bytes among panels (disk/partition.hpp).
// Invariant: it follows from the plan and the rank alone.
#pragma once

#include <string>

#include "disk/partition.hpp"

namespace spanfft {

// array: a chunked one (sweeps/staging.hpp); memory: scratch for which memory is left.
enum class Place { input, scratch, output, array, memory };
const char* place_name(Place place);

struct PlacedArray {
    Place place = Place::input;
    index_t begin_bytes = 0;  // where in that place it begins
    // "scratch"; what begins behind the result is "behind the output".
    std::string name() const {
        return place == Place::output && begin_bytes > 0 ? "behind the output" : place_name(place);
    }
    bool operator==(const PlacedArray&) const = default;
};

struct SweepOutline {
    PlacedArray source, target;
    index_t panels = 1;
    Partition written, read;  // of arrays at byte 0
    int threads = 1;          // that add to sums
    // Of several ranks: whether they exchange in it, and whether what each has written is its own to read.
    bool exchanges = false, keeps_own = false;
    // The same for all ranks, if it can be told: of what others read that this one has written, and the reverse.
    std::optional<Partition> written_by_all = {}, read_by_all = {};
};

}  // namespace spanfft
