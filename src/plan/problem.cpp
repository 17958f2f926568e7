// What a Problem is and when it is valid; see problem.hpp. Its text form is in problem_text.cpp.
#include "plan/problem.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/hash.hpp"
#include "core/limits.hpp"
#include "disk/io_backend.hpp"
#include "disk/store.hpp"
#include "plan/window.hpp"

namespace spanfft {

namespace {
constexpr std::array kKindNames{"c2c", "r2c", "dct1", "dct2", "dct3", "dct4", "dst1", "dst2", "dst3", "dst4"};
}

const char* axis_kind_name(AxisKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

AxisKind inverse_kind(AxisKind kind) {
    switch (kind) {
        case AxisKind::dct2:
            return AxisKind::dct3;
        case AxisKind::dct3:
            return AxisKind::dct2;
        case AxisKind::dst2:
            return AxisKind::dst3;
        case AxisKind::dst3:
            return AxisKind::dst2;
        default:
            return kind;
    }
}

int Problem::halved_axis() const {
    for (size_t i = 0; i < kinds.size(); ++i) {
        if (kinds[i] == AxisKind::r2c) return axes[i];
    }
    return -1;
}

Problem Problem::as_one_array() const {
    Problem whole = *this;
    whole.batch = 1;
    if (batch == 1) return whole;
    if (grid.empty() && std::find(axes.begin(), axes.end(), 0) == axes.end()) {
        whole.shape[0] *= batch;
        return whole;
    }
    whole.shape.insert(whole.shape.begin(), batch);
    for (int& axis : whole.axes) ++axis;
    if (!whole.grid.empty()) whole.grid.insert(whole.grid.begin(), 1);
    return whole;
}

bool Problem::halves() const { return halved_axis() >= 0; }

bool Problem::real_is_complex() const {
    return !halves() && std::find(kinds.begin(), kinds.end(), AxisKind::c2c) != kinds.end();
}

bool Problem::spectrum_is_complex() const { return halves() || real_is_complex(); }

bool Problem::pads() const { return !kept.empty() && kept != shape; }

Extents Problem::spectrum_shape() const {
    Extents result = kept.empty() ? shape : kept;
    if (halves()) {
        auto& n = result[static_cast<size_t>(halved_axis())];
        n = n / 2 + 1;
    }
    return result;
}

index_t Problem::logical_length(size_t i) const {
    const index_t n = shape[static_cast<size_t>(axes[i])];
    switch (kinds[i]) {
        case AxisKind::c2c:
        case AxisKind::r2c:
            return n;
        case AxisKind::dct1:
            return 2 * (n - 1);
        case AxisKind::dst1:
            return 2 * (n + 1);
        default:
            return 2 * n;
    }
}

long double Problem::scale() const {
    long double n = 1;
    for (size_t i = 0; i < axes.size(); ++i) n *= static_cast<long double>(logical_length(i));
    if (norm == Norm::ortho) return factor / std::sqrt(n);
    const bool scaled = (norm == Norm::forward) == forward();
    return scaled ? factor / n : factor;
}

ElemType Problem::stored_elem() const {
    if (store) return *store;
    const ElemType computed = output_elem();
    return {computed.precision, computed.complex && !power};
}

namespace {

Status check_axes(const Problem& p) {
    if (p.axes.empty()) return error(Code::invalid_argument, "axes is empty; name at least one axis to transform");
    if (p.kinds.size() != p.axes.size()) {
        return error(Code::invalid_argument, p.kinds.size(), " kinds are given for ", p.axes.size(),
                     " axes; give one for each");
    }
    for (size_t i = 0; i < p.axes.size(); ++i) {
        const int axis = p.axes[i];
        if (axis < 0 || axis >= p.ndim()) {
            return error(Code::invalid_argument, "axis ", axis, " is outside the array's ", p.ndim(),
                         " axes; use 0 to ", p.ndim() - 1);
        }
        if (std::count(p.axes.begin(), p.axes.end(), axis) > 1) {
            return error(Code::invalid_argument, "axis ", axis, " is named twice in axes; name each axis once");
        }
        if (p.kinds[i] == AxisKind::dct1 && p.shape[static_cast<size_t>(axis)] < 2) {
            return error(Code::invalid_argument, "dct1 needs at least 2 points, axis ", axis, " has ",
                         p.shape[static_cast<size_t>(axis)], "; use dct2");
        }
    }
    if (std::count(p.kinds.begin(), p.kinds.end(), AxisKind::r2c) > 1) {
        return error(Code::invalid_argument, "two axes are r2c; only one axis can be halved, make the others c2c");
    }
    return Status();
}

Status check_sizes(const Problem& p) {
    if (p.shape.empty() || p.ndim() > kMaxNdim) {
        return error(Code::invalid_argument, "the shape has ", p.ndim(), " axes; use 1 to ", kMaxNdim);
    }
    for (int axis = 0; axis < p.ndim(); ++axis) {
        if (p.shape[static_cast<size_t>(axis)] < 1) {
            return error(Code::invalid_argument, "axis ", axis, " of shape ", shape_string(p.shape), " has length ",
                         p.shape[static_cast<size_t>(axis)], "; lengths must be at least 1");
        }
    }
    if (p.batch < 1) return error(Code::invalid_argument, "batch is ", p.batch, "; it must be at least 1");
    auto elems = checked_product(p.shape);
    if (elems) elems = checked_mul(*elems, p.batch);
    // 32 bytes an element, which a plan may move 32 times.
    if (!elems || !checked_mul(*elems, 1024)) {
        return error(Code::invalid_argument, "shape ", shape_string(p.shape), " with batch ", p.batch,
                     " is more than 63 bits can count the bytes of that a plan moves");
    }
    return Status();
}

// Axis by axis, as a layout has it: what is not transformed, or not by a Fourier transform, has no modes to leave out.
Status check_kept(const Problem& p) {
    if (p.kept.empty()) return Status();
    const auto wrong = [&](Code code, auto... why) { return error(code, "kept=", shape_string(p.kept), " ", why...); };
    if (static_cast<int>(p.kept.size()) != p.ndim())
        return wrong(Code::invalid_argument, "must have ", p.ndim(), " numbers of modes, one an axis");
    for (int axis = 0; axis < p.ndim(); ++axis) {
        const index_t modes = p.modes(axis), points = p.shape[static_cast<size_t>(axis)];
        if (modes < 1 || modes > points)
            return wrong(Code::invalid_argument, "keeps ", modes, " modes of axis ", axis, "; its ", points,
                         " points have 1 to ", points);
        const auto found = std::find(p.axes.begin(), p.axes.end(), axis);
        const bool fourier = found != p.axes.end() && !is_r2r(p.kinds[static_cast<size_t>(found - p.axes.begin())]);
        if (modes < points && !fourier)
            return wrong(Code::invalid_argument, "keeps ", modes, " of ", points, " along axis ", axis,
                         ", which no Fourier transform goes along; keep all of them there");
    }
    if (!p.pads()) return Status();
    if (p.memory_bytes > 0)
        return wrong(Code::unsupported,
                     "pads on the way, in memory, and memory= says that the array is in a file; write the zeros into "
                     "the file, and leave out kept=");
    if (p.layout == Division::cyclic)
        return wrong(Code::unsupported, "pads axes that are whole, which layout=cyclic never makes; leave one out");
    if (p.in_place)
        return wrong(Code::invalid_argument, "makes the arrays of unequal length, and in_place has one; leave one out");
    return Status();
}

Status check_chunk(const Problem& p, const char* key, const Extents& chunk) {
    if (chunk.empty()) return Status();
    const auto refuse = [&](auto... why) {
        return error(Code::invalid_argument, key, "=", shape_string(chunk), " ", why...);
    };
    if (p.memory_bytes == 0) return refuse("is for arrays outside of memory; give memory= too, or leave it out");
    if (p.batch > 1) return refuse("is of one array; give the batch as its first axis, which axes= leaves out");
    if (static_cast<int>(chunk.size()) != p.ndim()) return refuse("must have ", p.ndim(), " lengths, one an axis");
    for (const index_t n : chunk) {
        if (n < 1) return refuse("has a length below 1");
    }
    return Status();
}

Status check_means(const Problem& p) {
    if (p.ranks < 1) return error(Code::invalid_argument, "ranks is ", p.ranks, "; it must be at least 1");
    if (p.threads < 0)
        return error(Code::invalid_argument, "threads is ", p.threads,
                     "; use 1 or more, or 0 for the planner's choice");
    if (p.threads > kMostThreads)
        return error(Code::invalid_argument, "threads is ", p.threads, "; use at most ", kMostThreads,
                     ", or 0 for the planner's choice");
    if (p.memory_bytes < 0)
        return error(Code::invalid_argument, "memory is ", p.memory_bytes, " bytes; it must be positive");
    if (!(p.measure_seconds >= 0 && p.measure_seconds <= 1e6))
        return error(Code::invalid_argument, "measure_seconds is ", p.measure_seconds,
                     "; use 0 (the default) to 1000000");
    if (!p.grid.empty()) {
        if (static_cast<int>(p.grid.size()) > p.ndim()) {
            return error(Code::invalid_argument, "grid ", shape_string(p.grid),
                         " has more dimensions than the array's ", p.ndim(), " axes");
        }
        for (index_t g : p.grid) {
            if (g < 1) return error(Code::invalid_argument, "grid ", shape_string(p.grid), " has an extent below 1");
        }
        const auto parts = checked_product(p.grid);
        if (!parts || *parts != p.ranks) {
            return error(Code::invalid_argument, "grid ", shape_string(p.grid), " does not multiply to the ", p.ranks,
                         " ranks; leave grid out to have it chosen");
        }
    }
    for (const auto* boxes : {&p.real_boxes, &p.spectrum_boxes}) {
        if (boxes->empty()) continue;
        if (static_cast<int>(boxes->size()) != p.ranks) {
            return error(Code::invalid_argument, boxes->size(), " boxes are given for ", p.ranks,
                         " ranks; give one a rank");
        }
        SPANFFT_TRY(check_tiling(boxes == &p.real_boxes ? p.shape : p.spectrum_shape(), *boxes));
    }
    if (p.disks < 0 || p.disks > kMaxDisks)
        return error(Code::invalid_argument, "disks is ", p.disks, "; scratch can lie on 1 to ", kMaxDisks);
    if (p.disks > 1 && p.memory_bytes == 0)
        return error(Code::invalid_argument, "disks=", p.disks,
                     " is for the scratch of arrays in files; give memory= too, or leave it out");
    SPANFFT_TRY(parse_io_backend(p.io).status());
    if (!p.io.empty() && p.memory_bytes == 0)
        return error(Code::invalid_argument, "io=", p.io, " is for arrays in files; give memory= too, or leave it out");
    if (p.layout == Division::cyclic && (p.memory_bytes > 0 || !p.real_boxes.empty() || !p.spectrum_boxes.empty())) {
        return error(Code::invalid_argument, "layout=cyclic says where every element lies, in memory: leave out ",
                     p.memory_bytes > 0 ? "memory=" : "the boxes", ", or the layout");
    }
    SPANFFT_TRY(check_chunk(p, "input_chunk", p.input_chunk));
    SPANFFT_TRY(check_chunk(p, "output_chunk", p.output_chunk));
    if (p.one_writer && p.output_chunk.empty())
        return error(Code::invalid_argument, "one_writer is for an array of output_chunk=; give that too, or leave ",
                     "one_writer out: all ranks can write a file");
    if (p.in_place && (p.own_output || p.own_input))
        return error(Code::invalid_argument, "in_place is for an array of yours, and ",
                     p.own_output ? "own_output writes into" : "own_input reads from", " the plan's; ask for one");
    const bool own = p.own_output || p.own_input;
    if (p.memory_bytes > 0 && (p.in_place || own || !p.real_boxes.empty() || !p.spectrum_boxes.empty())) {
        return error(Code::invalid_argument,
                     "memory= plans a transform of a file, for which in_place, own_output, own_input and boxes have no "
                     "meaning; leave them out");
    }
    return Status();
}

Status check_load(const Problem& p) {
    if (!p.load) return Status();
    const auto refuse = [&](auto... why) {
        return error(Code::invalid_argument, "load=", p.load->print(), " ", why...);
    };
    if (p.memory_bytes == 0) return refuse("is how the input lies in its file; give memory= too, or leave it out");
    if (!p.input_chunk.empty())
        return refuse(
            "is for an input in a file, and input_chunk= says that it is behind a function, which can "
            "convert; leave one of both out");
    if (p.load->complex != p.input_elem().complex) {
        return p.load->complex ? refuse(
                                     "is complex, and the input of this transform is real; use c2c, or c2r for the "
                                     "spectrum of real numbers")
                               : refuse("is real, and the input of this transform is complex; use r2c");
    }
    return Status();
}

Status check_fused(const Problem& p) {
    if (!(std::abs(p.factor) > 0 && std::isfinite(p.factor)))
        return error(Code::invalid_argument, "scale is ", p.factor, "; it must be finite and not 0");
    const char* const key = !p.window.empty() ? "window=" : p.power ? "power" : p.store ? "store=" : nullptr;
    if (key && p.memory_bytes == 0)
        return error(Code::invalid_argument, key,
                     " is work on the blocks of a file; give memory= too, or leave it out");
    if (p.reads_once && p.memory_bytes == 0)
        return error(Code::invalid_argument,
                     "reads_once is for the input of a transform of a file; give memory= too, or leave it out");
    if (!p.window.empty()) {
        SPANFFT_TRY(Window::parse(p.window).status());
        if (p.halves() && !p.forward())
            return error(Code::unsupported, "window=", p.window,
                         " is for all points of an axis, and what c2r reads is half of a spectrum; use a callback");
    }
    SPANFFT_TRY(check_load(p));
    if (!p.store) return Status();
    const ElemType computed = p.output_elem();
    const bool wider = p.power ? p.store->bytes() > computed.bytes() : p.store->precision > computed.precision;
    if (wider || (p.store->complex && !computed.complex)) {
        return error(Code::invalid_argument, "store=", elem_name(*p.store), " holds more than the ",
                     elem_name(computed), " that is computed; store that, or compute in another precision");
    }
    if (p.power && p.store->complex) {
        return error(Code::invalid_argument, "store=", elem_name(*p.store), " is complex, and power is real; use ",
                     elem_name({p.store->precision, false}));
    }
    return Status();
}

}  // namespace

Status Problem::check() const {
    SPANFFT_TRY(check_sizes(*this));
    SPANFFT_TRY(check_axes(*this));
    SPANFFT_TRY(check_kept(*this));
    SPANFFT_TRY(check_means(*this));
    return check_fused(*this);
}

uint64_t Problem::hash() const { return hash_text(print()); }

}  // namespace spanfft
