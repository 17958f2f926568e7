// Exchange of m blocks of vectors by collectives, each under way while the next block is computed (P2, section 4.4,
// algorithm 2).
//
// Method: the rows are cut into m balanced blocks. Either each block's collective is non-blocking (MPI-3 has what P2
// lacked), or, as P2 does it, a thread makes the blocking collective of block j while the caller computes block j + 1.
// Cost: m calls; of computing and communication the shorter is hidden but for one m-th of it, if the two really go on
// at once: max(comp/m + comm, comp + comm/m).
#include "exchange/blockvector.hpp"

#include <algorithm>

#include "exchange/chunked.hpp"

namespace spanfft {

namespace {

constexpr index_t kBlocks = 4;

struct Parameter {
    index_t blocks = kBlocks;
    Carrier carrier = Carrier::collective_later;
};

// "", "8", "thread", "8,thread"
Result<Parameter> parse(const ExchangeSpec& spec) {
    Parameter parsed;
    ExchangeSpec number = spec;
    const std::string suffix = "thread";
    if (number.parameter.ends_with(suffix)) {
        parsed.carrier = Carrier::collective_by_thread;
        number.parameter.resize(number.parameter.size() - suffix.size());
        if (number.parameter.ends_with(",")) number.parameter.pop_back();
    }
    if (!positive_parameter(number, "blocks", kBlocks).ok()) {
        return error(Code::invalid_argument, "'", spec.parameter,
                     "' is no number of blocks; use 2, 4, ..., and ',thread' after it for a communication thread");
    }
    SPANFFT_ASSIGN(parsed.blocks, positive_parameter(number, "blocks", kBlocks));
    return parsed;
}

Chunking chunking_of(const ExchangeSpec& spec) {
    constexpr index_t most = 1 << 30;
    return chunks_in_all(spec, static_cast<int>(std::min(parse(spec).value().blocks, most)));
}

Carrier carrier_of(const ExchangeSpec& spec) { return parse(spec).value().carrier; }

// Not the thread: whether MPI may be called from one is known only when the plan is bound.
std::vector<std::string> candidates(const ExchangeSpec&) { return {"2", "4", "8"}; }

}  // namespace

ExchangeStrategy blockvector_strategy() {
    ExchangeStrategy row;
    row.name = "blockvector";
    row.source = "P2 algorithm 2";
    row.how = "a collective for each block of vectors, under way while the next is computed";
    row.parameter = "blocks: 4 (default), ...; ',thread' after it: blocking collectives in a thread of their own";
    row.bind = [](const ExchangeBinding& binding) {
        return bind_chunked(binding, chunking_of(binding.spec), carrier_of(binding.spec));
    };
    row.predict = [](const ExchangeSpec& spec, int rank) {
        return predict_chunked(spec, rank, chunking_of(spec), carrier_of(spec));
    };
    row.buffer_bytes = [](const ExchangeSpec& spec, int rank) {
        return chunked_buffer_bytes(spec, rank, chunking_of(spec), carrier_of(spec));
    };
    row.check = [](const ExchangeSpec& spec) { return parse(spec).status(); };
    row.candidates = candidates;
    row.chunks = [](const ExchangeSpec& spec, int) { return chunking_of(spec).chunks; };
    row.rows = [](const ExchangeSpec& spec, int rank, int chunk) {
        return chunk_rows(chunking_of(spec), spec, rank, chunk);
    };
    row.overlaps = true;
    return row;
}

}  // namespace spanfft
