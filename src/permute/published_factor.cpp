// The factoring of P1's [7]; see published_factor.hpp.
#include "permute/published_factor.hpp"

#include <cassert>

#include "permute/span.hpp"

namespace spanfft {

namespace {

constexpr Word bit(int i) { return Word{1} << i; }

BitMatrix trailer(const BitMatrix& matrix, const PdmShape& shape) {
    BitMatrix result = BitMatrix::identity(shape.n);
    BitSpan span;
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
    BitSpan span;
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
    BitSpan span;
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
    SPANFFT_TRY(check_factorable(matrix, shape));
    std::vector<Factor> factors;
    const BitMatrix identity = BitMatrix::identity(shape.n);
    if (matrix == identity) return factors;
    if (rank_phi(matrix, shape) > 0) SPANFFT_TRY(check_two_blocks(shape));
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
