// The four methods of P1 for FFTs on parallel disks by several processors, as lists of sweeps, and what each processor
// sends in them: P1's analysis program. Nothing is run and no record is looked at.
//
// Method: P processors have D/P disks each, so lg P bits of a place, the top ones of its disk number, say who has it. A
// method is a band size beta and an effective memory size F. Records lie with band size beta while mini-butterflies are
// computed: each permutation (bit reversal, rotations) is one BMMC with the conversions of the band size composed.
// A sweep of a BMMC: each processor reads what is its own of a memoryload, sends to each other processor what belongs
// there in one message, and writes to its own disks (sweep_traffic.hpp counts that).
// A stage of a mini-butterfly whose index bit is one of the processor's: partners send each other all of their load,
// M/P records, in one message, and each computes its own half of the results.
// P1 leaves open how much memory is buffers. Its figures follow from M = a quarter of memory, synchronously; we take an
// eighth asynchronously, where a load is read and another one written besides (docs/adr/0076).
// Source: P1, section 6 and figures 7 and 8.
#pragma once

#include "permute/bmmc.hpp"
#include "permute/published_factor.hpp"
#include "permute/sweep_traffic.hpp"

namespace spanfft {

enum class MultiprocessorMethod {
    stripe_major_comm,        // beta = BD, F = M
    memoryload_major_comm,    // beta = M, F = M
    processor_major_nocomm,   // beta = N, F = M/P
    memoryload_major_nocomm,  // beta = M, F = M/P
};
constexpr int kMultiprocessorMethods = 4;
const char* multiprocessor_method_name(MultiprocessorMethod method);

enum class Factoring { published, shorter };  // P1's [7] (published_factor), or ours (factor)

struct MultiprocessorModel {
    int n = 0, memory = 0, b = 0, d = 0, p = 0;  // logarithms; memory: records that all processors can hold together
    index_t record_bytes = 16;
    IoMode mode = IoMode::synchronous;
    Factoring factoring = Factoring::published;
    static constexpr int lg_buffers(IoMode mode) { return mode == IoMode::synchronous ? 2 : 3; }
    PdmShape shape() const { return {n, memory - lg_buffers(mode), b, d, p}; }
    Status check() const;
};

struct MultiprocessorPlan {
    struct Level {
        int done = 0, depth = 1;   // bits of the transform before and in it
        int exchanged_stages = 0;  // between processors
    };
    MultiprocessorModel model;
    int effective = 0, band = 0;               // lg F, lg beta
    std::vector<BitMatrix> permutations;       // of places; one before each level, one after the last
    std::vector<std::vector<Factor>> factors;  // the sweeps of each
    std::vector<Level> levels;
    // Where the record with an index lies while mini-butterflies are computed, and back.
    BitMatrix place_of_index() const;
    BitMatrix index_of_place() const;
};
Result<MultiprocessorPlan> plan_multiprocessor(MultiprocessorMethod method, const MultiprocessorModel& model);

struct MultiprocessorCounts {
    index_t sweeps = 0, parallel_ios = 0;
    Traffic butterflies;         // by each processor: all send the same
    Traffic bmmc;                // by all processors together
    Traffic busiest;             // in BMMC by the processor that sends most bytes; of such, most messages
    bool alike = true;           // all processors send as many messages and bytes
    Traffic total(int p) const;  // by all 2^p processors together
};
MultiprocessorCounts count_traffic(const MultiprocessorPlan& plan);

}  // namespace spanfft
