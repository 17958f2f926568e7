// Taking a BMMC permutation apart into sweeps; see factor.hpp.
#include "permute/factor.hpp"

#include <algorithm>
#include <cassert>

#include "permute/span.hpp"

namespace spanfft {

namespace {

// Vectors and what the rows m..n-1 of a matrix make of them, reduced so that the images are independent.
struct Reduced {
    std::vector<Word> inside_kernel;   // of U_m & V
    std::vector<Word> inside_others;   // of U_m, which complete it; their images are independent
    std::vector<Word> outside_kernel;  // of V, independent modulo U_m
};

Reduced reduce(const BitMatrix& matrix, const PdmShape& shape) {
    BitSpan images;
    Reduced result;
    for (int j = 0; j < shape.n; ++j) {
        Word vector = Word{1} << j;
        const bool independent = images.add(matrix.column(j) >> shape.m, vector);
        if (!independent)
            (j < shape.m ? result.inside_kernel : result.outside_kernel).push_back(vector);
        else if (j < shape.m)
            result.inside_others.push_back(vector);
    }
    return result;
}

// The dispersal to be done first so that q less of rank phi is left.
BitMatrix dispersal(const BitMatrix& matrix, const PdmShape& shape) {
    const Reduced parts = reduce(matrix, shape);
    const int n = shape.n, m = shape.m, r = static_cast<int>(parts.inside_others.size()), q = std::min(r, m - shape.b);
    BitMatrix basis(n), image(n);
    int filled = 0;
    const auto send = [&](Word from, Word to) {
        basis.set_column(filled, from);
        image.set_column(filled++, to);
    };
    const auto bit = [](int i) { return Word{1} << i; };
    int next = 0;
    for (Word vector : parts.inside_kernel) send(vector, bit(next++));
    for (int i = q; i < r; ++i) send(parts.inside_others[static_cast<size_t>(i)], bit(next++));
    // Z ends here and in the q vectors of V; the q that leave memory go where these were, one memoryload bit each.
    for (int i = 0; i < q; ++i) {
        send(parts.outside_kernel[static_cast<size_t>(i)], bit(m - q + i));
        send(parts.inside_others[static_cast<size_t>(i)], bit(m - q + i) | bit(m + i));
    }
    // The other directions outside of memory: unit vectors that complete the basis.
    BitSpan outside;
    for (int i = 0; i < q; ++i) outside.add(parts.outside_kernel[static_cast<size_t>(i)] >> m);
    for (int j = m, to = m + q; j < n; ++j) {
        if (outside.add(bit(j) >> m)) send(bit(j), bit(to++));
    }
    assert(filled == n);
    return image * *basis.inverse();
}

bool disperses(const BitMatrix& matrix, const PdmShape& shape) {
    return matrix.rank(shape.b, shape.n, 0, shape.m) == shape.m - shape.b &&
           matrix.rank(shape.b, shape.b + shape.d, 0, shape.m) == shape.d;
}

}  // namespace

Status PdmShape::check() const {
    if (n < 1 || n > kMaxBits || b < 0 || d < 0)
        return error(Code::invalid_argument, "2^", n, " records in blocks of 2^", b, " on 2^", d,
                     " disks are outside of what can be counted; use 2 to 2^", kMaxBits, " records");
    if (p < 0 || p > d)
        return error(Code::invalid_argument, "2^", p, " processors share 2^", d,
                     " disks; each needs one of its own: give as many disks");
    if (b + d > m)
        return error(Code::out_of_memory, "memory of 2^", m, " records does not hold a block of 2^", b,
                     " from each of 2^", d, " disks; give more memory, smaller blocks or fewer disks");
    if (m > n)
        return error(Code::invalid_argument, "memory of 2^", m, " records is more than the 2^", n,
                     " that there are; plan with 2^", n);
    return {};
}

const char* sweep_kind_name(SweepKind kind) {
    return kind == SweepKind::rearrange ? "rearrangement" : kind == SweepKind::disperse ? "dispersal" : "collection";
}

int rank_phi(const BitMatrix& matrix, const PdmShape& shape) { return matrix.rank(shape.m, shape.n, 0, shape.m); }

std::optional<index_t> parallel_io_bound(const BitMatrix& matrix, const PdmShape& shape) {
    const int rank = rank_phi(matrix, shape), per_sweep = shape.m - shape.b;
    if (rank == 0) return 2 * shape.stripes();
    if (per_sweep == 0) return std::nullopt;
    return 2 * shape.stripes() * (ceil_div(rank, per_sweep) + 1);
}

std::optional<SweepKind> one_sweep(const BitMatrix& matrix, const PdmShape& shape) {
    if (rank_phi(matrix, shape) == 0) return SweepKind::rearrange;
    if (disperses(matrix, shape)) return SweepKind::disperse;
    const auto inverse = matrix.inverse();
    if (inverse && disperses(*inverse, shape)) return SweepKind::collect;
    return std::nullopt;
}

Status check_factorable(const BitMatrix& matrix, const PdmShape& shape) {
    SPANFFT_TRY(shape.check());
    assert(matrix.size() == shape.n);
    const int rank = matrix.rank();
    if (rank == shape.n) return {};
    return error(Code::invalid_argument, "the ", shape.n, "x", shape.n, " matrix is singular: its rank is ", rank,
                 ", so two records would go to one place; give a matrix that has an inverse over GF(2)");
}

Status check_two_blocks(const PdmShape& shape) {
    if (shape.m > shape.b) return {};
    return error(Code::out_of_memory, "memory of 2^", shape.m, " records holds one block of 2^", shape.b,
                 ", and this permutation needs two at once; give twice the memory or halve the blocks");
}

Result<std::vector<Factor>> factor(const Bmmc& map, const PdmShape& shape) {
    SPANFFT_TRY(check_factorable(map.matrix, shape));
    std::vector<Factor> factors;
    if (map == Bmmc{BitMatrix::identity(shape.n), 0}) return factors;
    BitMatrix rest = map.matrix;
    std::optional<SweepKind> kind;
    while (!(kind = one_sweep(rest, shape))) {
        SPANFFT_TRY(check_two_blocks(shape));
        const BitMatrix first = dispersal(rest, shape);
        factors.push_back({{first, 0}, SweepKind::disperse});
        rest = rest * *first.inverse();
    }
    factors.push_back({{rest, map.complement}, *kind});
    return factors;
}

}  // namespace spanfft
