// The exchange strategies, one row each; see exchange.hpp.
#include <algorithm>

#include "comm/strided_copy.hpp"
#include "exchange/alltoallv.hpp"
#include "exchange/alltoallw.hpp"
#include "exchange/exchange.hpp"

namespace spanfft {

const std::vector<ExchangeStrategy>& exchange_table() {
    static const std::vector<ExchangeStrategy> table = {alltoallv_strategy(), alltoallw_strategy()};
    return table;
}

const ExchangeStrategy* find_exchange(const std::string& name) {
    for (const auto& strategy : exchange_table()) {
        if (name == strategy.name) return &strategy;
    }
    return nullptr;
}

std::string exchange_names() {
    std::string names;
    for (const auto& strategy : exchange_table()) names += (names.empty() ? "" : ", ") + std::string(strategy.name);
    return names;
}

Status Exchange::run(const void* source, void* target) {
    for (int chunk = 0; chunk < chunks(); ++chunk) {
        SPANFFT_TRY(start(chunk, source, target));
        SPANFFT_TRY(finish(chunk));
    }
    return Status();
}

StridedPart strided_part(const Piece& piece, const Extents& local_shape, index_t elem_bytes) {
    const Extents strides = row_major_strides(local_shape);
    StridedPart part{0, {}, elem_bytes};
    for (size_t axis = 0; axis < local_shape.size(); ++axis) {
        const AxisRange& range = piece.local[axis];
        part.offset_bytes += range.start * strides[axis] * elem_bytes;
        part.dims.push_back({range.count, range.step * strides[axis] * elem_bytes});
    }
    return part;
}

bool is_contiguous(const StridedPart& part) { return part.bytes() == 0 || merged(part).dims.empty(); }

}  // namespace spanfft
