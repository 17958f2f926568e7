// Rounds of tiles among ranks; see block_exchange.hpp.
#include "sweeps/block_exchange.hpp"

#include <algorithm>

namespace spanfft {

namespace {

index_t rounds_of(const PassSpec& spec) { return spec.in.panels() * spec.tile_steps(); }

bool in_last_panel(const PassSpec& spec, index_t step) {
    const index_t panels = spec.in.panels_per_matrix();
    return step / spec.tile_steps() % panels == panels - 1;
}

}  // namespace

RoundTile round_tile(const PassSpec& spec, index_t step, int rank) {
    ColumnPanels panels = spec.in;
    panels.rank = rank;
    const index_t panel = step / spec.tile_steps(), begin = panels.first_column(panel);
    const index_t end = begin + panels.group(panel, 0).width;
    const index_t first = begin + step % spec.tile_steps() * spec.blocks.tile_columns;
    const index_t columns = std::clamp<index_t>(end - first, 0, spec.blocks.tile_columns);
    return {panel / panels.panels_per_matrix(), columns > 0 ? spec.blocks.tile_at(first) : 0, columns};
}

Counts count_rounds(const PassSpec& spec) {
    Counts counts;
    counts.calls = rounds_of(spec);
    const int rank = spec.in.rank;
    index_t others = 0;  // that keep anything
    for (int r = 0; r < spec.in.ranks; ++r) others += r != rank && spec.kept_blocks(r).rows > 0;
    // Whole panels have as many tiles each, and the last one what it has.
    const index_t panels = spec.in.panels_per_matrix(), tiles = spec.tile_steps();
    index_t own_tiles = 0;
    for (const index_t panel : {index_t{0}, panels - 1}) {
        index_t in_panel = 0;
        for (index_t t = 0; t < tiles; ++t) in_panel += round_tile(spec, panel * tiles + t, rank).columns > 0;
        own_tiles += panel < panels - 1 ? in_panel * (panels - 1) : in_panel;
        if (panels == 1) break;
    }
    counts.messages = spec.in.outer * own_tiles * others;
    const index_t away = spec.blocks.rows - spec.kept_blocks(rank).rows;
    counts.sent_bytes = spec.in.outer * spec.in.own_columns() * away * spec.blocks.elem_bytes;
    return counts;
}

Result<std::unique_ptr<BlockExchange>> BlockExchange::make(const PassSpec& spec, Binding& binding) {
    std::unique_ptr<BlockExchange> made(new BlockExchange(spec));
    std::vector<int> everyone;
    for (int rank = 0; rank < spec.in.ranks; ++rank) everyone.push_back(rank);
    SPANFFT_ASSIGN(made->group_, binding.group(everyone));
    Comm& comm = *made->group_.comm;
    auto tile = Buffer::allocate(static_cast<size_t>(spec.exchanged_tile_bytes()));
    SPANFFT_TRY(agree(comm, tile.status()));
    made->tile_ = std::move(tile).value();
    made->rounds_ = rounds_of(spec);

    const index_t elem = spec.blocks.elem_bytes, tiles = spec.tile_steps(), panels = spec.in.panels_per_matrix();
    const BlockGrid kept = spec.kept_blocks(spec.in.rank);
    for (const index_t panel : {index_t{0}, panels - 1}) {
        for (index_t t = 0; t < tiles; ++t) {
            const index_t step = panel * tiles + t, own = round_tile(spec, step, spec.in.rank).columns;
            std::vector<BytesPart> send, receive;
            for (int rank = 0; rank < spec.in.ranks; ++rank) {
                const index_t theirs = round_tile(spec, step, rank).columns;
                send.push_back({rank * spec.rows_a_rank * own * elem, spec.kept_blocks(rank).rows * own * elem});
                receive.push_back({rank * kept.column_tile_pitch_bytes(), kept.rows * theirs * elem});
            }
            auto transfer = comm.make_alltoallv(send, receive, Issue::blocking);
            SPANFFT_TRY(agree(comm, transfer.status()));
            made->transfers_.push_back(std::move(transfer).value());
        }
    }
    return made;
}

Transfer& BlockExchange::transfer_of(index_t step) const {
    const index_t tiles = spec_.tile_steps();
    const index_t at = step % tiles + (in_last_panel(spec_, step) ? tiles : 0);
    return *transfers_[static_cast<size_t>(at)];
}

void BlockExchange::begin(index_t first_step) {
    before_ = *group_.counts;
    rounds_done_ = first_step;
    all_know_ = false;
}

Status BlockExchange::round(index_t step, char* slot) {
    const Status known = agree(*group_.comm, Status());
    if (!known.ok()) {
        all_know_ = true;
        return known;
    }
    ++rounds_done_;
    Transfer& transfer = transfer_of(step);
    SPANFFT_TRY(transfer.start(tile_.data(), slot));
    return transfer.finish();
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
