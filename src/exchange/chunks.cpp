// Cutting exchanges; see chunks.hpp.
#include "exchange/chunks.hpp"

#include <algorithm>
#include <charconv>

namespace spanfft {

int chunk_axis(const ExchangeSpec& spec) {
    const Layout &from = spec.from, &to = spec.to;
    if (spec.rows_axis >= 0) return spec.rows_axis;
    if (from.has_grid() && to.has_grid()) {
        for (const GridDim& dim : from.grid()) {
            const bool stays = std::find(to.grid().begin(), to.grid().end(), dim) != to.grid().end();
            if (dim.axis >= 0 && dim.parts > 1 && !stays) return dim.axis;
        }
    }
    return 0;
}

namespace {

index_t most_rows(const ExchangeSpec& spec, int axis) {
    return std::max<index_t>(spec.from.counts_along(axis).back(), 1);
}

// Indices a .. a+count-1 of a progression.
AxisRange part_of(const AxisRange& range, const AxisRange& rows) {
    return {range.at(rows.start), rows.count, range.step};
}

}  // namespace

Chunking chunks_of_rows(const ExchangeSpec& spec, index_t rows_each) {
    Chunking chunking{chunk_axis(spec), rows_each, 1};
    const index_t most = most_rows(spec, chunking.axis);
    if (rows_each <= 0 || rows_each > most) chunking.rows_each = most;
    chunking.rows_each = std::max(chunking.rows_each, ceil_div(most, index_t{INT32_MAX}));
    chunking.chunks = static_cast<int>(ceil_div(most, chunking.rows_each));
    return chunking;
}

Chunking chunks_in_all(const ExchangeSpec& spec, int chunks) {
    Chunking chunking{chunk_axis(spec), 0, 1};
    chunking.chunks = static_cast<int>(std::min<index_t>(chunks, most_rows(spec, chunking.axis)));
    return chunking;
}

AxisRange rows_in_chunk(const Chunking& chunking, index_t rows, int chunk) {
    if (chunking.rows_each == 0) return block_range(rows, chunking.chunks, chunk);
    const index_t start = std::min(rows, chunk * chunking.rows_each);
    return {start, std::min(chunking.rows_each, rows - start), 1};
}

AxisRange chunk_rows(const Chunking& chunking, const ExchangeSpec& spec, int rank, int chunk) {
    return rows_in_chunk(chunking, spec.from.range(rank, chunking.axis).count, chunk);
}

Patch chunk_patch(const Chunking& chunking, const ExchangeSpec& spec, int rank, int chunk) {
    Patch patch = spec.from.patch(rank);
    AxisRange& range = patch[static_cast<size_t>(chunking.axis)];
    range = part_of(range, rows_in_chunk(chunking, range.count, chunk));
    return patch;
}

Result<index_t> positive_parameter(const ExchangeSpec& spec, const char* what, index_t otherwise) {
    if (spec.parameter.empty()) return otherwise;
    index_t value = 0;
    const char* end = spec.parameter.data() + spec.parameter.size();
    const auto [stop, failure] = std::from_chars(spec.parameter.data(), end, value);
    if (failure != std::errc() || stop != end || value <= 0)
        return error(Code::invalid_argument, "'", spec.parameter, "' is no number of ", what, "; use 1, 2, ...");
    return value;
}

}  // namespace spanfft
