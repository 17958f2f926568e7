// See request.hpp. Axes have two orders here: the client's (that of `n`, and behind it the `howmany` numbers as one
// axis more), and spanfft's, which is the order in which one of the sides is stored, so that this side needs no copy.
#include "request.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace fftw3_mpi {
namespace {

using Order = std::vector<std::size_t>;

bool real_input(Kind kind) { return kind == Kind::r2c || kind == Kind::r2r || kind == Kind::transpose; }
bool real_output(Kind kind) { return kind == Kind::c2r || kind == Kind::r2r || kind == Kind::transpose; }
bool halves(Kind kind) { return kind == Kind::r2c || kind == Kind::c2r; }

// What a side is, before it has a place in spanfft's order.
struct Form {
    std::size_t divided;  // axis, in blocks
    std::int64_t block;
    bool swapped;  // the second axis is stored before the first
    bool real;
};

Order stored(const Form& form, std::size_t axes) {
    Order order(axes);
    std::iota(order.begin(), order.end(), 0U);
    if (form.swapped) std::swap(order[0], order[1]);
    return order;
}

const char* unsupported(const Request& r) {
    if (r.n.empty() || r.howmany < 1) return "there is nothing to transform";
    if (std::any_of(r.n.begin(), r.n.end(), [](std::int64_t n) { return n < 1; })) return "a length is below 1";
    if (r.input_block < 0 || r.output_block < 0) return "a block is negative";
    if (r.n.size() + (r.howmany > 1) + (r.kind == Kind::transpose) > SPANFFT_MAX_NDIM) return "too many axes";
    if (halves(r.kind) && r.n.size() < 2) return "r2c and c2r of one axis are not in FFTW's MPI interface";
    if ((r.kind == Kind::r2c && (r.flags & transposed_in)) || (r.kind == Kind::c2r && (r.flags & transposed_out)))
        return "the real side can't be transposed";
    if (r.flags & wisdom_only) return "FFTW_WISDOM_ONLY asks for FFTW's own wisdom";
    return nullptr;
}

// spanfft's kind, whose forward transform without a scale is FFTW's; -1: it has none.
int kind_of(int r2r) {
    switch (r2r) {
        case redft00:
            return SPANFFT_DCT1;
        case redft10:
            return SPANFFT_DCT2;
        case redft01:
            return SPANFFT_DCT3;
        case redft11:
            return SPANFFT_DCT4;
        case rodft00:
            return SPANFFT_DST1;
        case rodft10:
            return SPANFFT_DST2;
        case rodft01:
            return SPANFFT_DST3;
        case rodft11:
            return SPANFFT_DST4;
        default:
            return -1;
    }
}

// FFTW's MEASURE takes a fraction of a second, PATIENT some, EXHAUSTIVE many; ours are capped likewise.
void set_effort(spanfft_problem& problem, unsigned flags) {
    problem.effort = SPANFFT_MEASURE;
    problem.measure_seconds = 1;
    if (flags & estimate) {
        problem.effort = SPANFFT_ESTIMATE;
    } else if (flags & exhaustive) {
        problem.effort = SPANFFT_TUNE;
        problem.measure_seconds = 30;
    } else if (flags & patient) {
        problem.measure_seconds = 5;
    }
}

// The lengths of the client's axes as they are stored on one side: halved where it is complex.
std::vector<std::int64_t> lengths(const Request& r, bool real) {
    auto n = r.n;
    if (halves(r.kind) && !real) n.back() = n.back() / 2 + 1;
    if (r.howmany > 1) n.push_back(r.howmany);
    if (r.kind == Kind::transpose) n.push_back(1);
    return n;
}

// A transform's transposed side is divided along its second axis; a transposition's input always along the first, its
// output along the second, and the flags tell only how each rank stores its part. Of a line there is one order, and the
// blocks that a client gives mean nothing, as in FFTW.
std::pair<Form, Form> forms_of(const Request& r) {
    if (r.n.size() == 1) return {Form{0, 0, false, real_input(r.kind)}, Form{0, 0, false, real_output(r.kind)}};
    const bool in = (r.flags & transposed_in) != 0, out = (r.flags & transposed_out) != 0;
    if (r.kind == Kind::transpose) return {Form{0, r.input_block, in, true}, Form{1, r.output_block, !out, true}};
    return {Form{in, r.input_block, in, real_input(r.kind)}, Form{out, r.output_block, out, real_output(r.kind)}};
}

// Whether the spectrum of a line may stay where the last exchange puts it, frequency k on rank k mod ranks. SCRAMBLED
// leaves its order to us: the spectrum of a forward transform, which a backward one takes. Other orders that it may
// leave open are natural. Every length of this form has such plans, in both directions; other lengths stay natural.
bool leaves_spectrum_exchanged(const Request& r, int ranks) {
    const unsigned flag = r.sign == forward_sign ? scrambled_out : scrambled_in;
    if (r.kind != Kind::c2c || r.n.size() != 1 || r.howmany != 1 || !(r.flags & flag)) return false;
    std::int64_t rest = r.n[0];
    if (ranks < 2 || rest % (static_cast<std::int64_t>(ranks) * ranks)) return false;
    for (const int factor : {2, 3, 5, 7, 11, 13})
        while (rest % factor == 0) rest /= factor;
    return rest == 1;
}

std::optional<Side> side_of(const Request& r, const Form& form, const Order& order, int rank, int ranks) {
    const auto n = lengths(r, form.real);
    const std::size_t divided = form.divided;
    const auto block = block_of(n[divided], form.block, rank, ranks);
    if (!block) return std::nullopt;

    Side side;
    side.element_bytes = r.real_bytes * (form.real ? 1 : 2);
    side.balanced = block->count == n[divided] / ranks + (rank < n[divided] % ranks);
    std::vector<std::int64_t> step(n.size());
    auto next = static_cast<std::int64_t>(side.element_bytes);
    const auto storage = stored(form, n.size());
    for (std::size_t i = n.size(); i-- > 0;) {
        const std::size_t axis = storage[i];
        const bool padded = halves(r.kind) && form.real && axis == r.n.size() - 1;
        step[axis] = next;
        next *= padded ? 2 * (n[axis] / 2 + 1) : axis == divided ? block->count : n[axis];
    }
    auto expected = static_cast<std::int64_t>(side.element_bytes);
    side.steps.resize(n.size());
    for (std::size_t i = n.size(); i-- > 0;) {
        const std::size_t axis = order[i];
        if (axis == divided) side.divided = i;
        side.box.start[i] = axis == divided ? block->start : 0;
        side.box.count[i] = axis == divided ? block->count : n[axis];
        side.steps[i] = step[axis];
        side.in_c_order = side.in_c_order && (side.box.count[i] == 1 || step[axis] == expected);
        expected *= side.box.count[i];
    }
    return side;
}

StridedCopy copy_of(const Side& side, bool to_spanfft) {
    std::vector<CopyAxis> axes(side.steps.size());
    auto dense = static_cast<std::int64_t>(side.element_bytes);
    for (std::size_t i = axes.size(); i-- > 0;) {
        axes[i] = {side.box.count[i], to_spanfft ? side.steps[i] : dense, to_spanfft ? dense : side.steps[i]};
        dense *= side.box.count[i];
    }
    return {std::move(axes), side.element_bytes};
}

// What does not depend on ranks: shape, axes and kinds in spanfft's order. False: an r2r kind that spanfft has not.
bool describe(const Request& r, const Order& order, spanfft_problem& problem) {
    const auto n = lengths(r, true);
    std::vector<std::int64_t> shape(n.size());
    std::vector<std::int32_t> place(n.size());
    for (std::size_t i = 0; i < n.size(); ++i) {
        shape[i] = n[order[i]];
        place[order[i]] = static_cast<std::int32_t>(i);
    }
    spanfft_problem_init(&problem, static_cast<int>(n.size()), shape.data());
    problem.naxes = static_cast<std::int32_t>(r.n.size());
    for (std::size_t i = 0; i < r.n.size(); ++i) {
        problem.axes[i] = place[i];
        problem.kinds[i] = r.kind == Kind::r2r ? kind_of(r.r2r_kinds[i]) : SPANFFT_C2C;
        if (problem.kinds[i] < 0 || (problem.kinds[i] == SPANFFT_DCT1 && r.n[i] < 2)) return false;
    }
    if (halves(r.kind)) problem.kinds[r.n.size() - 1] = SPANFFT_R2C;
    if (r.kind == Kind::transpose) {
        // Nothing is to be computed: the DCT-III of one point is this point.
        problem.naxes = 1;
        problem.axes[0] = place[n.size() - 1];
        problem.kinds[0] = SPANFFT_DCT3;
    }
    const bool backward = r.kind == Kind::c2r || (r.kind == Kind::c2c && r.sign != forward_sign);
    problem.direction = backward ? SPANFFT_BACKWARD : SPANFFT_FORWARD;
    problem.norm = backward ? SPANFFT_NORM_FORWARD : SPANFFT_NORM_BACKWARD;  // the other direction's: no scale
    problem.precision = r.precision;
    set_effort(problem, r.flags);
    return true;
}

}  // namespace

std::optional<Block> block_of(std::int64_t n, std::int64_t block, int rank, int ranks) {
    if (block == 0) block = (n + ranks - 1) / ranks;
    if ((n + block - 1) / block > ranks) return std::nullopt;
    const std::int64_t start = std::min(n, block * rank);
    const std::int64_t count = std::min(n - start, block);
    return Block{count ? start : 0, count};
}

std::size_t Side::bytes() const {
    std::size_t all = element_bytes;
    for (std::size_t i = 0; i < steps.size(); ++i) all *= static_cast<std::size_t>(box.count[i]);
    return all;
}
StridedCopy Side::to_spanfft() const { return copy_of(*this, true); }
StridedCopy Side::to_client() const { return copy_of(*this, false); }

std::optional<Translation> translate(const Request& r, int rank, int ranks, std::string& reason) {
    if (const char* sentence = unsupported(r)) {
        reason = sentence;
        return std::nullopt;
    }
    const auto [in, out] = forms_of(r);
    // A side that is copied anyhow (padded rows) leaves the order to the other; but the halved axis stays the last.
    const auto axes = lengths(r, true).size();
    const Form& direct = r.kind == Kind::r2c ? out : in;
    const bool keeps = halves(r.kind) && r.n.size() == 2;
    const Order order = stored(keeps ? Form{} : direct, axes);

    Translation t{};
    if (!describe(r, order, t.problem)) {
        reason = "R2HC, HC2R, DHT and REDFT00 of one point are not spanfft's";
        return std::nullopt;
    }
    auto input = side_of(r, in, order, rank, ranks), output = side_of(r, out, order, rank, ranks);
    if (!input || !output) {
        reason = "the blocks are too short for the ranks";
        return std::nullopt;
    }
    if (leaves_spectrum_exchanged(r, ranks)) t.problem.output = SPANFFT_OUTPUT_EXCHANGED;
    t.input = std::move(*input);
    t.output = std::move(*output);
    return t;
}

}  // namespace fftw3_mpi
