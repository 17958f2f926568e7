// Matrices over GF(2) as words; see bit_matrix.hpp.
#include "permute/bit_matrix.hpp"

#include <cassert>

#include "permute/span.hpp"

namespace spanfft {

namespace {

// The matrix that takes bit j of an index to bit target(j).
template <class Target>
BitMatrix bit_permutation(int n, const Target& target) {
    BitMatrix result(n);
    for (int j = 0; j < n; ++j) result.set_column(j, Word{1} << target(j));
    return result;
}

// Where bit j goes when the field of `width` bits at bit `from` slides to bit `to`, past those in between.
int slide(int j, int width, int from, int to) {
    if (j >= from && j < from + width) return j - from + to;
    const int rest = j < from ? j : j - width;  // its place among the other bits
    return rest < to ? rest : rest + width;
}

}  // namespace

BitMatrix BitMatrix::identity(int n) {
    return bit_permutation(n, [](int j) { return j; });
}

BitMatrix BitMatrix::bit_reversal(int n, int k) {
    return bit_permutation(n, [k](int j) { return j < k ? k - 1 - j : j; });
}

BitMatrix BitMatrix::right_rotation(int n, int k) {
    return bit_permutation(n, [n, k](int j) { return (j + n - k) % n; });
}

// x = i*C + j -> j*R + i: the low bits j go to the top, i comes down.
BitMatrix BitMatrix::transposition(int row_bits, int column_bits) {
    return right_rotation(row_bits + column_bits, column_bits);
}

// The record with index x lies, with band size 2^q on P processors, at x with its p processor bits, which begin at bit
// q - p, slid to where the disks have them: bit stripe - p. So a place becomes an index by the opposite slide.
// Worked (P1, figure 6a): N = 64, P = 4, stripe 16, band 32: place 4 = 00 01 00 is record 8 = 0 01 000.
BitMatrix BitMatrix::band_conversion(int n, int p, int stripe, int from, int to) {
    const BitMatrix index_of_place = bit_permutation(n, [=](int j) { return slide(j, p, stripe - p, from - p); });
    const BitMatrix place_of_index = bit_permutation(n, [=](int j) { return slide(j, p, to - p, stripe - p); });
    return place_of_index * index_of_place;
}

BitMatrix BitMatrix::random_nonsingular(int n, const std::function<Word()>& bits) {
    for (;;) {
        BitMatrix candidate(n);
        for (int j = 0; j < n; ++j) candidate.set_column(j, bits() & low_bits(n));
        if (candidate.rank() == n) return candidate;
    }
}

BitMatrix BitMatrix::transpose() const {
    BitMatrix result(n_);
    for (int j = 0; j < n_; ++j) {
        for (int i = 0; i < n_; ++i) result.set(j, i, at(i, j));
    }
    return result;
}

std::optional<BitMatrix> BitMatrix::inverse() const {
    // Column operations that make this the identity make the identity the inverse.
    BitMatrix work = *this, result = identity(n_);
    for (int row = 0; row < n_; ++row) {
        int pivot = row;
        while (pivot < n_ && !work.at(row, pivot)) ++pivot;
        if (pivot == n_) return std::nullopt;
        std::swap(work.columns_[static_cast<size_t>(row)], work.columns_[static_cast<size_t>(pivot)]);
        std::swap(result.columns_[static_cast<size_t>(row)], result.columns_[static_cast<size_t>(pivot)]);
        for (int j = 0; j < n_; ++j) {
            if (j == row || !work.at(row, j)) continue;
            work.columns_[static_cast<size_t>(j)] ^= work.column(row);
            result.columns_[static_cast<size_t>(j)] ^= result.column(row);
        }
    }
    return result;
}

int BitMatrix::rank(int row_begin, int row_end, int column_begin, int column_end) const {
    assert(0 <= row_begin && row_begin <= row_end && row_end <= n_);
    BitSpan columns;
    for (int j = column_begin; j < column_end; ++j)
        columns.add(columns_[static_cast<size_t>(j)] >> row_begin & low_bits(row_end - row_begin));
    return columns.size();
}

std::string BitMatrix::text() const {
    std::string lines;
    for (int i = 0; i < n_; ++i) {
        for (int j = 0; j < n_; ++j) lines += at(i, j) ? '1' : '0';
        lines += '\n';
    }
    return lines;
}

BitMatrix operator*(const BitMatrix& a, const BitMatrix& b) {
    assert(a.size() == b.size());
    BitMatrix result(b.size());
    for (int j = 0; j < b.size(); ++j) result.set_column(j, a.apply(b.column(j)));
    return result;
}

Bmmc Bmmc::inverse() const {
    const auto inverted = matrix.inverse();
    assert(inverted);
    return {*inverted, inverted->apply(complement)};
}

Bmmc operator*(const Bmmc& a, const Bmmc& b) { return {a.matrix * b.matrix, a.apply(b.complement)}; }

}  // namespace spanfft
