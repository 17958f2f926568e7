// Rounds of tiles among ranks; see block_exchange.hpp.
#include "sweeps/block_exchange.hpp"

namespace spanfft {

Result<std::unique_ptr<BlockExchange>> BlockExchange::make(const SweepSpec& spec, Binding& binding) {
    std::unique_ptr<BlockExchange> made(new BlockExchange(spec));
    if (made->geometry_.shifts()) made->shifts_.resize(static_cast<size_t>(spec.ranks()));
    SPANFFT_ASSIGN(made->rounds_, Rounds::make(spec.ranks(), binding));
    const index_t tiles = spec.exchanges() ? spec.tile_steps() : 0, panels = spec.walked().panels_per_matrix();
    for (const index_t panel : {index_t{0}, panels - 1}) {
        for (index_t part = 0; spec.sharing.reads_together && part < made->geometry_.parts(); ++part)
            SPANFFT_TRY(made->add(made->takes_, made->make_take(panel, part)));
        if (spec.gives_back()) SPANFFT_TRY(made->add(made->gives_, made->make_take(panel, 0, true)));
        for (index_t t = 0; t < tiles; ++t) {
            for (int call = 0; call < made->geometry_.most_calls(); ++call)
                SPANFFT_TRY(made->add(made->transfers_, made->make_transfer(panel * tiles + t, call)));
        }
    }
    return made;
}

Status BlockExchange::add(Transfers& transfers, Result<std::unique_ptr<Transfer>> made) {
    SPANFFT_TRY(agree(rounds_.comm(), made.status()));
    transfers.push_back(std::move(made).value());
    return {};
}

// `back`: the reverse.
Result<std::unique_ptr<Transfer>> BlockExchange::make_take(index_t panel, index_t part, bool back) const {
    const ColumnPanels& in = spec_.source.columns();
    const index_t elem = in.elem_bytes, own = geometry_.width_of(panel, in.rank);
    const index_t pitch = geometry_.together(in.rank).pitch_bytes(), rows = geometry_.rows_of_part(in.rank, part);
    const index_t skipped = geometry_.rows_before_part(in.rank, part) * pitch;
    std::vector<StridedPart> send, receive;
    for (int rank = 0; rank < in.ranks; ++rank) {
        const index_t width = geometry_.width_of(panel, rank), theirs = geometry_.rows_of_part(rank, part);
        const index_t begin = (geometry_.rows_before(rank) + geometry_.rows_before_part(rank, part)) * own * elem;
        send.push_back({skipped + rank * in.panel * elem, {{width > 0 ? rows : 0, pitch}}, width * elem});
        receive.push_back({begin, {{own > 0 ? theirs : 0, own * elem}}, own * elem});
    }
    if (back) std::swap(send, receive);
    return rounds_.comm().make_alltoallw(send, receive, Issue::blocking);
}

Result<std::unique_ptr<Transfer>> BlockExchange::make_transfer(index_t step, int call) const {
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
        return rounds_.comm().make_alltoallv(send, receive, Issue::blocking);
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
    return rounds_.comm().make_alltoallw(send, receive, Issue::blocking);
}

Status BlockExchange::round(index_t step, char* slot) {
    const index_t tiles = spec_.tile_steps(), calls = geometry_.calls_in_round(step);
    const index_t first = (step % tiles + (in_last_panel(step / tiles) ? tiles : 0)) * geometry_.most_calls();
    const std::span these(&transfers_[static_cast<size_t>(first)], static_cast<size_t>(calls));
    for (size_t rank = 0; rank < shifts_.size(); ++rank)
        shifts_[rank] = geometry_.shift_bytes(step, static_cast<int>(rank), file_offset_bytes_);
    for (const auto& transfer : these)
        if (!shifts_.empty()) SPANFFT_TRY(transfer->shift_receives(shifts_));
    return rounds_.round(these, tile(), slot);
}

}  // namespace spanfft
