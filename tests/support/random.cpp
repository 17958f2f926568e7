// Random problems; see random.hpp.
#include "support/random.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace spanfft::test {

namespace {
uint64_t seed_or_environment(uint64_t seed) {
    const char* given = std::getenv("SPANFFT_TEST_SEED");
    return given ? std::strtoull(given, nullptr, 10) : seed;
}
}  // namespace

Random::Random(uint64_t seed) : seed_(seed_or_environment(seed)), state_(seed_) {}

uint64_t Random::bits() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

double Random::noise() { return static_cast<double>(bits() >> 43) * 0x1p-20 - 1.0; }

namespace {

void split_box(Random& random, const Patch& box, int ranks, std::vector<Patch>& boxes) {
    if (ranks == 1) {
        boxes.push_back(box);
        return;
    }
    const auto axis = static_cast<size_t>(random.below(static_cast<index_t>(box.size())));
    const int left_ranks = static_cast<int>(random.between(1, ranks - 1));
    const index_t cut = random.between(0, box[axis].count);
    Patch left = box, right = box;
    left[axis].count = cut;
    right[axis].start += cut;
    right[axis].count -= cut;
    split_box(random, left, left_ranks, boxes);
    split_box(random, right, ranks - left_ranks, boxes);
}

Extents random_shape(Random& random, int ndim, index_t max_elems) {
    Extents shape;
    index_t left = max_elems;
    for (int i = 0; i < ndim; ++i) {
        const index_t most = std::max<index_t>(1, std::min<index_t>(left, 24));
        const index_t n = random.chance(0.1) ? 1 : random.between(1, most);
        shape.push_back(n);
        left = std::max<index_t>(1, left / n);
    }
    random.shuffle(shape);
    return shape;
}

void random_transform(Random& random, Problem& p) {
    p.axes.resize(p.shape.size());
    std::iota(p.axes.begin(), p.axes.end(), 0);
    if (random.chance(0.4)) random.shuffle(p.axes);
    if (random.chance(0.3)) p.axes.resize(static_cast<size_t>(random.between(1, p.ndim())));
    const int style = static_cast<int>(random.below(5));  // c2c, r2c last, one r2r kind, any mixture, r2c anywhere
    const auto r2r = [&] {
        return static_cast<AxisKind>(
            random.between(static_cast<int>(AxisKind::dct1), static_cast<int>(AxisKind::dst4)));
    };
    const AxisKind one = r2r();
    for (size_t i = 0; i < p.axes.size(); ++i) {
        AxisKind kind = AxisKind::c2c;
        if (style == 2) kind = one;
        if (style == 3 && random.chance(0.5)) kind = r2r();
        p.kinds.push_back(kind);
    }
    if (style == 1) p.kinds.back() = AxisKind::r2c;
    if (style >= 3 && random.chance(0.5)) {
        p.kinds[static_cast<size_t>(random.below(static_cast<index_t>(p.kinds.size())))] = AxisKind::r2c;
    }
    for (size_t i = 0; i < p.axes.size(); ++i) {
        if (p.kinds[i] == AxisKind::dct1 && p.shape[static_cast<size_t>(p.axes[i])] < 2) p.kinds[i] = AxisKind::dct2;
    }
    p.direction = static_cast<Direction>(random.below(2));
    p.precision = static_cast<Precision>(random.below(3));
    p.norm = static_cast<Norm>(random.below(3));
}

// Extents whose product is ranks, one for each leading axis, at least one axis of all undivided when there are several.
Extents random_grid(Random& random, int ndim, int ranks) {
    std::vector<Extents> fitting;
    for (const Extents& grid : factorings(ranks, static_cast<int>(random.between(1, ndim)))) {
        const auto divided = std::count_if(grid.begin(), grid.end(), [](index_t g) { return g > 1; });
        if (divided < ndim || divided == 0) fitting.push_back(grid);
    }
    return fitting.empty() ? Extents{} : random.pick(fitting);
}

}  // namespace

std::vector<Patch> random_tiling(Random& random, const Extents& shape, int ranks) {
    Patch whole;
    for (index_t n : shape) whole.push_back({0, n, 1});
    std::vector<Patch> boxes;
    split_box(random, whole, ranks, boxes);
    random.shuffle(boxes);
    return boxes;
}

Layout random_grid_layout(Random& random, const Extents& shape, int ranks, bool cyclic) {
    const auto all = factorings(ranks, static_cast<int>(random.between(1, static_cast<index_t>(shape.size()))));
    const Extents& parts = random.pick(all);
    std::vector<int> axes(shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    random.shuffle(axes);
    std::vector<GridDim> grid;
    for (size_t i = 0; i < parts.size(); ++i) {
        GridDim dim{parts[i], axes[i], cyclic && random.chance(0.5) ? Division::cyclic : Division::block};
        if (dim.division == Division::block && random.chance(0.3)) dim.row = random.between(2, 7);
        grid.push_back(dim);
    }
    return Layout(shape, grid);
}

Problem random_problem_text(Random& random) {
    Problem p;
    p.shape = random_shape(random, static_cast<int>(random.between(1, kMaxNdim)),
                           random.chance(0.5) ? 500 : index_t{1} << 40);
    const bool huge = random.chance(0.1);
    if (huge) p.shape[0] = random.between(1, index_t{1} << 28);
    random_transform(random, p);
    p.ranks = random.chance(0.5) ? 1 : static_cast<int>(random.between(1, 64));
    if (random.chance(0.4)) p.grid = random.pick(factorings(p.ranks, static_cast<int>(random.between(1, p.ndim()))));
    p.output = static_cast<SpectrumOrder>(random.below(2));
    if (random.chance(0.2))
        p.memory_bytes = random.chance(0.5) ? random.between(1, 1000000) : random.between(1, index_t{1} << 62);
    if (p.memory_bytes > 0 && random.chance(0.3)) {
        const std::vector<std::string> reals{"i1", "u8", ">i4", "f2", ">f8", "f16"}, pairs{"c8", ">c16", "c32"};
        p.load = NumberFormat::parse(random.pick(p.input_elem().complex ? pairs : reals)).value();
    }
    if (p.memory_bytes == 0) {
        if (!huge && random.chance(0.3)) p.batch = random.between(1, 1000);
        p.in_place = random.chance(0.2);
        if (p.ranks < 12 && random.chance(0.3)) p.real_boxes = random_tiling(random, p.shape, p.ranks);
        if (p.ranks < 12 && random.chance(0.3)) p.spectrum_boxes = random_tiling(random, p.spectrum_shape(), p.ranks);
    }
    if (p.memory_bytes == 0 && p.real_boxes.empty() && p.spectrum_boxes.empty())
        p.layout = static_cast<Division>(random.below(2));
    if (random.chance(0.3)) p.threads = static_cast<int>(random.between(1, 256));
    if (random.chance(0.3)) p.engine = random.pick(std::vector<std::string>{"mkl", "fftw", "ducc0", "some-engine"});
    if (random.chance(0.3)) p.exchange = random.pick(std::vector<std::string>{"alltoallw", "alltoallv", "other"});
    p.effort = static_cast<Effort>(random.below(2));
    return p;
}

Problem random_solvable(Random& random, const ProblemLimits& limits) {
    Problem p;
    p.ranks = static_cast<int>(random.between(1, limits.max_ranks));
    const int least_ndim = p.ranks == 1 ? 1 : 2;
    p.shape = random_shape(random, static_cast<int>(random.between(least_ndim, limits.max_ndim)), limits.max_elems);
    random_transform(random, p);
    if (p.ndim() > 1 && random.chance(0.5)) p.grid = random_grid(random, p.ndim(), p.ranks);
    p.output = static_cast<SpectrumOrder>(random.below(2));
    if (limits.batch && random.chance(0.25)) p.batch = random.between(2, 3);
    if (limits.in_place) p.in_place = random.chance(0.2);
    if (limits.boxes && random.chance(0.25)) p.real_boxes = random_tiling(random, p.shape, p.ranks);
    if (limits.boxes && random.chance(0.25)) p.spectrum_boxes = random_tiling(random, p.spectrum_shape(), p.ranks);
    if (random.chance(0.5)) p.exchange = random.pick(std::vector<std::string>{"alltoallw", "alltoallv"});
    p.threads = random.chance(0.1) ? 2 : 1;
    return p;
}

}  // namespace spanfft::test
