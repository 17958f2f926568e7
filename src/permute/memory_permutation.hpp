// MemoryPermutation: a linear permutation of the records of one memoryload in memory, one cache line after the other.
//
// Method: record i goes to place Pi xor base. Taking i in rising order would touch a new cache line with every write.
// Instead the indices are taken in cosets of T = U + P^-1 U, U the indices inside a line (of 2^c records): within one
// coset as many whole lines are read as are written, at most 2^c, and all stay in the innermost cache.
// Worked: bit reversal of 2^20 records of 16 bytes, lines of 128 bytes: c = 3, T has the 3 lowest and the 3 highest
// bits: 64 records, 8 lines read, 8 lines written.
// Invariant: nothing is allocated after construction; `in` and `out` do not overlap.
#pragma once

#include <vector>

#include "core/threads.hpp"
#include "permute/bit_matrix.hpp"

namespace spanfft {

class MemoryPermutation {
  public:
    // p: m x m and not singular, for 2^m records of record_bytes.
    MemoryPermutation(const BitMatrix& p, index_t record_bytes);
    // out[Pi xor base] = in[i] for all i. Returns the bytes that it read and wrote.
    index_t scatter(Word base, const char* in, char* out, ThreadTeam& team) const;

  private:
    struct Pair {
        Word index, place;
    };
    template <class Copy>
    index_t cosets(Word base, index_t begin, index_t end, const Copy& copy) const;

    BitMatrix p_;
    index_t record_bytes_;
    std::vector<Pair> coset_;     // T and P T
    std::vector<int> free_bits_;  // unit vectors that complete T
};

}  // namespace spanfft
