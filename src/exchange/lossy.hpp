// Lossy: real numbers in fewer bytes, at a fixed rate, with a bound on the error.
//
// Method: `as_float` rounds each number to float. `bounded` is block floating point: 64 numbers share a scale m, their
// largest absolute value, and each is kept as the integer nearest to x/m*Q, Q = 2^(bits-1) - 2. So |x - x'| <= m/(2Q),
// and of a block the L2 error is at most sqrt(64)*m/(2Q) = m*4/Q, no more than 4/Q of the block's own norm, which is m
// or more. So is that of everything. (A smaller scale for the L2 norm alone would not do for one number among zeros.)
// Worked numbers: 16 bits have Q = 32766 and L2 error <= 1.22e-4; 64 doubles become 8 + 128 bytes, 512/136 = 3.8 times
// fewer. Where a block has NaNs or infinities, the scale is that of its finite numbers, its sign bit is set, and the
// three integers beyond Q mean them: nothing is hidden. Where all of a block is below 1e-250 (m/Q would lose bits), it
// is scaled up by 2^200 while it is coded.
// Invariant: the size depends on the count only. Loops run over whole blocks without branches, so that compilers
// vectorise them. Bound for denormal results: half of the smallest denormal more, by their own rounding.
#pragma once

#include "core/dtype.hpp"
#include "core/status.hpp"

namespace spanfft {

struct Coding {
    enum class Way { as_float, bounded } way = Way::as_float;
    int bits = 32;  // of a bounded number: 8, 16, 24, 32
};

constexpr index_t kBlockReals = 64;

// The bound on the relative L2 error (of what is sent as a whole, and of each block by itself).
double coding_bound(const Coding& coding, Precision precision);
// The coarsest bounded coding that keeps `bound`; Code::unsupported where none does or none is shorter.
Result<Coding> coding_for(double bound, Precision precision);

index_t coded_bytes(const Coding& coding, index_t reals);

// Whole blocks, but for the end: `reals` numbers of `precision` at `from`, which is aligned to them; no alignment of
// the coded bytes.
void encode(const Coding& coding, Precision precision, index_t reals, const void* from, void* coded);
void decode(const Coding& coding, Precision precision, index_t reals, const void* coded, void* to);

}  // namespace spanfft
