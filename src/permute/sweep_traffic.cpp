// Ranks of senders, receivers and loads; see sweep_traffic.hpp.
#include "permute/sweep_traffic.hpp"

namespace spanfft {

SweepTraffic::SweepTraffic(const Factor& factor, const PdmShape& shape, index_t record_bytes)
    : n_(shape.n), p_(shape.p), record_bytes_(record_bytes) {
    const BitMatrix& map = factor.map.matrix;
    // As columns of rows: load, sender and receiver of each bit of a place. A word has them all:
    // n-m+2p < n+p <= 50+12 rows (MultiprocessorModel::check).
    BitSpan triples, moved;  // moved: senders + receivers, with the sender beside
    for (int j = 0; j < n_; ++j) {
        const Word x = Word{1} << j, z = map.column(j), load = (factor.kind == SweepKind::collect ? z : x) >> shape.m;
        const Word from = shape.processor_of(x), to = shape.processor_of(z);
        triples.add((load << p_ | from) << p_ | to);
        Word sender = from;
        if (!moved.add(from ^ to, sender)) stayers_.add(sender);
    }
    triples_ = triples.size();
    moved_ = moved.size();
    some_stay_ = moved.reduce(shape.processor_of(factor.map.complement), stays_) == 0;
}

Traffic SweepTraffic::total() const {
    const index_t all = index_t{1} << triples_, stay = some_stay_ ? index_t{1} << (triples_ - moved_) : 0;
    return {all - stay, (all - stay) * (record_bytes_ << (n_ - triples_))};
}

Traffic SweepTraffic::sent_by(Word processor) const {
    index_t messages = index_t{1} << (triples_ - p_);
    if (some_stay_ && stayers_.has(processor ^ stays_)) messages -= index_t{1} << (triples_ - moved_ - stayers_.size());
    return {messages, messages * (record_bytes_ << (n_ - triples_))};
}

}  // namespace spanfft
