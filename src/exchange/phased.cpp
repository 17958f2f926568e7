// Exchange in phases of few partners with barriers in between (P2, section 4.3: the barrier-synchronised all-to-all).
//
// Method: each rank meets four partners a phase, chosen so that all links of a torus carry the same (phases.hpp). Some
// phases are started together, as a group; a barrier after each group but the last lets the network drain, so that
// congestion is not carried on and buffers do not fill. Parts are packed where not contiguous, as in alltoallv.
// Parameter "4x4x2/3": the torus of all ranks, row-major, and 3 phases a group. The group of an exchange that fills
// whole dimensions of that torus (P2, section 6: communicators mapped to planes), or has as many ranks as it, uses it;
// any other one, or one with an odd extent, meets pairwise.
// Default group: as many phases as keep 1 MiB a rank on the way (P2: by the bytes for each partner and the buffers).
// Cost: alltoallv's buffers; P/4 phases and (phases/group - 1) barriers on a torus of P ranks, P phases pairwise.
// Invariant: the number of groups is the same on all ranks of a group, whatever they have to send.
#include "exchange/phased.hpp"

#include <algorithm>
#include <charconv>

#include "exchange/packed.hpp"

namespace spanfft {

namespace {

constexpr index_t kBytesOnTheWay = index_t{1} << 20;

struct Wish {
    Extents torus;        // empty: none
    index_t grouped = 0;  // phases a group; 0: by bytes
};

Status bad_parameter(const ExchangeSpec& spec, const std::string& why) {
    return error(Code::invalid_argument, "'", spec.parameter, "' is no torus and group of phased: ", why,
                 "; write TORUS, /GROUP or TORUS/GROUP, such as phased:4x4x2/3 on 32 ranks");
}

// A number > 0, or 0.
index_t positive(const std::string& text) {
    index_t value = 0;
    const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failure == std::errc() && stop == text.data() + text.size() && value > 0 ? value : 0;
}

Result<Wish> parse(const ExchangeSpec& spec) {
    Wish wish;
    const size_t slash = spec.parameter.find('/');
    if (slash != std::string::npos) {
        wish.grouped = positive(spec.parameter.substr(slash + 1));
        if (wish.grouped == 0) return bad_parameter(spec, "the group must be a number of phases, 1 or more");
    }
    const std::string text = spec.parameter.substr(0, slash);
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('x', at), text.size());
        wish.torus.push_back(positive(text.substr(at, end - at)));
        if (wish.torus.back() == 0 || end + 1 == text.size())
            return bad_parameter(spec, "an extent must be a number, 1 or more");
        at = end + 1;
    }
    const auto places = checked_product(wish.torus);
    if (!places || spec.from.nranks() % *places != 0) {
        return bad_parameter(spec, cat("a torus must have as many places as there are ranks, ", spec.from.nranks(),
                                       ", or as a group of them"));
    }
    return wish;
}

// The dimensions of `torus`, which holds all ranks, that the members fill; empty when they fill none wholly.
Extents filled_dimensions(const Extents& torus, const std::vector<int>& members) {
    Extents filled;
    index_t stride = 1;
    for (size_t dim = torus.size(); dim-- > 0; stride *= torus[dim]) {
        const auto coordinate = [&](int rank) { return rank / stride % torus[dim]; };
        const bool varies = std::any_of(members.begin(), members.end(),
                                        [&](int rank) { return coordinate(rank) != coordinate(members.front()); });
        if (varies) filled.insert(filled.begin(), torus[dim]);
    }
    // Members are different ranks: as many as the product are all of the places.
    return product(filled) == static_cast<index_t>(members.size()) ? filled : Extents{};
}

// The torus that the members form, in their order; empty: pairwise.
Extents torus_of(const Wish& wish, const ExchangeSpec& spec, const std::vector<int>& members) {
    if (wish.torus.empty()) return {};
    Extents torus;
    if (product(wish.torus) == spec.from.nranks()) {
        torus = filled_dimensions(wish.torus, members);
    } else if (product(wish.torus) == static_cast<index_t>(members.size())) {
        torus = wish.torus;
    }
    std::erase(torus, index_t{1});
    const bool even = std::all_of(torus.begin(), torus.end(), [](index_t p) { return p % 2 == 0; });
    return even ? torus : Extents{};
}

// Phases a group, the same on all ranks: by the average bytes of a part.
index_t phases_grouped(const Wish& wish, const ExchangeSpec& spec, size_t members, bool on_torus) {
    if (wish.grouped > 0) return wish.grouped;
    const index_t total_bytes = product(spec.from.shape()) * spec.elem_bytes;
    const index_t part_bytes = total_bytes / spec.from.nranks() / static_cast<index_t>(members);
    return std::max<index_t>(1, kBytesOnTheWay / std::max<index_t>(1, part_bytes * (on_torus ? 4 : 1)));
}

std::vector<Partners> partners_of(const Extents& torus, int size, int place) {
    return torus.empty() ? pairwise_partners(size, place) : torus_partners(torus, place);
}

int place_of(const std::vector<int>& members, int rank) {
    return static_cast<int>(std::find(members.begin(), members.end(), rank) - members.begin());
}

class PhasedExchange final : public PackedExchange {
  public:
    explicit PhasedExchange(const ExchangeBinding& binding)
        : PackedExchange(binding, Packing::where_needed), comm_(binding.comm) {}

    static Result<std::unique_ptr<Exchange>> make(const ExchangeBinding& binding) {
        auto exchange = std::make_unique<PhasedExchange>(binding);
        SPANFFT_TRY(exchange->allocate(binding.comm));
        SPANFFT_TRY(exchange->make_groups(binding));
        return std::unique_ptr<Exchange>(std::move(exchange));
    }

  private:
    Status begin(const void* from, void* to) override {
        from_ = from;
        to_ = to;
        return groups_.empty() ? Status() : groups_.front()->start(from_, to_);
    }
    Status complete() override {
        Status first;  // after a failure too: the others wait at the barriers that are left
        for (size_t group = 0; group < groups_.size(); ++group) {
            if (group > 0) {
                keep_first(first, comm_.barrier());
                keep_first(first, groups_[group]->start(from_, to_));
            }
            keep_first(first, groups_[group]->finish());
        }
        return first;
    }
    // One transfer for all phases of a group: its messages are started in the order of the phases. A failure is kept
    // until all are made, as the others make theirs.
    Status make_groups(const ExchangeBinding& binding) {
        const auto members = exchange_group(binding.spec.from, binding.spec.to, binding.rank);
        SPANFFT_ASSIGN(const Wish wish, parse(binding.spec));
        const Extents torus = torus_of(wish, binding.spec, members);
        const auto phases = partners_of(torus, comm_.size(), comm_.rank());
        const auto each = static_cast<size_t>(phases_grouped(wish, binding.spec, members.size(), !torus.empty()));
        Status status;
        for (size_t first = 0; first < phases.size(); first += std::min(each, phases.size())) {
            std::vector<PairParts> pairs;
            for (size_t phase = first; phase < phases.size() && phase - first < each; ++phase) {
                for (const int peer : phases[phase]) {
                    const auto i = static_cast<size_t>(peer);
                    if (send_.wire[i].bytes || receive_.wire[i].bytes)
                        pairs.push_back({peer, send_.wire[i], receive_.wire[i]});
                }
            }
            auto made = binding.comm.make_pairs(pairs, Pairing::nonblocking);
            if (status.ok()) status = made.status();
            if (made.ok()) groups_.push_back(std::move(made).value());
        }
        return status;
    }

    Comm& comm_;
    std::vector<std::unique_ptr<Transfer>> groups_;
    const void* from_ = nullptr;
    void* to_ = nullptr;
};

index_t buffer_bytes(const ExchangeSpec& spec, int rank) {
    return packed_buffer_bytes(spec, rank, Packing::where_needed);
}

Counts predict(const ExchangeSpec& spec, int rank) {
    Counts counts = predict_packed(spec, rank, Packing::where_needed);
    counts.calls = counts.messages + sum_parts(spec, rank, Packing::where_needed).receive.messages;
    return counts;
}

Status check(const ExchangeSpec& spec) { return parse(spec).status(); }

// The machine's torus, if these ranks fill it; else in pairs.
std::vector<std::string> candidates(const ExchangeSpec& spec) {
    const bool filled = !spec.torus.empty() && checked_product(spec.torus) == spec.from.nranks();
    return {filled ? shape_string(spec.torus) : ""};
}

}  // namespace

Result<std::vector<Partners>> phases_of(const ExchangeSpec& spec, int rank) {
    const auto members = exchange_group(spec.from, spec.to, rank);
    SPANFFT_ASSIGN(const Wish wish, parse(spec));
    return partners_of(torus_of(wish, spec, members), static_cast<int>(members.size()), place_of(members, rank));
}

bool phases_on_torus(const ExchangeSpec& spec, int rank) {
    const auto wish = parse(spec);
    if (!wish.ok() || wish.value().torus.empty()) return false;
    return !torus_of(wish.value(), spec, exchange_group(spec.from, spec.to, rank)).empty();
}

ExchangeStrategy phased_strategy() {
    ExchangeStrategy row;
    row.name = "phased";
    row.source = "P2";
    row.how = "few partners at a time, barriers in between";
    row.parameter =
        "TORUS/GROUP: extents of the torus (default: pairwise), phases between barriers (default: by bytes)";
    row.bind = PhasedExchange::make;
    row.predict = predict;
    row.buffer_bytes = buffer_bytes;
    row.check = check;
    row.candidates = candidates;
    return row;
}

}  // namespace spanfft
