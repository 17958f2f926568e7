// Sizes of tiles and what engines are asked for; see tile.hpp.
#include "engine/tile.hpp"

#include <algorithm>

namespace spanfft {

namespace {
constexpr index_t kTileShare = 4;        // a tile has a quarter of the second-level cache
constexpr index_t kMostLaneBytes = 512;  // of 256 points: 8.5 ms for 64 MiB, with 1024 9.5, with 256 8.8
constexpr index_t kLeastLaneBytes = 64;  // a cache line
constexpr index_t kLineBytes = 64;
}  // namespace

index_t row_pitch_bytes(index_t row_bytes) { return (ceil_div(row_bytes, kLineBytes) | 1) * kLineBytes; }

index_t tile_lanes(const Caches& caches, index_t points, index_t elem_bytes, index_t available) {
    const index_t by_cache = caches.l2_bytes / kTileShare / std::max<index_t>(1, points * elem_bytes);
    const index_t lanes = std::clamp(by_cache, ceil_div(kLeastLaneBytes, elem_bytes), kMostLaneBytes / elem_bytes);
    // Whole cache lines, and no last tile of a few lanes: 100 lanes of at most 64 are 2 x 50.
    const index_t tiles = ceil_div(available, lanes);
    const index_t per_line = std::max<index_t>(1, kLeastLaneBytes / elem_bytes);
    return std::min(available, round_up(ceil_div(available, tiles), per_line));
}

index_t tile_pitch_bytes(const TileSpec& spec) {
    const auto elem_bytes = static_cast<index_t>(spec.elem.bytes());
    return row_pitch_bytes(spec.lanes * elem_bytes);
}

LocalSpec tile_lines(const TileSpec& spec) {
    const bool reals_of_complex = is_r2r(spec.kernel) && spec.elem.complex;
    const auto unit_bytes = static_cast<index_t>(spec.elem.bytes()) / (reals_of_complex ? 2 : 1);
    const index_t pitch = tile_pitch_bytes(spec) / unit_bytes;
    LocalSpec lines;
    lines.kernel = spec.kernel;
    lines.precision = spec.elem.precision;
    lines.transform = {{spec.points, pitch, pitch}};
    lines.batch = {{spec.lanes * (reals_of_complex ? 2 : 1), 1, 1}};
    lines.spare_lines = pitch - lines.batch[0].n;
    lines.in_place = true;
    lines.measure = spec.measure;
    return lines;
}

index_t tile_bytes(const TileSpec& spec) { return spec.points * tile_pitch_bytes(spec); }

Result<Buffer> tile_memory(index_t bytes) {
    SPANFFT_ASSIGN(Buffer memory, Buffer::allocate(static_cast<size_t>(bytes)));
    std::fill_n(memory.as<char>(), static_cast<size_t>(bytes), '\0');
    return memory;
}

}  // namespace spanfft
