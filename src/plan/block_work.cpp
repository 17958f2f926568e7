// Callbacks, windows and conversions of blocks; see block_work.hpp.
#include "plan/block_work.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/root_of_unity.hpp"
#include "disk/store.hpp"

namespace spanfft {

namespace {

// Elements that are converted at a time, on the stack of an I/O thread; and as many as a callback gets at most where
// it may fill another block. Packing to the front needs that the first of them take a page as they are stored.
constexpr index_t kPackElems = 2048, kCallElems = index_t{1} << 16;
constexpr index_t kWindowRun = 256;

template <class From, class To>
void cast(const From* from, index_t reals, To* to) {
    for (index_t i = 0; i < reals; ++i) to[i] = static_cast<To>(from[i]);
}

// |x|^2 in the wider of both types; what the stored one can't hold becomes infinite.
template <class From, class To>
using Wider = std::conditional_t<(sizeof(From) > sizeof(To)), From, To>;

template <class From, class To>
void squares(const From* from, index_t count, To* to) {
    using W = Wider<From, To>;
    for (index_t i = 0; i < count; ++i) to[i] = static_cast<To>(static_cast<W>(from[i]) * static_cast<W>(from[i]));
}

template <class From, class To>
void squares(const Pair<From>* from, index_t count, To* to) {
    using W = Wider<From, To>;
    for (index_t i = 0; i < count; ++i) {
        const W re = static_cast<W>(from[i].re), im = static_cast<W>(from[i].im);
        to[i] = static_cast<To>(re * re + im * im);
    }
}

template <class T, class R>
void multiply_each(T* data, const R* factors, index_t count, bool complex) {
    if (complex) {
        for (index_t i = 0; i < count; ++i) {
            const T factor = static_cast<T>(factors[i]);
            data[2 * i] *= factor;
            data[2 * i + 1] *= factor;
        }
    } else {
        for (index_t i = 0; i < count; ++i) data[i] *= static_cast<T>(factors[i]);
    }
}

template <class T>
void multiply_all(T* data, index_t reals, T factor) {
    for (index_t i = 0; i < reals; ++i) data[i] *= factor;
}

}  // namespace

BlockWork::BlockWork(const Problem& problem, const BlockCallbacks& callbacks)
    : callbacks_(callbacks),
      read_(problem.input_elem()),
      computed_(problem.output_elem()),
      stored_(problem.stored_elem()),
      loaded_bytes_(problem.loaded_bytes()),
      power_(problem.power) {}

Result<std::unique_ptr<BlockWork>> BlockWork::make(const Problem& problem, const BlockCallbacks& callbacks) {
    std::unique_ptr<BlockWork> work(new BlockWork(problem, callbacks));
    if (work->computed_.complex && !work->stored_.complex && !problem.power && !callbacks.on_output) {
        return error(Code::invalid_argument, "store=", elem_name(work->stored_), " of a complex ",
                     elem_name(work->computed_),
                     " leaves something out: say power for |x|^2, or give a callback on the output that fills in what "
                     "is meant");
    }
    if (!problem.window.empty()) {
        SPANFFT_ASSIGN(work->window_, Window::parse(problem.window));
        const Extents shape = problem.input_shape();
        const int axis = problem.axes.back();
        work->window_points_ = shape[static_cast<size_t>(axis)];
        work->window_inner_ = product(shape, axis + 1, problem.ndim());
        work->window_->prepare(work->window_points_);
    }
    if (!callbacks.any() || callbacks.concurrent) return work;
    BlockWork* const self = work.get();
    SPANFFT_ASSIGN(work->thread_, CallThread::start([self](int) { return (*self->called_)(*self->block_); }));
    if (callbacks.on_output && work->computed_ != work->stored_) {
        SPANFFT_ASSIGN(work->stored_block_, Buffer::allocate(static_cast<size_t>(kCallElems * work->stored_bytes())));
    }
    return work;
}

// Where a callback is called alone the caller holds one_at_a_time_.
Status BlockWork::call(const std::function<Status(Block&)>& callback, Block& block) {
    if (callbacks_.concurrent) return callback(block);
    called_ = &callback;
    block_ = &block;
    thread_->submit(0);
    return thread_->wait(0);
}

Status BlockWork::inward(index_t first, index_t count, void* data) {
    if (callbacks_.on_input) {
        Block block{first, count, data, nullptr, false};
        std::unique_lock lock(one_at_a_time_, std::defer_lock);
        if (!callbacks_.concurrent) lock.lock();
        SPANFFT_TRY(call(callbacks_.on_input, block));
    }
    if (window_) apply_window(first, count, data);
    return Status();
}

// Element f is point f / inner mod points of its axis.
void BlockWork::apply_window(index_t first, index_t count, void* data) const {
    const int parts = read_.complex ? 2 : 1;
    with_real(read_.precision, [&](auto zero) {
        using T = decltype(zero);
        using R = std::conditional_t<std::is_same_v<T, long double>, long double, double>;
        T* const all = static_cast<T*>(data);
        std::array<R, kWindowRun> factors;
        for (index_t done = 0; done < count;) {
            const index_t at = first + done, inside = at % window_inner_, point = at / window_inner_ % window_points_;
            const index_t points =
                std::min({kWindowRun, window_points_ - point, ceil_div(inside + count - done, window_inner_)});
            window_->fill(point, points, factors.data());
            if (window_inner_ == 1) {
                multiply_each(all + done * parts, factors.data(), points, read_.complex);
                done += points;
                continue;
            }
            for (index_t p = 0, skipped = inside; p < points && done < count; ++p, skipped = 0) {
                const index_t length = std::min(window_inner_ - skipped, count - done);
                multiply_all(all + done * parts, length * parts, static_cast<T>(factors[static_cast<size_t>(p)]));
                done += length;
            }
        }
    });
}

// Computed elements as stored ones. The two may be the same memory where they are as large.
void BlockWork::convert(const void* from, index_t count, void* to) const {
    with_real(computed_.precision, [&](auto zero) {
        using From = decltype(zero);
        with_real(stored_.precision, [&](auto other) {
            using To = decltype(other);
            To* const target = static_cast<To*>(to);
            if (!power_)
                cast(static_cast<const From*>(from), count * (computed_.complex ? 2 : 1), target);
            else if (computed_.complex)
                squares(static_cast<const Pair<From>*>(from), count, target);
            else
                squares(static_cast<const From*>(from), count, target);
        });
    });
}

// Of elements that a callback may fill in: calls it, and converts what it left to us.
Status BlockWork::pack(index_t first, index_t count, char* data, char* to) {
    const index_t from_bytes = computed_bytes(), to_bytes = stored_bytes();
    alignas(64) std::array<char, kPackElems * sizeof(long double)> small;
    const bool alone = callbacks_.on_output && !callbacks_.concurrent;
    char* const staged = alone ? stored_block_.as<char>() : small.data();
    const index_t most = alone ? kCallElems : kPackElems;
    std::unique_lock lock(one_at_a_time_, std::defer_lock);
    if (alone) lock.lock();
    for (index_t done = 0; done < count; done += most) {
        Block block{first + done, std::min(most, count - done), data + done * from_bytes, staged, false};
        if (callbacks_.on_output) SPANFFT_TRY(call(callbacks_.on_output, block));
        if (!block.filled && computed_.complex && !stored_.complex && !power_) {
            return error(Code::callback_failed, "the callback on the output left block ", block.first, " of ",
                         block.count, " elements to be stored as ", elem_name(stored_), ", which a ",
                         elem_name(computed_), " is not; it must fill the stored block");
        }
        if (!block.filled) convert(block.data, block.count, staged);
        std::memcpy(to + done * to_bytes, staged, static_cast<size_t>(block.count * to_bytes));
    }
    return Status();
}

Result<void*> BlockWork::outward(index_t first, index_t count, void* data, index_t file_bytes) {
    if (computed_ == stored_) {
        Block block{first, count, data, data, false};
        if (callbacks_.on_output) {
            std::unique_lock lock(one_at_a_time_, std::defer_lock);
            if (!callbacks_.concurrent) lock.lock();
            SPANFFT_TRY(call(callbacks_.on_output, block));
        }
        if (power_ && !block.filled) convert(data, count, data);
        return data;
    }
    // Where a stored element is half of a computed one or less, all that follow the first 2048 fit below what is still
    // to be read, even a page further up; where it is as large, nothing is moved. Worked: 3000 complex doubles at byte
    // 512 of a page, stored as floats for byte 0 of one: 3584 bytes up; element 2048 goes to byte 3584 + 8192, where
    // element 736 was.
    const index_t from_bytes = computed_bytes(), to_bytes = stored_bytes();
    const auto address = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(data));
    index_t up = ((file_bytes - address) % kDirectBytes + kDirectBytes) % kDirectBytes;
    if (up > count * (from_bytes - to_bytes)) up = 0;
    char* const begin = static_cast<char*>(data);
    SPANFFT_TRY(pack(first, count, begin, begin + up));
    return static_cast<void*>(begin + up);
}

}  // namespace spanfft
