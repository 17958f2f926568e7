// The two steps of P1's out-of-core FFTs, on one process (`superlevels`) and on ranks: a BMMC permutation from disk to
// disk (Permute), and a superlevel of mini-butterflies (Sweep).
//
// Method: arrays are seen as D disks in blocks of B records (disk/parallel_disks.hpp), whether they are ordinary files
// or scratch. A permutation is a few sweeps (permute/bmmc.hpp). A superlevel reads memoryloads of M records; each holds
// M/F mini-butterflies of F = 2^depth records. When `done` bits of the transform are done, mini-butterfly g belongs to
// the low bits L = g >> (n - done - depth) of the output index, and stage t of P1's butterfly graph has the twiddles
// w_(2^(done+t))^(L + 2^done (i mod 2^(t-1))). All factors that hold L can be drawn to the inputs: input j (in natural
// order) times w_(2^(done+depth))^(jL), then a plain transform of length F, for which there are engines. They want
// natural order where P1's stages want bit-reversed order; that reversal is part of the permutation before
// (solvers/superlevels.cpp) and costs nothing, or is done in memory (Superlevel::reversed).
// A sweep reads one area of scratch and writes another, in place or not, so that what it was made of is there until it
// is done: a journal (sweep_run.hpp) needs no more.
// On ranks each has its share of the disks, in scratch of its own, and of every memoryload (superlevel_step.cpp).
// Invariant: predicted == counted: bytes, requests, messages, parallel I/Os.
// Source: P1, sections 4 to 6.
#pragma once

#include "permute/bmmc.hpp"
#include "sweeps/sweep_step.hpp"

namespace spanfft {

struct PdmSpec {
    PdmShape shape;
    index_t record_bytes = 16;
    IoMode mode = IoMode::asynchronous;
    int threads = 1;
    int scratch_disks = 0;     // that scratch really lies on, 0: with the output; shape.disks() are counted
    index_t stored_bytes = 0;  // of a record in the output, where it is not stored as computed; else 0
    int ranks() const { return 1 << shape.p; }
    index_t block_bytes() const { return shape.block_records() * record_bytes; }
    // Of a rank's share:
    PdmShape share() const { return shape.share(); }
    index_t load_bytes() const { return share().memory_records() * record_bytes; }
    index_t array_bytes() const { return share().records() * record_bytes; }
    index_t blocks() const { return share().records() / shape.block_records(); }
    index_t work_bytes() const { return sweep_buffers(false, mode) * load_bytes(); }  // of work0, for all steps
};

struct PdmPlace {
    Place place = Place::input;
    index_t area = 0;  // which array of scratch
};

// `places`: where the array is before the first sweep and after each one.
std::unique_ptr<Step> make_permute_step(const PdmSpec& spec, BmmcPlan plan, std::vector<PdmPlace> places,
                                        std::string title, Machine machine);

struct Superlevel {
    Precision precision = Precision::dbl;  // of its points, the records: complex numbers
    int done = 0, depth = 1;               // bits of the transform before and in it
    bool backward = false;
    long double scale = 1;  // applied by the last one
    std::string engine;
    PdmPlace from, to;      // two areas, of memoryloads in the same order
    int band = kMaxBits;    // on ranks: the rank is the bits of an index below this one, lg of P1's band size
    bool reversed = false;  // points are read in P1's bit-reversed order
};
std::unique_ptr<Step> make_superlevel_step(const PdmSpec& spec, Superlevel level, Machine machine);

// Tables of roots and factors.
index_t superlevel_own_bytes(const PdmSpec& spec, const Superlevel& level);

}  // namespace spanfft
