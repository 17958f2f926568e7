// Rounds of tiles among ranks; see block_exchange.hpp.
#include "sweeps/block_exchange.hpp"

#include <algorithm>

namespace spanfft {

Result<std::unique_ptr<BlockExchange>> BlockExchange::make(const SweepSpec& spec, Binding& binding) {
    std::unique_ptr<BlockExchange> made(new BlockExchange(spec));
    std::vector<int> everyone;
    for (int rank = 0; rank < spec.ranks(); ++rank) everyone.push_back(rank);
    SPANFFT_ASSIGN(made->group_, binding.group(everyone));
    Comm& comm = *made->group_.comm;
    made->rounds_ = made->geometry_.rounds() + made->geometry_.takes();

    const index_t tiles = spec.exchanges() ? spec.tile_steps() : 0, panels = spec.walked().panels_per_matrix();
    for (const index_t panel : {index_t{0}, panels - 1}) {
        if (spec.sharing.reads_together) {
            auto transfer = made->make_take(comm, panel);
            SPANFFT_TRY(agree(comm, transfer.status()));
            made->takes_.push_back(std::move(transfer).value());
        }
        for (index_t t = 0; t < tiles; ++t) {
            for (index_t call = 0; call < made->geometry_.most_calls(); ++call) {
                auto transfer = made->make_transfer(comm, panel * tiles + t, static_cast<int>(call));
                SPANFFT_TRY(agree(comm, transfer.status()));
                made->transfers_.push_back(std::move(transfer).value());
            }
        }
    }
    return made;
}

Result<std::unique_ptr<Transfer>> BlockExchange::make_take(Comm& comm, index_t panel) const {
    const ColumnPanels& in = spec_.source.columns();
    const index_t elem = in.elem_bytes, own = geometry_.width_of(panel, in.rank);
    const index_t pitch = geometry_.together(in.rank).pitch_bytes(), rows = geometry_.rows_of(in.rank);
    std::vector<StridedPart> send, receive;
    for (int rank = 0; rank < in.ranks; ++rank) {
        const index_t width = geometry_.width_of(panel, rank), theirs = geometry_.rows_of(rank);
        const index_t begin = geometry_.rows_before(rank) * own * elem;
        send.push_back({rank * in.panel * elem, {{width > 0 ? rows : 0, pitch}}, width * elem});
        receive.push_back({begin, {{own > 0 ? theirs : 0, own * elem}}, own * elem});
    }
    return comm.make_alltoallw(send, receive, Issue::blocking);
}

Result<std::unique_ptr<Transfer>> BlockExchange::make_transfer(Comm& comm, index_t step, int call) const {
    const int me = spec_.rank();
    const RoundTile own = geometry_.round_tile(step, me);
    if (!geometry_.of_sections()) {
        std::vector<BytesPart> send, receive;
        for (int rank = 0; rank < spec_.ranks(); ++rank) {
            const KeptPart theirs = geometry_.part_kept(own, rank);
            const KeptPart mine = geometry_.part_kept(geometry_.round_tile(step, rank), me);
            send.push_back({call * geometry_.tile_bytes() / 2 + theirs.begin_bytes, theirs.bytes});
            receive.push_back({call * geometry_.received_bytes_a_call() + geometry_.place_bytes(rank), mine.bytes});
        }
        return comm.make_alltoallv(send, receive, Issue::blocking);
    }
    const ColumnPanels keeper = geometry_.keepers_of(me);
    const index_t elem = keeper.elem_bytes;
    const auto part = [&](index_t begin_bytes, index_t sections, index_t section_elems, index_t columns) {
        return StridedPart{begin_bytes, {{columns > 0 ? sections : 0, section_elems * elem}}, columns * elem};
    };
    std::vector<StridedPart> send, receive;
    for (int rank = 0; rank < spec_.ranks(); ++rank) {
        const auto theirs = geometry_.keepers_of(rank).own_group(call), mine = keeper.own_group(call);
        const index_t place = geometry_.place_bytes(rank) + keeper.stored_at(mine, call) * elem;
        const index_t sections = geometry_.round_tile(step, rank).columns;
        send.push_back(part(theirs.first * elem, own.columns, keeper.row_elems, theirs.width));
        receive.push_back(part(place, sections, keeper.stored_row_elems(), mine.width));
    }
    return comm.make_alltoallw(send, receive, Issue::blocking);
}

bool BlockExchange::in_last_panel(index_t panel) const {
    const index_t panels = spec_.walked().panels_per_matrix();
    return panel % panels == panels - 1;
}

index_t BlockExchange::first_transfer(index_t step) const {
    const index_t tiles = spec_.tile_steps();
    return (step % tiles + (in_last_panel(step / tiles) ? tiles : 0)) * geometry_.most_calls();
}

void BlockExchange::begin(char* memory, index_t first_step) {
    memory_ = memory;
    before_ = *group_.counts;
    rounds_done_ = spec_.exchanges() ? first_step : 0;
    if (spec_.sharing.reads_together) rounds_done_ += first_step / spec_.tile_steps();
    all_know_ = false;
}

Status BlockExchange::meet() {
    const Status known = agree(*group_.comm, Status());
    if (known.ok())
        ++rounds_done_;
    else
        all_know_ = true;
    return known;
}

Status BlockExchange::take(index_t panel, const char* rows) {
    SPANFFT_TRY(meet());
    Transfer& transfer = *takes_[in_last_panel(panel) ? 1 : 0];
    SPANFFT_TRY(transfer.start(rows, taken()));
    return transfer.finish();
}

Status BlockExchange::round(index_t step, char* slot) {
    SPANFFT_TRY(meet());
    Status status;  // where a call fails the next one is made all the same, as the others make it
    for (index_t call = 0; call < geometry_.calls_in_round(step); ++call) {
        Transfer& transfer = *transfers_[static_cast<size_t>(first_transfer(step) + call)];
        Status moved = transfer.start(tile(), slot);
        if (moved.ok()) moved = transfer.finish();
        if (status.ok()) status = moved;
    }
    return status;
}

Status BlockExchange::leave(const Status& why) {
    if (why.ok() || all_know_ || rounds_done_ == rounds_) return why;
    all_know_ = true;
    return agree(*group_.comm, why);
}

Counts BlockExchange::counted() const {
    Counts counts;
    counts.messages = group_.counts->messages - before_.messages;
    counts.sent_bytes = group_.counts->sent_bytes - before_.sent_bytes;
    counts.calls = group_.counts->calls - before_.calls;
    return counts;
}

}  // namespace spanfft
