// Factoring a BMMC permutation into sweeps: permutations that each need one read and one write of all records.
//
// Method: a memoryload is M records with the same high bits: the coset of U_m = {indices below M}. A map X can be done
// by striped reads and independent writes when each memoryload goes to M/B whole blocks that are spread evenly over the
// disks: rows b..n-1 of X's first m columns have rank m-b, rows b..b+d-1 have rank d. Then blocks are read in stripes,
// the memory is permuted, and M/(BD) times D blocks are written, one a disk. If X maps memoryloads to memoryloads
// (rank phi = 0, phi the lower left (n-m) x m part), the writes are striped too. The inverse of such an X reads
// independently and writes stripes.
// Of any other H, with rank phi = r and V = H^-1 U_m (what ends in one memoryload), a dispersal X is taken off at the
// right, H = H'X, so that rank phi' = r - q, q = min(r, m-b). Choose Z with U_m & V inside Z, q vectors of V outside
// U_m, and the rest from U_m: dim Z = m, and dim(Z & U_m) = m - q >= b, so that X may take Z to U_m and still keep
// blocks whole. Taken to the end these are ceil(r/(m-b)) dispersals and one rearrangement: the bound of P1's [7],
// 2N/(BD) (ceil(rank phi / lg(M/B)) + 1) parallel I/Os. When what is left is a sweep by itself, it is taken as that.
// Source: the bound and the classes are [7]'s (MRC, MLD); the choice of Z is ours, in place of its swapper, eraser,
// trailer and reducer matrices. Our dispersals are [7]'s MLD and slightly more: it asks for rank m-b in rows b..m-1.
#pragma once

#include <vector>

#include "core/status.hpp"
#include "permute/bit_matrix.hpp"

namespace spanfft {

// The parameters of the Parallel Disk Model, as logarithms: N records, memory of M, blocks of B, D disks; P processors,
// each of which has its share of memory and disks.
struct PdmShape {
    int n = 0, m = 0, b = 0, d = 0, p = 0;
    index_t records() const { return index_t{1} << n; }
    index_t memory_records() const { return index_t{1} << m; }
    index_t block_records() const { return index_t{1} << b; }
    index_t disks() const { return index_t{1} << d; }
    index_t memoryloads() const { return index_t{1} << (n - m); }
    index_t blocks_per_load() const { return index_t{1} << (m - b); }
    index_t stripes() const { return index_t{1} << (n - b - d); }  // N/(BD): parallel I/Os of one read of everything
    // What one processor has, as if it were alone. Whose a place is say its disk's top bits: `processor_bit()` and on.
    PdmShape share() const { return {n - p, m - p, b, d - p}; }
    int processor_bit() const { return b + d - p; }
    Word processor_of(Word place) const { return place >> processor_bit() & low_bits(p); }
    // A block as its processor counts those of its own disks, and as all of them are counted.
    index_t own_block(index_t block) const { return block >> d << (d - p) | (block & ((index_t{1} << (d - p)) - 1)); }
    index_t block_of(index_t processor, index_t own) const {
        return own >> (d - p) << d | processor << (d - p) | (own & ((index_t{1} << (d - p)) - 1));
    }
    Status check() const;  // p <= d, b + d <= m <= n; P1 has m < n, and m == n is one memoryload
    bool operator==(const PdmShape&) const = default;
};

enum class SweepKind {
    rearrange,  // MRC: striped reads, striped writes
    disperse,   // MLD: striped reads, independent writes
    collect,    // inverse MLD: independent reads, striped writes
};
const char* sweep_kind_name(SweepKind kind);

struct Factor {
    Bmmc map;
    SweepKind kind = SweepKind::rearrange;
};

int rank_phi(const BitMatrix& matrix, const PdmShape& shape);
// 2N/(BD) (ceil(rank phi / lg(M/B)) + 1); nothing when M == B and rank phi > 0, where the bound has no meaning.
std::optional<index_t> parallel_io_bound(const BitMatrix& matrix, const PdmShape& shape);
// How the map can be done in one sweep, if it can.
std::optional<SweepKind> one_sweep(const BitMatrix& matrix, const PdmShape& shape);

// What any factoring refuses: a singular matrix; and memory of one block, where blocks have to be taken apart.
Status check_factorable(const BitMatrix& matrix, const PdmShape& shape);
Status check_two_blocks(const PdmShape& shape);

// The sweeps in order: the last factor times ... times the first is `map`. None for the identity.
// Code::invalid_argument for a singular matrix, Code::out_of_memory when memory holds one block and needs two.
Result<std::vector<Factor>> factor(const Bmmc& map, const PdmShape& shape);

}  // namespace spanfft
