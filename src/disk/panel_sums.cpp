// Adding up, comparing, and saying what differs; see panel_sums.hpp.
#include "disk/panel_sums.hpp"

#include <algorithm>
#include <cassert>

#include "disk/pipeline.hpp"

namespace spanfft {

namespace {

index_t groups_for(const Partition& writer, const Partition& reader, index_t max_cells) {
    const index_t panels = std::max<index_t>(1, writer.of_all() ? writer.ids() : writer.panels.panels());
    return std::clamp<index_t>(max_cells / std::max<index_t>(1, reader.ids()), 1, panels);
}

size_t count(index_t value) { return static_cast<size_t>(value); }

}  // namespace

PanelSums::PanelSums(const Partition& writer, const Partition& reader, index_t max_cells, int members)
    : writer_of_(writer),
      reader_of_(reader),
      writer_(writer_of_.partition()),
      reader_(reader_of_.partition()),
      ids_(reader.ids()),
      groups_(groups_for(writer, reader, max_cells)),
      members_(members),
      cells_(count(ids_ * groups_)),
      pending_(count(kMaxSlots * ids_)),
      written_(count(members * ids_)),
      read_(count(members * 2 * groups_)) {}

index_t PanelSums::bytes(const Partition& writer, const Partition& reader, index_t max_cells, int members) {
    const index_t ids = reader.ids(), groups = groups_for(writer, reader, max_cells);
    const index_t shared = reader.of_all() ? 2 * ids * groups : 0;  // what is sent, at most, and what comes
    return (ids * (groups + kMaxSlots + members) + members * 2 * groups + shared) *
               static_cast<index_t>(sizeof(uint64_t)) +
           PanelFinder::bytes(writer) + PanelFinder::bytes(reader);
}

template <class Each>
void PanelSums::each(const Run& run, Each each) const {
    each_piece(run, std::array{&writer_of_, &reader_of_}, [&](const SummedPiece& piece, const auto& parts) {
        each(piece, writer_.panel_of(parts[0].id), parts[1]);
    });
}

void PanelSums::add_written(int member, const Run& run) {
    uint64_t* const sums = written_.data() + member * ids_;
    each(run,
         [&](const SummedPiece& piece, index_t, const Partition::Part& reader) { sums[reader.id] += piece.sum(); });
}

void PanelSums::end_written(index_t panel) {
    uint64_t* const pending = pending_.data() + panel % kMaxSlots * ids_;
    for (index_t id = 0; id < ids_; ++id) {
        pending[id] = 0;
        for (int member = 0; member < members_; ++member) {
            uint64_t& sum = written_[count(member * ids_ + id)];
            pending[id] += sum;
            sum = 0;
        }
    }
}

void PanelSums::settle(index_t panel) {
    const index_t group = group_of_panel(panel);
    for (index_t id = 0; id < ids_; ++id) cell(id, group) += pending_[count(panel % kMaxSlots * ids_ + id)];
}

// Every rank has as many ids of its own, side by side. One rank after the other gets what all have of its ids: sums
// are not data, whose messages plans predict, and all of them at once would take as much memory on each rank.
Status PanelSums::share(int ranks, int rank, const Allgather& allgather) {
    const index_t each_rank = ids_ / ranks, cells = each_rank * groups_;
    std::vector<uint64_t> mine(count(cells)), all(count(ranks * cells));
    for (int owner = 0; owner < ranks; ++owner) {
        for (index_t group = 0; group < groups_; ++group)
            std::copy_n(&cell(owner * each_rank, group), each_rank, &mine[count(group * each_rank)]);
        SPANFFT_TRY(allgather(mine.data(), mine.size() * sizeof(uint64_t), all.data()));
        if (owner != rank) continue;
        for (index_t i = 0; i < cells; ++i) {
            uint64_t& total = cell(owner * each_rank + i % each_rank, i / each_rank);
            total = 0;
            for (index_t from = 0; from < ranks; ++from) total += all[count(from * cells + i)];
        }
    }
    return {};
}

void PanelSums::add_read(int member, index_t panel, index_t i, const Run& run) {
    uint64_t* const sums = read_.data() + member * 2 * groups_;
    const index_t twins = reader_.of_all() ? ids_ : reader_.panels.panels();
    each(run, [&](const SummedPiece& piece, index_t writer, const Partition::Part& reader) {
        if (!reader_.has(panel, i, reader)) return;
        sums[(reader.id >= twins ? groups_ : 0) + group_of(writer)] += piece.sum();
    });
}

Status PanelSums::check(index_t panel, Store& store, const std::function<void(const EachRun&)>& runs) {
    index_t bad_group = -1, bad_id = -1;
    for (int which = 0; which < (reader_.twins() ? 2 : 1); ++which) {
        const index_t id = which == 0 ? reader_.first_id() + panel
                                      : reader_.panels.panels() + panel % reader_.panels.panels_per_matrix();
        for (index_t group = 0; group < groups_; ++group) {
            uint64_t sum = 0;
            for (int member = 0; member < members_; ++member) {
                uint64_t& part = read_[count((member * 2 + which) * groups_ + group)];
                sum += part;
                part = 0;
            }
            if (sum != cell(id, group) && bad_group < 0) bad_group = group, bad_id = id;
        }
    }
    if (bad_group < 0) return {};
    index_t first = -1, end = 0;
    runs([&](const Run& run) {
        each(run, [&](const SummedPiece& piece, index_t writer, const Partition::Part& reader) {
            if (reader.id != bad_id || group_of(writer) != bad_group) return;
            if (first < 0 || piece.offset_bytes < first) first = piece.offset_bytes;
            end = std::max(end, piece.offset_bytes + piece.bytes);
        });
    });
    return error(Code::corrupt_data, "panel ", panel, " of ", reader_.panels.panels(),
                 " reads other bytes than were written: the checksum of what it has between byte ", first, " and ", end,
                 " of ", store.describe_range(first, end), " is wrong; the disk or the memory is at fault");
}

std::string PanelSums::snapshot(index_t first_panel, index_t end_panel) const {
    if (first_panel >= end_panel) return "0 0 ";
    const index_t first = group_of_panel(first_panel), end = group_of_panel(end_panel - 1) + 1;
    std::string text = cat(first, " ", end, " ");
    text.reserve(text.size() + count(16 * (end - first) * ids_));
    for (index_t i = first * ids_; i < end * ids_; ++i) text += hex_of(cells_[count(i)]);
    return text;
}

Status PanelSums::restore(const std::string& snapshot) {
    TextReader in(snapshot);
    index_t first = 0, end = 0;
    std::string hex;
    in >> first >> end;
    if (!in || first < 0 || end > groups_ || first > end) return error(Code::corrupt_data, "no range of sums");
    in >> hex;
    if (hex.size() != count(16 * (end - first) * ids_)) return error(Code::corrupt_data, "not as many sums as panels");
    for (index_t i = first * ids_; i < end * ids_; ++i) {
        if (!parse_hex(hex.substr(count(16 * (i - first * ids_)), 16), cells_[count(i)]))
            return error(Code::corrupt_data, "sums that are no numbers");
    }
    return {};
}

void PanelSums::clear() {
    for (auto* sums : {&cells_, &pending_, &written_, &read_}) std::fill(sums->begin(), sums->end(), 0);
}

}  // namespace spanfft
