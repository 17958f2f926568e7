// Twiddles and short transforms in one sweep; see butterfly_step.hpp.
#include "steps/butterfly_step.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>

#include "core/buffer.hpp"
#include "core/shared_team.hpp"
#include "steps/tile_kernels.hpp"

namespace spanfft {

namespace {

constexpr int kMost = static_cast<int>(ButterflySpec::kLongest);

// The local array as outer x p x (k x inner), and which k there are.
struct Shape {
    index_t outer = 1, p = 1, inner = 1;
    AxisRange k;
    index_t n = 1;  // of the axis that the pair is
    index_t run() const { return k.count * inner; }
    index_t elems() const { return outer * p * run(); }
    index_t chunks() const { return ceil_div(k.count, kTwiddleChunk); }
    index_t factors() const { return p * (kTwiddleChunk + chunks()); }  // in the tables
};

Shape shape_of(const ButterflySpec& spec, int rank) {
    const Patch patch = spec.state.layout.patch(rank);
    const Extents local = patch_shape(patch), &shape = spec.state.layout.shape();
    const auto part = static_cast<size_t>(spec.pair.part);
    assert(spec.pair.rest == spec.pair.part + 1);
    assert(patch[part].count == shape[part]);
    Shape result;
    result.outer = product(local, 0, spec.pair.part);
    result.p = shape[part];
    result.inner = product(local, spec.pair.rest + 1, static_cast<int>(local.size()));
    result.k = patch[part + 1];
    result.n = shape[part] * shape[part + 1];
    return result;
}

// Of so many elements, p at a time: read once, written once.
Counts counts_of(index_t elems, index_t p, index_t elem_bytes) {
    Counts counts;
    counts.flops = static_cast<double>(elems) * (6 + 5 * std::log2(static_cast<double>(p)));
    counts.memory_bytes = 2 * elems * elem_bytes;
    return counts;
}

// w_p^(r s) for the direct sum, as cos and sin of 2 pi j/p.
template <class T>
struct Circle {
    T cosine[kMost] = {}, sine[kMost] = {};
    explicit Circle(index_t p) {
        for (index_t j = 0; j < p; ++j) {
            const Pair<long double> root = unit_root(j, p);
            cosine[j] = static_cast<T>(root.re);
            sine[j] = static_cast<T>(root.im);
        }
    }
};

template <class T>
struct Tile {
    static constexpr int kLanes = sizeof(T) == 4 ? 32 : 16;
    using Row = T[kLanes];
    alignas(64) Row re[kMost], im[kMost];            // x_s, then x_s + x_(p-s) below p/2 and x_s - x_(p-s) above
    alignas(64) Row out_re[kMost], out_im[kMost];    // X_r
    alignas(64) Row turn_re[kMost], turn_im[kMost];  // w_n^(s k), the scale included

    // X_r = sum_s x_s w_p^(+- r s) for every lane. Points: p, or 0 for any. Unrolled, a tile of 8 points takes half the
    // time: its sums stay in registers.
    template <int Points>
    void transform(int any, const Circle<T>& circle, bool backward) {
        const int p = Points ? Points : any;
        const int half = (p - 1) / 2;
        const auto lanes = [](auto body) {
            for (int l = 0; l < kLanes; ++l) body(l);
        };
#pragma GCC unroll 5
        for (int s = 1; s <= half; ++s) {
            lanes([&](int l) {
                const T a = re[s][l], b = re[p - s][l], c = im[s][l], d = im[p - s][l];
                re[s][l] = a + b;
                im[s][l] = c + d;
                re[p - s][l] = a - b;
                im[p - s][l] = c - d;
            });
        }
#pragma GCC unroll 5
        for (int r = 0; r <= p / 2; ++r) {
            Row a_re, a_im, b_re = {}, b_im = {};
            lanes([&](int l) {
                a_re[l] = re[0][l];
                a_im[l] = im[0][l];
            });
            if (p % 2 == 0) {
                const T sign = r % 2 ? T(-1) : T(1);
                lanes([&](int l) {
                    a_re[l] += sign * re[p / 2][l];
                    a_im[l] += sign * im[p / 2][l];
                });
            }
#pragma GCC unroll 5
            for (int s = 1; s <= half; ++s) {
                const T c = circle.cosine[r * s % p], d = circle.sine[r * s % p];
                lanes([&](int l) {
                    a_re[l] += c * re[s][l];
                    a_im[l] += c * im[s][l];
                    b_re[l] += d * re[p - s][l];
                    b_im[l] += d * im[p - s][l];
                });
            }
            const int low = backward ? (p - r) % p : r, high = backward ? r : (p - r) % p;  // a - i b, a + i b
            lanes([&](int l) {
                out_re[low][l] = a_re[l] + b_im[l];
                out_im[low][l] = a_im[l] - b_re[l];
            });
            if (low == high) continue;
            lanes([&](int l) {
                out_re[high][l] = a_re[l] - b_im[l];
                out_im[high][l] = a_im[l] + b_re[l];
            });
        }
    }
};

template <class T>
struct Work {
    Shape shape;
    bool backward = false;
    index_t first_turned = 1;  // s = 0 has no factor but the scale
    const Pair<T>* factors = nullptr;
    const Pair<T>* from = nullptr;
    Pair<T>* to = nullptr;
    index_t begin = 0, end = 0;  // of tiles()

    index_t tiles_a_run() const { return ceil_div(shape.run(), Tile<T>::kLanes); }
    index_t tiles() const { return shape.outer * tiles_a_run(); }
    Pair<T> factor(index_t s, index_t k) const {
        const Pair<T>* own = factors + s * (kTwiddleChunk + shape.chunks());
        return multiply(own[kTwiddleChunk + k / kTwiddleChunk], own[k % kTwiddleChunk]);
    }
};

// The factors of the lanes from `at` on; turned_for: the k that all lanes' factors are for, or -1. Not inlined, nor are
// loads and stores of less than a tile: sweep() is compiled 48 times.
template <class T>
[[gnu::noinline]] void set_turns(const Work<T>& work, Tile<T>& tile, index_t at, int lanes, index_t& turned_for) {
    const index_t inner = work.shape.inner, first = at / inner, last = (at + lanes - 1) / inner;
    if (first == last && first == turned_for) return;
    turned_for = first == last ? first : -1;
    for (index_t s = work.first_turned; s < work.shape.p; ++s) {
        index_t k = first, left = (first + 1) * inner - at;  // lanes before the next k
        Pair<T> w = work.factor(s, k);
        for (int l = 0; l < (first == last ? Tile<T>::kLanes : lanes); ++l, --left) {
            if (left == 0 && first != last) {
                w = work.factor(s, ++k);
                left = inner;
            }
            tile.turn_re[s][l] = w.re;
            tile.turn_im[s][l] = w.im;
        }
    }
}

template <class T>
[[gnu::always_inline]] inline void load(const Work<T>& work, Tile<T>& tile, const Pair<T>* from, int lanes) {
    for (index_t s = 0; s < work.shape.p; ++s, from += work.shape.run()) {
        if (work.backward || s < work.first_turned) {
            for (int l = 0; l < lanes; ++l) {
                tile.re[s][l] = from[l].re;
                tile.im[s][l] = from[l].im;
            }
            continue;
        }
        for (int l = 0; l < lanes; ++l) {
            tile.re[s][l] = from[l].re * tile.turn_re[s][l] - from[l].im * tile.turn_im[s][l];
            tile.im[s][l] = from[l].re * tile.turn_im[s][l] + from[l].im * tile.turn_re[s][l];
        }
    }
}

template <class T>
[[gnu::always_inline]] inline void store(const Work<T>& work, const Tile<T>& tile, Pair<T>* to, int lanes) {
    for (index_t s = 0; s < work.shape.p; ++s, to += work.shape.run()) {
        if (!work.backward || s < work.first_turned) {
            for (int l = 0; l < lanes; ++l) to[l] = {tile.out_re[s][l], tile.out_im[s][l]};
            continue;
        }
        for (int l = 0; l < lanes; ++l) {
            const T re = tile.out_re[s][l], im = tile.out_im[s][l];
            to[l] = {re * tile.turn_re[s][l] - im * tile.turn_im[s][l],
                     re * tile.turn_im[s][l] + im * tile.turn_re[s][l]};
        }
    }
}

template <class T>
[[gnu::noinline]] void load_part(const Work<T>& work, Tile<T>& tile, const Pair<T>* from, int lanes) {
    load(work, tile, from, lanes);
}
template <class T>
[[gnu::noinline]] void store_part(const Work<T>& work, const Tile<T>& tile, Pair<T>* to, int lanes) {
    store(work, tile, to, lanes);
}

// Returns how many elements it loaded and stored.
template <int Points, class T>
index_t sweep(const Work<T>& work) {
    const Circle<T> circle(work.shape.p);
    Tile<T> tile = {};
    constexpr int kLanes = Tile<T>::kLanes;
    const index_t run = work.shape.run();
    const int p = static_cast<int>(work.shape.p);
    const index_t tiles_a_run = work.tiles_a_run();
    index_t turned_for = -1, done = 0;
    for (index_t i = work.begin; i < work.end; ++i) {
        const index_t at = i % tiles_a_run * kLanes, place = i / tiles_a_run * p * run + at;
        const bool full = run - at >= kLanes;
        const int lanes = full ? kLanes : static_cast<int>(run - at);
        set_turns(work, tile, at, lanes, turned_for);
        full ? load(work, tile, work.from + place, kLanes) : load_part(work, tile, work.from + place, lanes);
        tile.template transform<Points>(p, circle, work.backward);
        full ? store(work, tile, work.to + place, kLanes) : store_part(work, tile, work.to + place, lanes);
        done += static_cast<index_t>(p) * lanes;
    }
    return done;
}

// Everything is compiled into each of these, for each instruction set and number of points.
#define SPANFFT_SWEEP(points)                                                                  \
    SPANFFT_CLONES __attribute__((flatten)) index_t sweep_##points(const Work<float>& work) {  \
        return sweep<points>(work);                                                            \
    }                                                                                          \
    SPANFFT_CLONES __attribute__((flatten)) index_t sweep_##points(const Work<double>& work) { \
        return sweep<points>(work);                                                            \
    }
SPANFFT_SWEEP(2)
SPANFFT_SWEEP(3)
SPANFFT_SWEEP(4)
SPANFFT_SWEEP(5)
SPANFFT_SWEEP(6)
SPANFFT_SWEEP(7)
SPANFFT_SWEEP(8)
SPANFFT_SWEEP(0)
#undef SPANFFT_SWEEP

template <class T>
index_t run_sweep(const Work<T>& work) {
    switch (work.shape.p) {
        case 2:
            return sweep_2(work);
        case 3:
            return sweep_3(work);
        case 4:
            return sweep_4(work);
        case 5:
            return sweep_5(work);
        case 6:
            return sweep_6(work);
        case 7:
            return sweep_7(work);
        case 8:
            return sweep_8(work);
        default:
            return sweep_0(work);
    }
}
index_t run_sweep(const Work<long double>& work) { return sweep<0>(work); }

template <class T>
void fill_factors(const Shape& shape, bool backward, long double scale, Pair<T>* to) {
    const auto root = [&](index_t s, index_t k, long double by) {
        const Pair<long double> w = unit_root(product_mod(s, k, shape.n), shape.n);
        return Pair<T>{static_cast<T>(by * w.re), static_cast<T>((backward ? by : -by) * w.im)};
    };
    for (index_t s = 0; s < shape.p; ++s) {
        for (index_t i = 0; i < kTwiddleChunk; ++i) *to++ = root(s, i * shape.k.step, 1);
        for (index_t chunk = 0; chunk < shape.chunks(); ++chunk)
            *to++ = root(s, shape.k.at(chunk * kTwiddleChunk), scale);
    }
}

class ButterflyTask final : public Task {
  public:
    ButterflyTask(ButterflySpec spec, const Shape& shape, Buffer factors)
        : spec_(std::move(spec)), shape_(shape), factors_(std::move(factors)) {
        with_real(spec_.state.elem.precision, [&](auto real) {
            using T = decltype(real);
            if (shape_.elems()) fill_factors(shape_, backward(), spec_.scale, factors_.as<Pair<T>>());
        });
        const index_t bytes = shape_.elems() * static_cast<index_t>(spec_.state.elem.bytes());
        team_ = SharedTeam::of(spec_.threads, bytes);
    }
    Status run(RunContext& context) override {
        counts_ = Counts();
        if (shape_.elems() == 0) return Status();
        const TraceScope scope(context.trace, "butterfly", TraceCategory::compute,
                               2 * shape_.elems() * static_cast<index_t>(spec_.state.elem.bytes()));
        std::atomic<index_t> done{0};  // elements; once a thread
        with_real(spec_.state.elem.precision, [&](auto real) {
            using T = decltype(real);
            Work<T> work{shape_,
                         backward(),
                         spec_.scale == 1 ? 1 : 0,
                         factors_.as<Pair<T>>(),
                         static_cast<const Pair<T>*>(context.at(spec_.source)),
                         static_cast<Pair<T>*>(context.at(spec_.target))};
            work.end = work.tiles();
            if (!team_) {
                done = run_sweep(work);
                return;
            }
            team_->run([&](int member) {
                Work<T> share = work;
                share.begin = work.end * member / team_->size();
                share.end = work.end * (member + 1) / team_->size();
                done += run_sweep(share);
            });
        });
        counts_ = counts_of(done, shape_.p, static_cast<index_t>(spec_.state.elem.bytes()));
        return Status();
    }
    Counts counted() const override { return counts_; }

  private:
    bool backward() const { return spec_.direction == Direction::backward; }

    ButterflySpec spec_;
    Shape shape_;
    Buffer factors_;
    std::unique_ptr<SharedTeam> team_;  // nullptr: this thread alone
    Counts counts_;
};

class ButterflyStep final : public Step {
  public:
    ButterflyStep(ButterflySpec spec, const Machine& machine)
        : spec_(std::move(spec)), memory_bytes_per_second_(machine.memory_bytes_per_second) {}
    const char* type() const override { return "Butterfly"; }

    std::string describe() const override {
        const Extents& shape = spec_.state.layout.shape();
        const auto part = static_cast<size_t>(spec_.pair.part);
        return cat(shape[part], "*", shape[part + 1], " points of axes ", spec_.pair.part, ",", spec_.pair.rest,
                   spec_.direction == Direction::backward ? ", backward" : "", spec_.scale != 1 ? ", scaled" : "", ", ",
                   spec_.state.layout.describe(), " ", slot_name(spec_.source), " -> ", slot_name(spec_.target));
    }

    Counts price(int rank) const override {
        const Shape shape = shape_of(spec_, rank);
        if (shape.elems() == 0) return Counts();
        Counts counts = counts_of(shape.elems(), shape.p, static_cast<index_t>(spec_.state.elem.bytes()));
        counts.seconds = static_cast<double>(counts.memory_bytes) / 2 / memory_bytes_per_second_;  // of one thread
        return counts;
    }

    index_t own_memory_bytes(int rank) const override {
        const Shape shape = shape_of(spec_, rank);
        return shape.elems() ? shape.factors() * static_cast<index_t>(spec_.state.elem.bytes()) : 0;
    }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        const int rank = binding.comm.rank();
        SPANFFT_ASSIGN(Buffer factors, Buffer::allocate(static_cast<size_t>(own_memory_bytes(rank))));
        return std::unique_ptr<Task>(new ButterflyTask(spec_, shape_of(spec_, rank), std::move(factors)));
    }

  private:
    ButterflySpec spec_;
    double memory_bytes_per_second_;
};

}  // namespace

std::unique_ptr<Step> make_butterfly_step(ButterflySpec spec, const Machine& machine) {
    assert(spec.state.elem.complex);
    return std::make_unique<ButterflyStep>(std::move(spec), machine);
}

}  // namespace spanfft
