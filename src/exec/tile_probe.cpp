// Timing the tiles of a sweep; see tile_probe.hpp.
#include "exec/tile_probe.hpp"

#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/median.hpp"
#include "sweeps/sweep_tiles.hpp"

namespace spanfft {

namespace {

using Clock = std::chrono::steady_clock;

constexpr index_t kPoints = 256;
constexpr int kRuns = 5;

// A sweep of kPoints a column, over one panel, which is written where it was read.
template <class T>
SweepSpec outline(index_t columns) {
    SweepSpec sweep;
    sweep.precision = sizeof(T) == sizeof(float) ? Precision::single : Precision::dbl;
    ColumnPanels panels;
    panels.rows = kPoints;
    panels.row_elems = panels.last_row_elems = panels.columns = panels.panel = columns;
    panels.elem_bytes = static_cast<index_t>(sizeof(Pair<T>));
    panels.use = ColumnPanels::Use::written;
    sweep.source.array = panels;
    sweep.target.array = InPlace{panels};
    sweep.points = sweep.out_points = kPoints;
    sweep.lanes = 128 / panels.elem_bytes;
    sweep.twiddles.roots_n = kPoints * columns;
    return sweep;
}

template <class T>
Result<TileRates> measure(index_t panel_bytes) {
    const index_t columns = panel_bytes / (kPoints * static_cast<index_t>(sizeof(Pair<T>)));
    const SweepSpec sweep = outline<T>(columns);
    SweepTiles<T> tiles(sweep);
    SPANFFT_ASSIGN(tiles.twiddles, ColumnTwiddles<T>::make(sweep.twiddle_form()));
    const auto slot_bytes = static_cast<size_t>(sweep.read_slot_bytes());
    const auto tile_bytes = static_cast<size_t>(sweep.lanes * sweep.source_pitch() * sweep.source_elem_bytes());
    SPANFFT_ASSIGN(const Buffer panel, Buffer::allocate(slot_bytes));
    SPANFFT_ASSIGN(const Buffer tile, Buffer::allocate(tile_bytes));
    SPANFFT_ASSIGN(const Buffer factors, Buffer::allocate(static_cast<size_t>(sweep.twiddle_bytes())));
    auto thread = tiles.twiddles.in_memory(factors.as<char>());
    std::memset(panel.data(), 0, slot_bytes);
    std::memset(tile.data(), 0, tile_bytes);
    SweepWhere where;
    where.read = where.write = panel.as<char>();
    where.count = columns;
    const auto timed = [&](const auto& work) {
        std::vector<double> seconds;
        for (int run = 0; run < kRuns; ++run) {
            const auto start = Clock::now();
            for (index_t first = 0; first < columns; first += sweep.lanes) work(first);
            seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
        }
        return median(std::move(seconds));
    };
    index_t moved_bytes = 0;
    TileRates rates;
    const double moving = timed([&](index_t first) {
        moved_bytes += tiles.gather(where, first, sweep.lanes, tile.data());
        moved_bytes += tiles.scatter(where, first, sweep.lanes, tile.data(), thread);
    });
    rates.bytes_per_second = static_cast<double>(moved_bytes / kRuns) / moving;
    const double twiddling =
        timed([&](index_t first) { tiles.twiddle(first, sweep.lanes, tile.as<Pair<T>>(), thread); });
    rates.seconds_per_factor = twiddling / static_cast<double>(columns * kPoints);
    return rates;
}

}  // namespace

Result<TileRates> probe_tiles(bool quick) {
    const index_t bytes = index_t{quick ? 8 : 32} << 20;
    SPANFFT_ASSIGN(const TileRates single, measure<float>(bytes));
    SPANFFT_ASSIGN(const TileRates both, measure<double>(bytes));
    // One figure each, between the two.
    return TileRates{(single.bytes_per_second + both.bytes_per_second) / 2,
                     (single.seconds_per_factor + both.seconds_per_factor) / 2};
}

}  // namespace spanfft
