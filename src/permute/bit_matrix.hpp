// BitMatrix: square matrices over GF(2) up to 63 x 63, and BMMC maps z = Hx xor c of n-bit indices made of them.
//
// Method: a column is a word, bit i of which is row i, so that Hx is the xor of the columns that x picks. Rows and
// columns count from the least significant bit: column 0 says where bit 0 of an index goes.
// Worked: n = 3, right rotation by one bit: bit 0 goes to bit 2, so column 0 is 100; x = 011 becomes 101.
// Invariant: bits at or above n are 0 in every column; nothing here allocates.
// Source: P1, section 5; Cormen, Sundquist, Wisniewski, "Asymptotically tight bounds for performing BMMC permutations
// on parallel disk systems" (P1's [7]).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/extents.hpp"
#include "core/status.hpp"

namespace spanfft {

using Word = std::uint64_t;
constexpr int kMaxBits = 63;  // an index_t has no more

constexpr Word low_bits(int count) { return (Word{1} << count) - 1; }  // 0 <= count <= 63

class BitMatrix {
  public:
    BitMatrix() = default;
    explicit BitMatrix(int n) : n_(n) {}  // all zeros
    static BitMatrix identity(int n);
    // The low k bits in reverse order; k == n: the bit reversal of P1.
    static BitMatrix bit_reversal(int n, int k);
    static BitMatrix bit_reversal(int n) { return bit_reversal(n, n); }
    // The bits of each index k places to the right, around the end; 0 <= k <= n.
    static BitMatrix right_rotation(int n, int k);
    // Element (i, j) of a 2^row_bits x 2^column_bits array in C order goes to (j, i) of the transposed array.
    static BitMatrix transposition(int row_bits, int column_bits);
    // P1, section 6: from band size 2^from to 2^to on 2^p processors, on disks with stripes of 2^stripe records. Acts
    // on places: where a record lies under the one banding -> where it lies under the other. p <= each of the three.
    static BitMatrix band_conversion(int n, int p, int stripe, int from, int to);
    // `bits` gives random words; about 3.5 tries.
    static BitMatrix random_nonsingular(int n, const std::function<Word()>& bits);

    int size() const { return n_; }
    Word column(int j) const { return columns_[static_cast<size_t>(j)]; }
    void set_column(int j, Word column) { columns_[static_cast<size_t>(j)] = column; }
    bool at(int i, int j) const { return (column(j) >> i & 1) != 0; }
    void set(int i, int j, bool bit) {
        columns_[static_cast<size_t>(j)] = (column(j) & ~(Word{1} << i)) | (Word{bit} << i);
    }

    Word apply(Word x) const {
        Word z = 0;
        for (; x != 0; x &= x - 1) z ^= columns_[static_cast<size_t>(__builtin_ctzll(x))];
        return z;
    }
    BitMatrix transpose() const;
    std::optional<BitMatrix> inverse() const;  // nothing when singular
    // Of rows [row_begin, row_end) and columns [column_begin, column_end).
    int rank(int row_begin, int row_end, int column_begin, int column_end) const;
    int rank() const { return rank(0, n_, 0, n_); }
    // A line of 0 and 1 for each row, row and column 0 first, as P1 writes matrices: phi is at the lower left.
    std::string text() const;
    // "identity", "bit-reversal", "bit-reversal:K" (of the low K bits), "rotation:K", "transpose:RxC",
    // "band:P,STRIPE,FROM,TO" (in records; P processors), "random:SEED"; for n-bit indices.
    static Result<BitMatrix> named(const std::string& kind, int n);

    bool operator==(const BitMatrix&) const = default;

  private:
    int n_ = 0;
    std::array<Word, kMaxBits> columns_{};
};

BitMatrix operator*(const BitMatrix& a, const BitMatrix& b);  // b first, then a

// z = Hx xor c.
struct Bmmc {
    BitMatrix matrix;
    Word complement = 0;
    Word apply(Word x) const { return matrix.apply(x) ^ complement; }
    Bmmc inverse() const;  // the matrix must not be singular
    bool operator==(const Bmmc&) const = default;
};

Bmmc operator*(const Bmmc& a, const Bmmc& b);  // b first, then a

}  // namespace spanfft
