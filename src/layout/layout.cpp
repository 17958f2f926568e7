// The algebra of who owns what; see layout.hpp.
#include "layout/layout.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <set>

#include "layout/meet.hpp"

namespace spanfft {

namespace {

// x and y with a*x + b*y == gcd(a, b).
index_t extended_gcd(index_t a, index_t b, index_t& x, index_t& y) {
    if (b == 0) {
        x = 1;
        y = 0;
        return a;
    }
    index_t x1 = 0, y1 = 0;
    const index_t g = extended_gcd(b, a % b, x1, y1);
    x = y1;
    y = x1 - (a / b) * y1;
    return g;
}

}  // namespace

AxisRange intersect(const AxisRange& a, const AxisRange& b) {
    if (a.count <= 0 || b.count <= 0) return {0, 0, 1};
    // A single index has no step of its own; giving it step 1 keeps the modular arithmetic below simple.
    const index_t step_a = a.count == 1 ? 1 : a.step;
    const index_t step_b = b.count == 1 ? 1 : b.step;
    const index_t low = std::max(a.start, b.start);
    const index_t high = std::min(a.at(a.count - 1), b.at(b.count - 1));
    if (low > high) return {0, 0, 1};
    if (step_a == 1 && step_b == 1) return {low, high - low + 1, 1};  // mostly, and plans ask very often
    index_t x = 0, y = 0;
    const index_t g = extended_gcd(step_a, step_b, x, y);
    if ((b.start - a.start) % g != 0) return {0, 0, 1};
    // Solve a.start + i*step_a == b.start (mod step_b): i == (b.start-a.start)/g * x (mod step_b/g).
    const index_t modulus = step_b / g;
    // Steps are numbers of ranks, so both factors are below 2^31 and the product fits.
    index_t i = ((b.start - a.start) / g % modulus) * (x % modulus) % modulus;
    if (i < 0) i += modulus;
    const index_t step = step_a * modulus;  // lcm
    index_t first = a.start + i * step_a;
    if (first < low) first += ceil_div(low - first, step) * step;
    if (first > high) return {0, 0, 1};
    const index_t count = (high - first) / step + 1;
    return {first, count, count == 1 ? 1 : step};
}

Patch intersect(const Patch& a, const Patch& b) {
    assert(a.size() == b.size());
    Patch result(a.size());
    for (size_t i = 0; i < a.size(); ++i) result[i] = intersect(a[i], b[i]);
    return result;
}

index_t patch_elems(const Patch& patch) {
    index_t elems = 1;
    for (const auto& range : patch) elems *= range.count;
    return elems;
}

Extents patch_shape(const Patch& patch) {
    Extents shape;
    for (const auto& range : patch) shape.push_back(range.count);
    return shape;
}

std::string patch_string(const Patch& patch) {
    std::string text;
    for (size_t i = 0; i < patch.size(); ++i) {
        const auto& r = patch[i];
        if (i) text += 'x';
        index_t end = r.start;  // a box that is refused for its size is printed too: its end may not fit
        const index_t length = r.count == 0 || r.step == 1 ? r.count : (r.count - 1) * r.step + 1;
        if (__builtin_add_overflow(r.start, length, &end)) end = INT64_MAX;
        text += std::to_string(r.start) + ':' + std::to_string(end);
        if (r.step != 1) text += ':' + std::to_string(r.step);
    }
    return text;
}

AxisRange block_range(index_t n, index_t parts, index_t part) {
    const index_t q = n / parts, r = n % parts;
    return {q * part + std::min(r, part), q + (part < r ? 1 : 0), 1};
}

index_t block_part(index_t n, index_t parts, index_t i) {
    const index_t q = n / parts, r = n % parts;
    return i < r * (q + 1) ? i / (q + 1) : r + (i - r * (q + 1)) / q;
}

AxisRange cyclic_range(index_t n, index_t parts, index_t part) {
    const index_t count = part < n ? ceil_div(n - part, parts) : 0;
    return {count ? part : 0, count, count > 1 ? parts : 1};
}

AxisRange GridDim::range(index_t n, index_t coord) const {
    if (division == Division::cyclic) return cyclic_range(n, parts, coord);
    const AxisRange rows = block_range(ceil_div(n, row), parts, coord);
    const index_t start = std::min(rows.start * row, n);
    return {start, std::min(rows.count * row, n - start), 1};
}

Layout::Layout(Extents shape, std::vector<GridDim> grid) : shape_(std::move(shape)), grid_(std::move(grid)) {
    for (size_t i = 0; i < grid_.size(); ++i) {
        assert(grid_[i].axis < ndim() && (grid_[i].axis >= 0 || grid_[i].parts == 1));
        for (size_t j = 0; j < i; ++j) assert(grid_[i].axis < 0 || grid_[i].axis != grid_[j].axis);
    }
}

int Layout::nranks() const {
    if (boxes_) return static_cast<int>(boxes_->of.size());
    index_t ranks = 1;
    for (const auto& dim : grid_) ranks *= dim.parts;
    return static_cast<int>(ranks);
}

Extents Layout::grid_coords(int rank) const {
    Extents coords(grid_.size());
    index_t rest = rank;
    for (size_t i = grid_.size(); i-- > 0;) {
        coords[i] = rest % grid_[i].parts;
        rest /= grid_[i].parts;
    }
    return coords;
}

Patch Layout::patch(int rank) const {
    assert(rank >= 0 && rank < nranks());
    if (boxes_) return boxes_->of[static_cast<size_t>(rank)];
    Patch patch(shape_.size());
    for (int axis = 0; axis < ndim(); ++axis) patch[static_cast<size_t>(axis)] = range(rank, axis);
    return patch;
}

AxisRange Layout::range(int rank, int axis) const {
    if (boxes_) return boxes_->of[static_cast<size_t>(rank)][static_cast<size_t>(axis)];
    const index_t n = shape_[static_cast<size_t>(axis)];
    index_t rest = rank;
    for (size_t i = grid_.size(); i-- > 0;) {
        const GridDim& dim = grid_[i];
        const index_t coord = rest % dim.parts;
        if (dim.axis == axis) return dim.range(n, coord);
        rest /= dim.parts;
    }
    return {0, n, 1};
}

index_t Layout::local_elems(int rank) const {
    index_t elems = 1;
    for (int axis = 0; axis < ndim(); ++axis) elems *= range(rank, axis).count;
    return elems;
}

bool Layout::operator==(const Layout& other) const {
    if (shape_ != other.shape_ || grid_ != other.grid_) return false;
    return boxes_ == other.boxes_ || (boxes_ && other.boxes_ && boxes_->of == other.boxes_->of);
}

index_t Layout::max_local_elems() const {
    if (!has_grid()) {
        index_t most = 0;
        for (int rank = 0; rank < nranks(); ++rank) most = std::max(most, local_elems(rank));
        return most;
    }
    return local_elems(0);  // rank 0 has the first, largest part along every axis
}

bool Layout::is_whole(int axis) const {
    const index_t n = shape_[static_cast<size_t>(axis)];
    if (has_grid()) {
        return std::none_of(grid_.begin(), grid_.end(),
                            [&](const GridDim& d) { return d.axis == axis && d.parts > 1 && n > d.row; });
    }
    return std::all_of(boxes_->of.begin(), boxes_->of.end(), [&](const Patch& box) {
        return patch_elems(box) == 0 || box[static_cast<size_t>(axis)].count == n;
    });
}

std::vector<index_t> Layout::counts_along(int axis) const {
    if (boxes_) return boxes_->counts[static_cast<size_t>(axis)];
    std::set<index_t> counts;
    const RankClasses classes({this});
    for (const int rank : classes.representatives()) counts.insert(range(rank, axis).count);
    return {counts.begin(), counts.end()};
}

std::vector<int> Layout::candidates(const Patch& patch) const {
    std::vector<int> ranks;
    if (boxes_) {
        const auto& [axis, by_start, longest] = boxes_->order;
        const auto start = [&, axis = axis](int rank) { return boxes_->of[static_cast<size_t>(rank)][axis].start; };
        const AxisRange& range = patch[axis];
        const index_t first = range.start - longest + 1, last = range.at(range.count - 1);
        auto at = std::partition_point(by_start.begin(), by_start.end(), [&](int rank) { return start(rank) < first; });
        for (; at != by_start.end() && start(*at) <= last; ++at) ranks.push_back(*at);
        std::sort(ranks.begin(), ranks.end());
        return ranks;
    }
    ranks.push_back(0);
    for (const GridDim& dim : grid_) {
        // Coordinates first, ..., first + count - 1; cyclically these modulo the number of parts.
        index_t first = 0, count = dim.parts;
        if (dim.axis >= 0) {
            const AxisRange& range = patch[static_cast<size_t>(dim.axis)];
            const index_t n = shape_[static_cast<size_t>(dim.axis)];
            if (dim.division == Division::block) {
                first = dim.part(n, range.start);
                count = dim.part(n, range.at(range.count - 1)) - first + 1;
            } else if (range.step == 1 && range.count < dim.parts) {
                first = range.start % dim.parts;
                count = range.count;
            }
        }
        std::vector<int> next;
        next.reserve(ranks.size() * static_cast<size_t>(count));
        const index_t wrapped = std::max<index_t>(first + count - dim.parts, 0);  // come before, as they are lower
        for (const int prefix : ranks) {
            const index_t base = prefix * dim.parts;
            for (index_t coord = 0; coord < wrapped; ++coord) next.push_back(static_cast<int>(base + coord));
            for (index_t coord = first; coord < first + count - wrapped; ++coord)
                next.push_back(static_cast<int>(base + coord));
        }
        ranks = std::move(next);
    }
    return ranks;
}

std::vector<int> Layout::holders(const Patch& patch) const {
    if (patch_elems(patch) == 0) return {};
    std::vector<int> ranks = candidates(patch);
    const auto misses = [&](int rank) { return common_elems(patch, *this, rank) == 0; };
    ranks.erase(std::remove_if(ranks.begin(), ranks.end(), misses), ranks.end());
    return ranks;
}

Layout Layout::with_extent(int axis, index_t n) const {
    assert(has_grid());
    Layout copy = *this;
    copy.shape_[static_cast<size_t>(axis)] = n;
    return copy;
}

Layout Layout::with_leading_axis(index_t n) const {
    Layout copy = *this;
    copy.shape_.insert(copy.shape_.begin(), n);
    for (auto& dim : copy.grid_) dim.axis += dim.axis >= 0 ? 1 : 0;
    if (!boxes_) return copy;
    Boxes boxes = *boxes_;
    for (auto& box : boxes.of) box.insert(box.begin(), {0, n, 1});
    boxes.order.axis += 1;
    boxes.counts.insert(boxes.counts.begin(), {n});
    copy.boxes_ = std::make_shared<const Boxes>(std::move(boxes));
    return copy;
}

Layout Layout::with_division(int dim, int axis) const {
    assert(has_grid());
    auto grid = grid_;
    grid[static_cast<size_t>(dim)].axis = axis;
    grid[static_cast<size_t>(dim)].row = 1;
    return Layout(shape_, grid);
}

std::string Layout::describe() const {
    std::string text = "[";
    for (int axis = 0; axis < ndim(); ++axis) {
        if (axis) text += ", ";
        text += std::to_string(shape_[static_cast<size_t>(axis)]);
        for (const auto& dim : grid_) {
            if (dim.axis == axis && dim.parts > 1) {
                text += (dim.division == Division::block ? "/" : "%") + std::to_string(dim.parts);
                if (dim.row > 1) text += " by " + std::to_string(dim.row);
            }
        }
    }
    text += "]";
    if (!has_grid()) text += " in " + std::to_string(boxes_->of.size()) + " given boxes";
    return text;
}

namespace {

// The axis along which the boxes of these ranks have the most different starts.
size_t most_divided_axis(const std::vector<Patch>& boxes, const std::vector<int>& ranks, size_t axes) {
    size_t best = 0, most = 0;
    std::vector<index_t> starts;
    starts.reserve(ranks.size());
    for (size_t axis = 0; axis < axes; ++axis) {
        starts.clear();
        for (const int rank : ranks) starts.push_back(boxes[static_cast<size_t>(rank)][axis].start);
        // Of ranks in order they are sorted already, and there may be a million.
        if (!std::is_sorted(starts.begin(), starts.end())) std::sort(starts.begin(), starts.end());
        const auto different = static_cast<size_t>(std::unique(starts.begin(), starts.end()) - starts.begin());
        if (different <= most) continue;
        most = different;
        best = axis;
    }
    return best;
}

BoxOrder order_of(const std::vector<Patch>& boxes, size_t axes) {
    BoxOrder order;
    for (size_t rank = 0; rank < boxes.size(); ++rank) {
        if (patch_elems(boxes[rank]) > 0) order.ranks.push_back(static_cast<int>(rank));
    }
    order.axis = most_divided_axis(boxes, order.ranks, axes);
    const auto along = [&](int rank) -> const AxisRange& { return boxes[static_cast<size_t>(rank)][order.axis]; };
    const auto before = [&](int a, int b) { return along(a).start < along(b).start; };
    // Of a mirrored division they lie backwards.
    if (std::is_sorted(order.ranks.rbegin(), order.ranks.rend(), before))
        std::reverse(order.ranks.begin(), order.ranks.end());
    else if (!std::is_sorted(order.ranks.begin(), order.ranks.end(), before))
        std::sort(order.ranks.begin(), order.ranks.end(), before);
    for (const int rank : order.ranks) order.longest = std::max(order.longest, along(rank).count);
    return order;
}

std::vector<index_t> counts_of(const std::vector<Patch>& boxes, size_t axis) {
    std::set<index_t> counts;
    index_t before = -1;
    for (const Patch& box : boxes) {
        const index_t count = box[axis].count;
        if (count != before) counts.insert(count);  // of a million most are as the one before
        before = count;
    }
    return {counts.begin(), counts.end()};
}

// check_tiling, which gives the order that it needed.
Result<BoxOrder> tiling_order(const Extents& shape, const std::vector<Patch>& boxes) {
    if (boxes.empty()) return error(Code::invalid_argument, "no boxes given; give one a rank");
    index_t owned = 0;
    for (size_t rank = 0; rank < boxes.size(); ++rank) {
        const Patch& box = boxes[rank];
        if (box.size() != shape.size()) {
            return error(Code::invalid_argument, "the box of rank ", rank, " has ", box.size(), " axes, the array has ",
                         shape.size());
        }
        for (size_t axis = 0; axis < shape.size(); ++axis) {
            const AxisRange& r = box[axis];
            if (r.count < 0 || r.start < 0 || r.step != 1 || r.start > shape[axis] - r.count) {
                return error(Code::invalid_argument, "the box ", patch_string(box), " of rank ", rank,
                             " leaves the array ", shape_string(shape), " along axis ", axis);
            }
        }
        owned += patch_elems(box);
    }
    // Sorted by their start along one axis, only boxes that overlap there need comparing.
    BoxOrder order = order_of(boxes, shape.size());
    const auto box_of = [&](size_t i) -> const Patch& { return boxes[static_cast<size_t>(order.ranks[i])]; };
    for (size_t i = 0; i < order.ranks.size(); ++i) {
        const Patch& a = box_of(i);
        const index_t end = a[order.axis].start + a[order.axis].count;
        for (size_t j = i + 1; j < order.ranks.size() && box_of(j)[order.axis].start < end; ++j) {
            if (patch_elems(intersect(a, box_of(j))) == 0) continue;
            const int low = std::min(order.ranks[i], order.ranks[j]), high = std::max(order.ranks[i], order.ranks[j]);
            return error(Code::invalid_argument, "the boxes of ranks ", low, " (",
                         patch_string(boxes[static_cast<size_t>(low)]), ") and ", high, " (",
                         patch_string(boxes[static_cast<size_t>(high)]), ") overlap; boxes must tile the array ",
                         shape_string(shape));
        }
    }
    if (owned != product(shape)) {
        return error(Code::invalid_argument, "the boxes hold ", owned, " of the ", product(shape),
                     " elements of the array ", shape_string(shape), "; they must tile it");
    }
    return order;
}

}  // namespace

Status check_tiling(const Extents& shape, const std::vector<Patch>& boxes) {
    return tiling_order(shape, boxes).status();
}

Result<Layout> Layout::from_boxes(Extents shape, std::vector<Patch> boxes) {
    SPANFFT_ASSIGN(BoxOrder order, tiling_order(shape, boxes));
    std::vector<std::vector<index_t>> counts;
    for (size_t axis = 0; axis < shape.size(); ++axis) counts.push_back(counts_of(boxes, axis));
    Layout layout;
    layout.shape_ = std::move(shape);
    layout.boxes_ = std::make_shared<const Boxes>(Boxes{std::move(boxes), std::move(order), std::move(counts)});
    return layout;
}

RankClasses::RankClasses(const std::vector<const Layout*>& layouts) {
    const Layout& first = *layouts.front();
    const auto like_first = [&](const Layout* layout) {
        return layout->has_grid() &&
               std::equal(layout->grid().begin(), layout->grid().end(), first.grid().begin(), first.grid().end(),
                          [](const GridDim& a, const GridDim& b) { return a.parts == b.parts; });
    };
    if (!std::all_of(layouts.begin(), layouts.end(), like_first)) {
        representatives_.resize(static_cast<size_t>(first.nranks()));
        std::iota(representatives_.begin(), representatives_.end(), 0);
        return;
    }
    representatives_ = {0};
    for (size_t dim = 0; dim < first.grid().size(); ++dim) {
        const index_t parts = first.grid()[dim].parts;
        std::vector<index_t> begins{0};
        for (const Layout* layout : layouts) {
            const GridDim& its = layout->grid()[dim];
            if (its.axis < 0) continue;
            // The first n mod parts coordinates hold one index, or row, more, in blocks and cyclically.
            const index_t n = layout->shape()[static_cast<size_t>(its.axis)];
            begins.push_back(ceil_div(n, its.row) % parts);
            if (n % its.row == 0) continue;
            const index_t last = its.part(n, n - 1);  // that row is shorter
            begins.push_back(last);
            if (last + 1 < parts) begins.push_back(last + 1);
        }
        std::sort(begins.begin(), begins.end());
        begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
        std::vector<int> next;
        for (int prefix : representatives_) {
            for (index_t begin : begins) next.push_back(static_cast<int>(prefix * parts + begin));
        }
        representatives_ = std::move(next);
        parts_.push_back(parts);
        begins_.push_back(std::move(begins));
    }
}

size_t RankClasses::class_of(int rank) const {
    if (begins_.empty()) return representatives_.size() == 1 ? 0 : static_cast<size_t>(rank);
    size_t index = 0, weight = 1;
    index_t rest = rank;
    for (size_t dim = parts_.size(); dim-- > 0;) {  // the last dimension runs fastest, in ranks and in classes
        const auto& begins = begins_[dim];
        size_t run = begins.size() - 1;
        while (begins[run] > rest % parts_[dim]) --run;
        index += run * weight;
        weight *= begins.size();
        rest /= parts_[dim];
    }
    return index;
}

std::vector<Extents> factorings(index_t ranks, int dims) {
    if (dims <= 0) return ranks == 1 ? std::vector<Extents>{{}} : std::vector<Extents>{};
    std::vector<Extents> result;
    for (index_t first = ranks; first >= 1; --first) {
        if (ranks % first) continue;
        for (auto rest : factorings(ranks / first, dims - 1)) {
            rest.insert(rest.begin(), first);
            result.push_back(std::move(rest));
        }
    }
    return result;
}

}  // namespace spanfft
