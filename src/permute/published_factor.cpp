// The factoring of P1's [7]; see published_factor.hpp.
#include "permute/published_factor.hpp"

#include <cassert>

namespace spanfft {

namespace {

// Vectors that were found independent, each with the columns that it is the sum of.
class Span {
  public:
    // Takes `image` off by what is here; `columns` follows. True if something is left, which is kept.
    bool add(Word image, Word& columns) {
        image = reduce(image, columns);
        if (image == 0) return false;
        kept_[static_cast<size_t>(top(image))] = {image, columns};
        return true;
    }
    Word reduce(Word image, Word& columns) const {
        while (image != 0) {
            const Kept& at = kept_[static_cast<size_t>(top(image))];
            if (at.image == 0) break;
            image ^= at.image;
            columns ^= at.columns;
        }
        return image;
    }

  private:
    struct Kept {
        Word image = 0, columns = 0;
    };
    static int top(Word image) { return 63 - __builtin_clzll(image); }
    std::array<Kept, kMaxBits> kept_{};
};

constexpr Word bit(int i) { return Word{1} << i; }

BitMatrix trailer(const BitMatrix& matrix, const PdmShape& shape) {
    BitMatrix result = BitMatrix::identity(shape.n);
    Span span;
    std::vector<int> dependent;
    for (int j = shape.m; j < shape.n; ++j) {
        Word columns = bit(j);
        if (!span.add(matrix.column(j) >> shape.m, columns)) dependent.push_back(j);
    }
    size_t next = 0;
    for (int j = 0; j < shape.m && next < dependent.size(); ++j) {
        Word columns = bit(j);
        if (!span.add(matrix.column(j) >> shape.m, columns)) continue;
        result.set_column(dependent[next], bit(dependent[next]) | bit(j));
        ++next;
    }
    assert(next == dependent.size());  // the lower rows of a nonsingular matrix have full rank
    return result;
}

BitMatrix reducer(const BitMatrix& matrix, const PdmShape& shape) {
    BitMatrix result = BitMatrix::identity(shape.n);
    Span span;
    for (int j = 0; j < shape.m; ++j) {
        Word columns = bit(j);
        if (!span.add(matrix.column(j) >> shape.m, columns)) result.set_column(j, columns);
    }
    return result;
}

BitMatrix swapper(const BitMatrix& matrix, const PdmShape& shape) {
    BitMatrix result = BitMatrix::identity(shape.n);
    int free = shape.b;
    for (int j = 0; j < shape.b; ++j) {
        if (matrix.column(j) >> shape.m == 0) continue;
        while (free < shape.m && matrix.column(free) >> shape.m != 0) ++free;
        if (free == shape.m) break;
        result.set_column(j, bit(free));
        result.set_column(free++, bit(j));
    }
    return result;
}

BitMatrix eraser(const BitMatrix& matrix, const PdmShape& shape) {
    BitMatrix result = BitMatrix::identity(shape.n);
    Span span;
    for (int j = shape.m; j < shape.n; ++j) {
        Word columns = bit(j);
        const bool independent = span.add(matrix.column(j) >> shape.m, columns);
        assert(independent);
        (void)independent;
    }
    for (int j = shape.b; j < shape.m; ++j) {
        Word columns = bit(j);
        span.reduce(matrix.column(j) >> shape.m, columns);
        result.set_column(j, columns);
    }
    return result;
}

}  // namespace

Result<std::vector<Factor>> published_factor(const BitMatrix& matrix, const PdmShape& shape) {
    SPANFFT_TRY(shape.check());
    assert(matrix.size() == shape.n);
    if (const int rank = matrix.rank(); rank < shape.n)
        return error(Code::invalid_argument, "the ", shape.n, "x", shape.n, " matrix is singular: its rank is ", rank,
                     ", so two records would go to one place; give a matrix that has an inverse over GF(2)");
    std::vector<Factor> factors;
    const BitMatrix identity = BitMatrix::identity(shape.n);
    if (matrix == identity) return factors;
    if (rank_phi(matrix, shape) > 0 && shape.m == shape.b)
        return error(Code::out_of_memory, "memory of 2^", shape.m, " records holds one block of 2^", shape.b,
                     ", and this permutation needs two at once; give twice the memory or halve the blocks");
    BitMatrix together = trailer(matrix, shape);
    together = together * reducer(matrix * together, shape);
    BitMatrix rest = matrix * together;
    while (rank_phi(rest, shape) > 0) {
        const BitMatrix swap = swapper(rest, shape);
        const BitMatrix erase = eraser(rest * swap, shape);
        rest = rest * swap * erase;
        // Both are their own inverses.
        BitMatrix sweep = erase * swap;
        if (factors.empty()) sweep = sweep * *together.inverse();
        factors.push_back({{sweep, 0}, SweepKind::disperse});
    }
    if (factors.empty()) rest = matrix;
    if (!(rest == identity)) factors.push_back({{rest, 0}, SweepKind::rearrange});
    return factors;
}

}  // namespace spanfft
