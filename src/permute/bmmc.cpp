// Planning and running the sweeps of a BMMC permutation; see bmmc.hpp.
#include "permute/bmmc.hpp"

#include <algorithm>
#include <map>

namespace spanfft {

Result<BmmcPlan> plan_bmmc(const Bmmc& map, const PdmShape& shape) {
    BmmcPlan plan;
    plan.map = map;
    plan.shape = shape;
    SPANFFT_ASSIGN(plan.factors, factor(map, shape));
    plan.rank = rank_phi(map.matrix, shape);
    plan.bound = parallel_io_bound(map.matrix, shape).value_or(0);
    return plan;
}

PdmCounts BmmcPlan::predicted() const {
    PdmCounts counts;
    for (const Factor& each : factors) counts += SweepMap(each, shape).predicted();
    return counts;
}

std::string BmmcPlan::describe() const {
    std::string names;
    for (const Factor& each : factors) names += (names.empty() ? "" : ", ") + std::string(sweep_kind_name(each.kind));
    return cat(factors.size(), factors.size() == 1 ? " sweep" : " sweeps", names.empty() ? "" : " (", names,
               names.empty() ? "" : ")", ", rank phi ", rank);
}

SweepMap::SweepMap(const Factor& factor, const PdmShape& shape)
    : shape_(shape),
      collects_(factor.kind == SweepKind::collect),
      outer_(collects_ ? factor.map.inverse() : factor.map),
      back_(collects_ ? factor.map : factor.map.inverse()),
      position_(shape.m) {
    const int m = shape.m, b = shape.b;
    for (int i = 0; i < b; ++i) rows_[static_cast<size_t>(i)] = i;
    // Rows from b on, each that is independent of those before on the first m columns.
    const BitMatrix rows = outer_.matrix.transpose();
    BitSpan independent;
    for (int row = b, found = b; row < shape.n && found < m; ++row) {
        if (independent.add(rows.column(row) & low_bits(m))) rows_[static_cast<size_t>(found++)] = row;
    }
    for (int j = 0; j < m; ++j) position_.set_column(j, position_of(outer_.matrix.column(j)));
    inverse_ = *position_.inverse();
}

Word SweepMap::position_of(Word z) const {
    Word position = 0;
    for (int i = 0; i < shape_.m; ++i) position |= (z >> rows_[static_cast<size_t>(i)] & 1) << i;
    return position;
}

index_t SweepMap::scattered_block(index_t load, index_t t) const {
    // Some record of that block: the one at offset 0.
    const Word i = inverse_.apply((static_cast<Word>(t) << shape_.b) ^ base(load));
    return static_cast<index_t>(outer_.apply(static_cast<Word>(load) << shape_.m | i) >> shape_.b);
}

PdmCounts SweepMap::predicted() const {
    bool stripes = true;  // the first D blocks; by linearity all others are like them
    for (index_t t = 1; t < shape_.disks(); ++t)
        stripes = stripes && scattered_block(0, t) >> shape_.d == scattered_block(0, 0) >> shape_.d;
    PdmCounts counts;
    index_t& ordered = collects_ ? counts.striped_writes : counts.striped_reads;
    index_t& scattered = collects_ ? (stripes ? counts.striped_reads : counts.independent_reads)
                                   : (stripes ? counts.striped_writes : counts.independent_writes);
    ordered += shape_.stripes();
    scattered += shape_.stripes();
    return counts;
}

std::vector<Word> BmmcSweep::exchange_classes() const {
    std::vector<Word> classes{permutation_.exchange_class(map_.memory_base(0))};
    for (int i = 0; i < shape_.n - shape_.m; ++i) {  // an affine image of the loads
        const Word step = permutation_.exchange_class(map_.memory_base(index_t{1} << i)) ^ classes[0];
        const size_t count = classes.size();
        if (std::find(classes.begin(), classes.end(), classes[0] ^ step) != classes.end()) continue;
        for (size_t k = 0; k < count; ++k) classes.push_back(classes[k] ^ step);
    }
    std::sort(classes.begin(), classes.end());
    return classes;
}

std::vector<PairParts> BmmcSweep::pairs(Word exchange_class) const {
    const index_t bytes = permutation_.message_records() * record_bytes_;
    const auto self = static_cast<Word>(processor_);
    std::map<Word, PairParts> by_peer;
    for (const auto& part : permutation_.sent_by(self, exchange_class))
        by_peer[part.processor].send = {part.segment * bytes, bytes};
    for (const auto& part : permutation_.received_by(self, exchange_class))
        by_peer[part.processor].receive = {part.segment * bytes, bytes};
    std::vector<PairParts> pairs;
    for (auto& [peer, parts] : by_peer) {
        parts.peer = static_cast<int>(peer);
        pairs.push_back(parts);
    }
    return pairs;
}

Status BmmcSweep::permute(index_t load, char* in, char* out, const Means& means) const {
    const Word base = map_.memory_base(load);
    const auto self = static_cast<Word>(processor_);
    index_t moved_bytes = 0;
    if (sends_) {
        const Word exchange_class = permutation_.exchange_class(base);
        moved_bytes += permutation_.pack(self, base, in, out, *means.team);
        SPANFFT_TRY(means.exchange(exchange_class, out, in));
    }
    moved_bytes += permutation_.unpack(self, base, in, out, *means.team);
    if (means.moved_bytes) *means.moved_bytes += moved_bytes;
    return {};
}

Status BmmcSweep::run(ParallelDisks& source, ParallelDisks& target, const Means& means) const {
    const PdmShape own = shape_.share();
    DiskSweep sweep;
    sweep.source = &source;
    sweep.target = &target;
    sweep.loads = own.memoryloads();
    sweep.blocks_per_load = own.blocks_per_load();
    const auto ordered = [own](index_t load, index_t t) { return (load << (own.m - own.b)) + t; };
    // The processor's t-th block of memory, as one of all.
    const auto scattered = [this](index_t load, index_t t) {
        return shape_.own_block(map_.scattered_block(load, shape_.block_of(processor_, t)));
    };
    sweep.source_block = map_.collects() ? std::function<index_t(index_t, index_t)>(scattered) : ordered;
    sweep.target_block = map_.collects() ? std::function<index_t(index_t, index_t)>(ordered) : scattered;
    sweep.compute = [&](index_t load, char* in, char* out) { return permute(load, in, out, means); };
    return run_sweep(sweep, means);
}

}  // namespace spanfft
