// Rounds of tiles among ranks; see block_exchange.hpp.
#include "sweeps/block_exchange.hpp"

namespace spanfft {

Result<std::unique_ptr<BlockExchange>> BlockExchange::make(const SweepSpec& spec, Binding& binding) {
    std::unique_ptr<BlockExchange> made(new BlockExchange(spec));
    if (made->geometry_.shifts()) made->shifts_.resize(static_cast<size_t>(spec.ranks()));
    SPANFFT_ASSIGN(made->rounds_, Rounds::make(spec.ranks(), binding, made->ahead_));
    const index_t tiles = spec.exchanges() ? spec.tile_steps() : 0, panels = spec.walked().panels_per_matrix();
    // Who fails goes on to the end, as making them is collective.
    Status status;
    const auto add = [&status](Transfers& transfers, Result<std::unique_ptr<Transfer>> transfer) {
        keep_first(status, transfer.status());
        transfers.push_back(transfer.ok() ? std::move(transfer).value() : nullptr);
    };
    const index_t kinds = made->geometry_.taken_kinds();
    for (index_t kind = 0; kind < kinds; ++kind) {
        const index_t panel = kind == kinds - 1 ? panels - 1 : std::min(kind, panels - 1);
        for (index_t part = 0; spec.sharing.reads_together && part < made->geometry_.parts(); ++part) {
            for (index_t tile = 0; tile < made->geometry_.taken_tiles(); ++tile) {
                for (int which = 0; which < made->geometry_.taken_groups(); ++which)
                    add(made->takes_, made->make_take(panel, part, tile, which));
            }
        }
    }
    for (const index_t panel : {index_t{0}, panels - 1}) {
        if (spec.gives_back()) add(made->gives_, made->make_take(panel, 0, 0, 0, true));
        for (index_t t = 0; t < tiles; ++t) {
            for (int call = 0; call < made->geometry_.most_calls(); ++call)
                add(made->transfers_, made->make_transfer(panel * tiles + t, call));
        }
    }
    SPANFFT_TRY(agree(made->rounds_.comm(), status));
    return made;
}

// `back`: the reverse.
Result<std::unique_ptr<Transfer>> BlockExchange::make_take(index_t panel, index_t part, index_t tile, int which,
                                                           bool back) const {
    const ColumnPanels &in = spec_.source.columns(), read = geometry_.together(in.rank);
    const index_t elem = in.elem_bytes, pitch = read.pitch_bytes(), rows = geometry_.rows_of_part(in.rank, part);
    const index_t skipped = geometry_.rows_before_part(in.rank, part) * pitch;
    const index_t all = read.group(panel, which).first, own = geometry_.taken(panel, tile, which, in.rank).width;
    std::vector<StridedPart> send, receive;
    for (int rank = 0; rank < in.ranks; ++rank) {
        const ColumnPanels::Group its = geometry_.taken(panel, tile, which, rank);
        const index_t theirs = geometry_.rows_of_part(rank, part);
        const index_t row = geometry_.rows_before(rank) + geometry_.rows_before_part(rank, part);
        const bool any = its.width > 0;
        send.push_back({skipped + (any ? its.first - all : 0) * elem, {{any ? rows : 0, pitch}}, its.width * elem});
        receive.push_back({which * geometry_.taken_group_bytes() + row * own * elem,
                           {{own > 0 ? theirs : 0, own * elem}},
                           own * elem});
    }
    if (back) std::swap(send, receive);
    return rounds_.comm().make_alltoallw(send, receive, issue());
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
        return rounds_.comm().make_alltoallv(send, receive, issue());
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
    return rounds_.comm().make_alltoallw(send, receive, issue());
}

Rounds::Moves BlockExchange::moves_of(Moves& moves, index_t step, char* slot) const {
    const index_t tiles = spec_.tile_steps();
    const index_t first = (step % tiles + (in_last_panel(step / tiles) ? tiles : 0)) * geometry_.most_calls();
    const auto calls = static_cast<size_t>(geometry_.calls_in_round(step));
    for (size_t call = 0; call < calls; ++call)
        moves[call] = {transfers_[static_cast<size_t>(first) + call].get(), tile(step), slot};
    return {moves.data(), calls};
}

Rounds::Moves BlockExchange::moves_of_take(Moves& moves, index_t panel, index_t i, const Rows& rows,
                                           char* target) const {
    const index_t in_matrix = panel % spec_.walked().panels_per_matrix(), last = geometry_.taken_kinds() - 1;
    const index_t kind = in_last_panel(panel) ? last : std::min(in_matrix, last - 1);
    const index_t each = geometry_.parts() * geometry_.taken_tiles();
    const auto groups = static_cast<size_t>(geometry_.taken_groups());
    for (size_t which = 0; which < groups; ++which)
        moves[which] = {takes_[static_cast<size_t>(kind * each + i) * groups + which].get(), rows[which], target};
    return {moves.data(), groups};
}

Status BlockExchange::take(index_t panel, index_t part, const Rows& rows) {
    Moves moves;
    return rounds_.round(moves_of_take(moves, panel, part, rows, taken(0)));
}

Status BlockExchange::shift(index_t step) {
    if (shifts_.empty()) return {};
    for (size_t rank = 0; rank < shifts_.size(); ++rank)
        shifts_[rank] = geometry_.shift_bytes(step, static_cast<int>(rank), file_offset_bytes_);
    Moves moves;
    for (const Rounds::Move& move : moves_of(moves, step, nullptr)) SPANFFT_TRY(move.transfer->shift_receives(shifts_));
    return {};
}

Status BlockExchange::round(index_t step, char* slot) {
    SPANFFT_TRY(shift(step));
    Moves moves;
    return rounds_.round(moves_of(moves, step, slot));
}

Status BlockExchange::start_round(index_t step, char* slot) {
    next_[kTiles] = step + 1;
    if (const Status shifted = shift(step); !shifted.ok()) rounds_.fail(shifted);
    Moves moves;
    return rounds_.start(kTiles, moves_of(moves, step, slot));
}

Status BlockExchange::start_take(index_t step, const Rows& rows) {
    next_[kTakes] = step + 1;
    Moves moves;
    const index_t tiles = spec_.tile_steps();
    return rounds_.start(kTakes, moves_of_take(moves, step / tiles, step % tiles, rows, taken(step)));
}

// Of a rank that can't go on: until all know, it starts and finishes rounds in the order in which the others do. In
// step s tile s is there, tile s+1 begins to be taken, tile s-1 has been handed on, tile s begins to be.
Status BlockExchange::take_part(char* slots) {
    const index_t steps = spec_.walked().panels() * spec_.tile_steps(), take = next_[kTakes], tile = next_[kTiles];
    const bool takes = spec_.takes_ahead() && take < steps;
    // Who learns of it by a take does not come to the tile of that step any more.
    const bool tiles = spec_.hands_on_ahead() && tile < steps && !(takes && take <= tile);
    const auto start = [&](Series series) {
        if (series == kTakes) return takes ? start_take(take, {slots, slots}) : Status();
        return tiles ? start_round(tile, memory_ - spec_.write_slots() * spec_.write_slot_bytes()) : Status();
    };
    std::array order{kTiles, kTakes};
    if (spec_.takes_ahead() && (!spec_.hands_on_ahead() || take <= tile + 1)) std::swap(order[0], order[1]);
    Status status;
    for (int i = 0; i < 4 && !rounds_.all_know(); ++i) {
        const Series series = order[static_cast<size_t>(i % 2)];
        const Status finished = rounds_.finish(series);
        if (rounds_.all_know()) return finished;
        keep_first(status, finished);
        if (i < 2) keep_first(status, start(series));
    }
    return status;
}

Status BlockExchange::end(const Status& mine, char* slots) {
    if (!ahead_ || mine.ok() || rounds_.all_know()) return rounds_.end(mine);
    rounds_.fail(mine);
    const Status told = take_part(slots);
    return rounds_.end(rounds_.all_know() ? told : mine);
}

}  // namespace spanfft
