// The exchange strategies, one row each; see exchange.hpp.
#include <algorithm>

#include "comm/strided_copy.hpp"
#include "exchange/alltoallv.hpp"
#include "exchange/alltoallw.hpp"
#include "exchange/blockvector.hpp"
#include "exchange/compressed.hpp"
#include "exchange/exchange.hpp"
#include "exchange/hierarchical.hpp"
#include "exchange/oneplane.hpp"
#include "exchange/overlap.hpp"
#include "exchange/packing.hpp"
#include "exchange/persistent.hpp"
#include "exchange/phased.hpp"
#include "exchange/replace.hpp"
#include "exchange/shared.hpp"
#include "exchange/standard.hpp"

namespace spanfft {

const std::vector<ExchangeStrategy>& exchange_table() {
    static const std::vector<ExchangeStrategy> table = {
        alltoallv_strategy(),     // packed, one collective
        alltoallw_strategy(),     // datatypes
        oneplane_strategy(),      // a collective for each chunk
        overlap_strategy(),       // non-blocking pairs
        standard_strategy(),      // blocking pairs
        replace_strategy(),       // pairs in one buffer
        blockvector_strategy(),   // collectives while the next block is computed
        phased_strategy(),        // four partners a phase
        persistent_strategy(),    // a collective that is set up once
        hierarchical_strategy(),  // one message between two nodes
        shared_strategy(),        // one memory
        compressed_strategy(),    // fewer bits
    };
    return table;
}

ExchangeChoice find_exchange(const std::string& text) {
    const size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    for (const auto& strategy : exchange_table()) {
        if (name == strategy.name) return {&strategy, colon == std::string::npos ? "" : text.substr(colon + 1)};
    }
    return {};
}

std::string exchange_text(const ExchangeStrategy& strategy, const std::string& parameter) {
    return parameter.empty() ? strategy.name : cat(strategy.name, ":", parameter);
}

std::vector<std::string> split_exchanges(const std::string& text) {
    std::vector<std::string> each;
    size_t begin = 0;
    for (size_t end = text.find('+'); end != std::string::npos; end = text.find('+', begin)) {
        each.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    each.push_back(text.substr(begin));
    return each;
}

std::string join_exchanges(const std::vector<std::string>& each) {
    if (std::all_of(each.begin(), each.end(), [&](const std::string& one) { return one == each.front(); }))
        return each.empty() ? "" : each.front();
    std::string text = each.front();
    for (size_t i = 1; i < each.size(); ++i) text += "+" + each[i];
    return text;
}

std::string exchange_names() {
    std::string names;
    for (const auto& strategy : exchange_table()) names += (names.empty() ? "" : ", ") + std::string(strategy.name);
    return names;
}

Status takes_no_parameter(const ExchangeSpec& spec) {
    if (spec.parameter.empty()) return Status();
    return error(Code::invalid_argument, "this exchange takes no parameter, but got '", spec.parameter, "'");
}

std::vector<std::string> no_parameters(const ExchangeSpec&) { return {""}; }
int one_chunk(const ExchangeSpec&, int) { return 1; }
index_t no_buffers(const ExchangeSpec&, int) { return 0; }

Counts count_pieces(const ExchangeSpec& spec, int rank) {
    const PartSums sums = sum_parts(spec, rank, Packing::where_needed);
    Counts counts;
    counts.messages = sums.send.messages;
    counts.sent_bytes = sums.send.bytes;
    return counts;
}

Status Exchange::run(const void* source, void* target, Trace* trace) {
    // After a failure too: the other ranks are in the chunks that are left, and would wait for this one.
    Status first;
    for (int chunk = 0; chunk < chunks(); ++chunk) {
        if (trace) trace->enter_chunk(chunk);
        {
            const TraceScope scope(trace, "pack", TraceCategory::communication);
            keep_first(first, start(chunk, source, target));
        }
        const TraceScope scope(trace, "unpack", TraceCategory::communication);
        keep_first(first, finish(chunk));
    }
    return first;
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

}  // namespace spanfft
