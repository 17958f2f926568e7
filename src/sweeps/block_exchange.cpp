// Rounds of tiles among ranks; see block_exchange.hpp.
#include "sweeps/block_exchange.hpp"

#include <algorithm>

namespace spanfft {

namespace {

index_t rounds_of(const SweepSpec& spec) { return spec.exchanges() ? spec.in.panels() * spec.tile_steps() : 0; }
index_t takes_of(const SweepSpec& spec) { return spec.reads_together ? spec.in.panels() : 0; }

index_t width_of(const SweepSpec& spec, index_t panel, int rank) {
    ColumnPanels panels = spec.in;
    panels.rank = rank;
    return panels.group(panel, 0).width;
}

void count_takes(const SweepSpec& spec, Counts& counts) {
    if (!spec.reads_together) return;
    counts.calls += takes_of(spec);
    const index_t panels = spec.in.panels_per_matrix(), rows = spec.rows_of(spec.in.rank);
    for (const index_t panel : {index_t{0}, panels - 1}) {
        const index_t times = panel < panels - 1 ? panels - 1 : 1;
        for (int r = 0; r < spec.in.ranks; ++r) {
            const index_t width = r == spec.in.rank ? 0 : width_of(spec, panel, r);
            counts.messages += rows > 0 && width > 0 ? times : 0;
            counts.sent_bytes += times * rows * width * spec.in.elem_bytes;
        }
        if (panels == 1) break;
    }
}

// Sections are sent column by column of the next sweep's panels, then those that mirror them.
index_t calls_a_round(const SweepSpec& spec) { return spec.exchanges_sections() && spec.keepers.reflected ? 2 : 1; }

bool in_last_panel(const SweepSpec& spec, index_t step) {
    const index_t panels = spec.in.panels_per_matrix();
    return step / spec.tile_steps() % panels == panels - 1;
}

}  // namespace

RoundTile round_tile(const SweepSpec& spec, index_t step, int rank) {
    ColumnPanels panels = spec.in;
    panels.rank = rank;
    const index_t panel = step / spec.tile_steps(), begin = panels.first_column(panel);
    if (spec.exchanges_sections()) {
        const index_t sections = panels.group(panel, 0).width / spec.whole_section;
        const index_t tile = sections > 0 ? begin / panels.panel : 0;
        return {panel / panels.panels_per_matrix(), tile, sections};
    }
    if (!spec.writes_blocks()) return {panel / panels.panels_per_matrix(), 0, panels.group(panel, 0).width};
    const index_t end = begin + panels.group(panel, 0).width;
    const index_t first = begin + step % spec.tile_steps() * spec.blocks.tile_columns;
    const index_t columns = std::clamp<index_t>(end - first, 0, spec.blocks.tile_columns);
    return {panel / panels.panels_per_matrix(), columns > 0 ? spec.blocks.tile_at(first) : 0, columns};
}

KeptPart part_kept(const SweepSpec& spec, const RoundTile& tile, int rank) {
    if (spec.exchanges_sections()) {
        const ColumnPanels keepers = spec.keepers_of(rank);
        const index_t messages = tile.columns == 0 ? 0 : (keepers.own_group(0).width > 0) + (keepers.own_images() > 0);
        return {0, tile.columns * keepers.stored_row_elems() * spec.out.elem_bytes, tile.tile, messages};
    }
    if (tile.columns == 0 || spec.kept_by(rank) == 0) return {};
    const index_t elem = spec.exchanged_elem_bytes(), section = spec.blocks.shared_section;
    if (section == 0) {
        const index_t row_bytes = tile.columns * elem;
        return {spec.kept_before(rank) * row_bytes, spec.kept_by(rank) * row_bytes, tile.tile, 1};
    }
    // Columns that are this rank's of those of the tile, which is part of one section.
    const BlockGrid kept = spec.kept_blocks(rank);
    const index_t begin = spec.blocks.first_column(tile.tile) % section, end = begin + tile.columns;
    const index_t first = std::max(begin, kept.skipped), last = std::min(end, kept.skipped + kept.section);
    if (first >= last) return {};
    const index_t before = tile.tile / spec.blocks.tiles_per_section() * kept.section;
    return {(first - begin) * spec.blocks.rows * elem, (last - first) * spec.blocks.rows * elem,
            kept.tile_at(before + first - kept.skipped), 1};
}

Counts count_rounds(const SweepSpec& spec) {
    Counts counts;
    counts.calls = rounds_of(spec) * calls_a_round(spec);
    count_takes(spec, counts);
    if (!spec.exchanges()) return counts;
    const int rank = spec.in.rank;
    // Whole panels have as many tiles each, and the last one what it has.
    const index_t panels = spec.in.panels_per_matrix(), tiles = spec.tile_steps();
    for (const index_t panel : {index_t{0}, panels - 1}) {
        const index_t times = spec.in.outer * (panel < panels - 1 ? panels - 1 : 1);
        for (index_t t = 0; t < tiles; ++t) {
            const RoundTile tile = round_tile(spec, panel * tiles + t, rank);
            for (int r = 0; r < spec.in.ranks && tile.columns > 0; ++r) {
                if (r == rank) continue;
                const KeptPart part = part_kept(spec, tile, r);
                counts.messages += times * part.messages;
                counts.sent_bytes += times * part.bytes;
            }
        }
        if (panels == 1) break;
    }
    return counts;
}

Result<std::unique_ptr<BlockExchange>> BlockExchange::make(const SweepSpec& spec, Binding& binding) {
    std::unique_ptr<BlockExchange> made(new BlockExchange(spec));
    std::vector<int> everyone;
    for (int rank = 0; rank < spec.in.ranks; ++rank) everyone.push_back(rank);
    SPANFFT_ASSIGN(made->group_, binding.group(everyone));
    Comm& comm = *made->group_.comm;
    made->rounds_ = rounds_of(spec) + takes_of(spec);

    const index_t tiles = spec.exchanges() ? spec.tile_steps() : 0, panels = spec.in.panels_per_matrix();
    for (const index_t panel : {index_t{0}, panels - 1}) {
        if (spec.reads_together) {
            auto transfer = made->make_take(comm, panel);
            SPANFFT_TRY(agree(comm, transfer.status()));
            made->takes_.push_back(std::move(transfer).value());
        }
        for (index_t t = 0; t < tiles; ++t) {
            for (index_t call = 0; call < calls_a_round(spec); ++call) {
                auto transfer = made->make_transfer(comm, panel * tiles + t, static_cast<int>(call));
                SPANFFT_TRY(agree(comm, transfer.status()));
                made->transfers_.push_back(std::move(transfer).value());
            }
        }
    }
    return made;
}

Result<std::unique_ptr<Transfer>> BlockExchange::make_take(Comm& comm, index_t panel) const {
    const index_t elem = spec_.in.elem_bytes, own = width_of(spec_, panel, spec_.in.rank);
    const index_t pitch = spec_.together(spec_.in.rank).pitch_bytes(), rows = spec_.rows_of(spec_.in.rank);
    std::vector<StridedPart> send, receive;
    for (int rank = 0; rank < spec_.in.ranks; ++rank) {
        const index_t width = width_of(spec_, panel, rank), theirs = spec_.rows_of(rank);
        send.push_back({rank * spec_.in.panel * elem, {{width > 0 ? rows : 0, pitch}}, width * elem});
        receive.push_back({spec_.rows_before(rank) * own * elem, {{own > 0 ? theirs : 0, own * elem}}, own * elem});
    }
    return comm.make_alltoallw(send, receive, Issue::blocking);
}

Result<std::unique_ptr<Transfer>> BlockExchange::make_transfer(Comm& comm, index_t step, int call) const {
    const RoundTile own = round_tile(spec_, step, spec_.in.rank);
    if (!spec_.exchanges_sections()) {
        std::vector<BytesPart> send, receive;
        for (int rank = 0; rank < spec_.in.ranks; ++rank) {
            const KeptPart theirs = part_kept(spec_, own, rank);
            const KeptPart mine = part_kept(spec_, round_tile(spec_, step, rank), spec_.in.rank);
            send.push_back({theirs.begin_bytes, theirs.bytes});
            receive.push_back({spec_.place_bytes(rank), mine.bytes});
        }
        return comm.make_alltoallv(send, receive, Issue::blocking);
    }
    const index_t elem = spec_.out.elem_bytes;
    const auto part = [&](index_t begin_bytes, index_t sections, index_t section_elems, index_t columns) {
        return StridedPart{begin_bytes, {{columns > 0 ? sections : 0, section_elems * elem}}, columns * elem};
    };
    std::vector<StridedPart> send, receive;
    for (int rank = 0; rank < spec_.in.ranks; ++rank) {
        const auto theirs = spec_.keepers_of(rank).own_group(call), mine = spec_.keepers.own_group(call);
        const index_t place = spec_.place_bytes(rank) + spec_.keepers.stored_at(mine, call) * elem;
        send.push_back(part(theirs.first * elem, own.columns, spec_.keepers.row_elems, theirs.width));
        receive.push_back(
            part(place, round_tile(spec_, step, rank).columns, spec_.keepers.stored_row_elems(), mine.width));
    }
    return comm.make_alltoallw(send, receive, Issue::blocking);
}

index_t BlockExchange::first_transfer(index_t step) const {
    const index_t tiles = spec_.tile_steps();
    return (step % tiles + (in_last_panel(spec_, step) ? tiles : 0)) * calls_a_round(spec_);
}

void BlockExchange::begin(char* memory, index_t first_step) {
    memory_ = memory;
    before_ = *group_.counts;
    rounds_done_ = spec_.exchanges() ? first_step : 0;
    if (spec_.reads_together) rounds_done_ += first_step / spec_.tile_steps();
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
    Transfer& transfer = *takes_[panel % spec_.in.panels_per_matrix() == spec_.in.panels_per_matrix() - 1 ? 1 : 0];
    SPANFFT_TRY(transfer.start(rows, taken()));
    return transfer.finish();
}

Status BlockExchange::round(index_t step, char* slot) {
    SPANFFT_TRY(meet());
    Status status;  // where a call fails the next one is made all the same, as the others make it
    for (index_t call = 0; call < calls_a_round(spec_); ++call) {
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
