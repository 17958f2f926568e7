// Pieces, packs and sums; see halo.hpp.
#include "exec/halo.hpp"

#include <algorithm>
#include <cstring>

#include "comm/counted_comm.hpp"
#include "comm/strided_copy.hpp"

namespace spanfft {

namespace {

// A piece of an extended axis that an owner has: where it begins in either.
struct AxisPiece {
    index_t in_extended = 0, in_part = 0, count = 0;
};

index_t floor_div(index_t a, index_t b) { return a >= 0 ? a / b : -ceil_div(-a, b); }

// Where an extended axis of n indices meets the owner's range in any period.
std::vector<AxisPiece> pieces_of_axis(const AxisRange& extended, index_t n, const AxisRange& owner) {
    std::vector<AxisPiece> found;
    const index_t end = extended.start + extended.count;
    for (index_t period = floor_div(extended.start, n); period * n < end; ++period) {
        const index_t begin = period * n + owner.start;
        const index_t first = std::max(extended.start, begin), stop = std::min(end, begin + owner.count);
        if (first < stop) found.push_back({first - extended.start, first - begin, stop - first});
    }
    return found;
}

// target += source over parts of one shape whose last axis is contiguous, or with a run of bytes for the source.
template <class T>
class Adder {
  public:
    Adder(const StridedPart& source, bool source_is_run, const StridedPart& target)
        : source_(source), source_is_run_(source_is_run), target_(target) {}

    void add(const void* source, void* target) {
        from_ = static_cast<const char*>(source) + (source_is_run_ ? 0 : source_.offset_bytes);
        level(0, 0, static_cast<char*>(target) + target_.offset_bytes);
    }

  private:
    void level(size_t dim, index_t from, char* to) {
        const StridedDim& loop = target_.dims[dim];
        if (dim + 1 == target_.dims.size()) {
            const auto reals = loop.count * target_.elem_bytes / static_cast<index_t>(sizeof(T));
            const auto* x = reinterpret_cast<const T*>(from_ + (source_is_run_ ? run_ : from));
            auto* y = reinterpret_cast<T*>(to);
            for (index_t i = 0; i < reals; ++i) y[i] += x[i];
            run_ += loop.count * target_.elem_bytes;
            return;
        }
        for (index_t i = 0; i < loop.count; ++i, to += loop.stride_bytes)
            level(dim + 1, source_is_run_ ? 0 : from + i * source_.dims[dim].stride_bytes, to);
    }

    const StridedPart& source_;
    const bool source_is_run_;
    const StridedPart& target_;
    const char* from_ = nullptr;
    index_t run_ = 0;  // bytes of the run that were added
};

// Returns the bytes that it read and wrote.
index_t add_part(Precision precision, const StridedPart& source_part, bool source_is_run, const void* source,
                 const StridedPart& target_part, void* target) {
    with_real(precision,
              [&](auto real) { Adder<decltype(real)>(source_part, source_is_run, target_part).add(source, target); });
    return 3 * target_part.bytes();
}

}  // namespace

Halo::Halo(ArrayState array, std::vector<HaloWidth> widths, std::unique_ptr<Comm> comm,
           std::shared_ptr<SharedWindow> window)
    : array_(std::move(array)),
      widths_(std::move(widths)),
      sent_(std::make_shared<Counts>()),
      window_(std::move(window)),
      part_(array_.layout.patch(comm->rank())),
      extended_(extended_of(comm->rank())),
      part_bytes_(array_.local_bytes(comm->rank())) {
    comm_ = make_counted_comm(std::move(comm), sent_);
}

// A part without elements has no surroundings either.
Patch Halo::extended_of(int rank) const {
    Patch patch = array_.layout.patch(rank);
    const bool empty = patch_elems(patch) == 0;
    for (size_t axis = 0; axis < patch.size(); ++axis) {
        AxisRange& range = patch[axis];
        range = empty ? AxisRange{range.start, 0, 1}
                      : AxisRange{range.start - widths_[axis].before,
                                  range.count + widths_[axis].before + widths_[axis].after, 1};
    }
    return patch;
}

// In one order, whichever of the two ranks asks.
std::vector<Halo::Block> Halo::blocks(int extended_rank, int owner) const {
    const Patch extended = extended_of(extended_rank), part = array_.layout.patch(owner);
    const Extents extended_strides = row_major_strides(patch_shape(extended)),
                  part_strides = row_major_strides(patch_shape(part));
    const Block start{{0, {}, elem_bytes()}, {0, {}, elem_bytes()}};
    std::vector<Block> found{start};
    for (size_t axis = 0; axis < part.size(); ++axis) {
        std::vector<Block> next;
        for (const Block& block : found) {
            for (const AxisPiece& piece : pieces_of_axis(extended[axis], array_.layout.shape()[axis], part[axis])) {
                next.push_back(block);
                const auto add = [&](StridedPart& side, index_t first, index_t stride) {
                    side.offset_bytes += first * stride * elem_bytes();
                    side.dims.push_back({piece.count, stride * elem_bytes()});
                };
                add(next.back().extended, piece.in_extended, extended_strides[axis]);
                add(next.back().part, piece.in_part, part_strides[axis]);
            }
        }
        found = std::move(next);
    }
    return found;
}

Halo::Packed Halo::packed(const BlocksByRank& blocks) {
    Packed packed;
    for (const auto& of_rank : blocks) {
        index_t bytes = 0;
        for (const Block& block : of_rank) bytes += block.part.bytes();
        packed.of_rank.push_back({packed.bytes, bytes});
        packed.bytes += bytes;
    }
    return packed;
}

Status Halo::allocate() {
    const int me = comm_->rank();
    own_ = blocks(me, me);
    for (int rank = 0; rank < comm_->size(); ++rank) {
        inner_.push_back(rank == me ? std::vector<Block>() : blocks(me, rank));
        outer_.push_back(rank == me ? std::vector<Block>() : blocks(rank, me));
    }
    in_halo_ = packed(inner_);
    in_part_ = packed(outer_);
    if (window_) return {};  // packed into another window, which all make together
    const auto most = static_cast<size_t>(std::max(in_halo_.bytes, in_part_.bytes));
    SPANFFT_ASSIGN(outgoing_, Buffer::allocate(most));
    SPANFFT_ASSIGN(incoming_, Buffer::allocate(most));
    return {};
}

// Collective. Each rank tells where in its pack every other finds what is for it.
Status Halo::make_pack_window() {
    auto made = comm_->make_window(std::max(in_halo_.bytes, in_part_.bytes));
    SPANFFT_TRY(agree(*comm_, made.status()));
    packs_ = std::move(made).value();
    const auto ranks = static_cast<size_t>(comm_->size()), me = static_cast<size_t>(comm_->rank());
    std::vector<index_t> mine(ranks), all(ranks * ranks);
    for (const auto& [packed, places] : {std::pair(&in_part_, &halo_places_), std::pair(&in_halo_, &part_places_)}) {
        for (size_t rank = 0; rank < ranks; ++rank) mine[rank] = packed->of_rank[rank].offset_bytes;
        SPANFFT_TRY(comm_->allgather(mine.data(), ranks * sizeof(index_t), all.data()));
        for (size_t rank = 0; rank < ranks; ++rank) places->push_back(all[rank * ranks + me]);
    }
    return {};
}

Result<std::unique_ptr<Halo>> Halo::make(ArrayState array, std::vector<HaloWidth> widths, std::unique_ptr<Comm> comm,
                                         std::shared_ptr<SharedWindow> window) {
    if (comm->size() == 1) window = nullptr;
    std::unique_ptr<Halo> halo(new Halo(std::move(array), std::move(widths), std::move(comm), std::move(window)));
    SPANFFT_TRY(agree(*halo->comm_, halo->allocate()));
    if (halo->comm_->size() == 1) return halo;
    if (halo->window_) {
        SPANFFT_TRY(halo->make_pack_window());
        return halo;
    }
    auto to_halo = halo->comm_->make_alltoallv(halo->in_part_.of_rank, halo->in_halo_.of_rank);
    SPANFFT_TRY(agree(*halo->comm_, to_halo.status()));
    halo->to_halo_ = std::move(to_halo).value();
    auto to_part = halo->comm_->make_alltoallv(halo->in_halo_.of_rank, halo->in_part_.of_rank);
    SPANFFT_TRY(agree(*halo->comm_, to_part.status()));
    halo->to_part_ = std::move(to_part).value();
    return halo;
}

// Collective. All ranks go on, or none.
Status Halo::begin(const void* in, index_t in_bytes, const void* out, index_t out_bytes, const Status& ready) {
    Status status = ready;
    const auto *a = static_cast<const char*>(in), *b = static_cast<const char*>(out);
    if (status.ok() && in_bytes && !in)
        status = error(Code::invalid_argument, "the array to read is NULL, but it has ", in_bytes, " bytes");
    if (status.ok() && out_bytes && !out)
        status = error(Code::invalid_argument, "the array to write is NULL, but it has ", out_bytes, " bytes");
    if (status.ok() && in_bytes && out_bytes && a < b + out_bytes && b < a + in_bytes)
        status = error(Code::invalid_argument, "the part and the extended part overlap; use two arrays");
    counted_.reset();
    moved_bytes_ = 0;
    *sent_ = Counts();
    return agree(*comm_, status);
}

// Collective. Whether every rank's part is the one in the window.
Result<bool> Halo::all_in_window(const void* part) {
    if (!window_) return false;
    const int elsewhere = part_bytes_ > 0 && part != window_->part(comm_->rank());
    std::vector<int>& all = comm_->codes();
    SPANFFT_TRY(comm_->allgather(&elsewhere, sizeof elsewhere, all.data()));
    return std::none_of(all.begin(), all.end(), [](int there) { return there != 0; });
}

void Halo::pack(const BlocksByRank& blocks, StridedPart Block::* side, const void* array) {
    char* run = packs_ ? static_cast<char*>(packs_->part(comm_->rank())) : outgoing_.as<char>();
    for (const auto& of_rank : blocks) {
        for (const Block& block : of_rank) {
            const index_t bytes = gather_strided(block.*side, array, run);
            moved_bytes_ += 2 * bytes;
            run += bytes;
        }
    }
}

// What was packed goes to its ranks, and what they have packed is given to visit(block, run) for each of `blocks`.
template <class Visit>
Status Halo::deliver(Transfer* transfer, const Packed& incoming, const std::vector<index_t>& places,
                     const BlocksByRank& blocks, const Visit& visit) {
    if (packs_) {
        SPANFFT_TRY(packs_->barrier());
    } else if (transfer) {
        SPANFFT_TRY(transfer->start(outgoing_.data(), incoming_.data()));
        SPANFFT_TRY(transfer->finish());
    }
    for (size_t rank = 0; rank < blocks.size(); ++rank) {
        const char* run = packs_ ? static_cast<const char*>(packs_->part(static_cast<int>(rank))) + places[rank]
                                 : incoming_.as<const char>() + incoming.of_rank[rank].offset_bytes;
        for (const Block& block : blocks[rank]) {
            visit(block, run);
            run += block.part.bytes();
        }
    }
    return packs_ ? packs_->barrier() : Status();
}

Status Halo::exchange(const void* part, void* extended, const Status& ready) {
    SPANFFT_TRY(begin(part, part_bytes_, extended, extended_bytes(), ready));
    SPANFFT_ASSIGN(const bool direct, all_in_window(part));
    for (const Block& block : own_) moved_bytes_ += 2 * copy_strided(block.part, part, block.extended, extended);
    if (direct) {
        SPANFFT_TRY(window_->barrier());
        for (size_t rank = 0; rank < inner_.size(); ++rank) {
            for (const Block& block : inner_[rank])
                moved_bytes_ +=
                    2 * copy_strided(block.part, window_->part(static_cast<int>(rank)), block.extended, extended);
        }
        SPANFFT_TRY(window_->barrier());
    } else {
        pack(outer_, &Block::part, part);
        SPANFFT_TRY(deliver(to_halo_.get(), in_halo_, halo_places_, inner_, [&](const Block& block, const char* run) {
            moved_bytes_ += 2 * scatter_strided(run, block.extended, extended);
        }));
    }
    return finish();
}

Status Halo::add(const void* extended, void* part, const Status& ready) {
    SPANFFT_TRY(begin(extended, extended_bytes(), part, part_bytes_, ready));
    if (part_bytes_ > 0) std::memset(part, 0, static_cast<size_t>(part_bytes_));
    moved_bytes_ += part_bytes_;
    for (const Block& block : own_)
        moved_bytes_ += add_part(array_.elem.precision, block.extended, false, extended, block.part, part);
    pack(inner_, &Block::extended, extended);
    SPANFFT_TRY(deliver(to_part_.get(), in_part_, part_places_, outer_, [&](const Block& block, const char* run) {
        moved_bytes_ += add_part(array_.elem.precision, block.part, true, run, block.part, part);
    }));
    return finish();
}

Status Halo::finish() {
    counted_ = *sent_;
    counted_->memory_bytes = moved_bytes_;
    return Status();
}

index_t Halo::own_bytes() const {
    index_t bytes = 0;
    for (const Block& block : own_) bytes += block.part.bytes();
    return bytes;
}

Counts Halo::predict_messages(const Packed& outgoing) const {
    Counts counts;
    if (comm_->size() == 1 || packs_) return counts;
    counts.calls = 1;
    counts.sent_bytes = outgoing.bytes;
    for (const BytesPart& part : outgoing.of_rank) counts.messages += part.bytes > 0;
    return counts;
}

Counts Halo::predict_exchange(bool in_window) const {
    const bool direct = in_window && window_;
    Counts counts = direct ? Counts() : predict_messages(in_part_);
    counts.memory_bytes = 2 * (own_bytes() + in_halo_.bytes + (direct ? 0 : in_part_.bytes));
    return counts;
}

Counts Halo::predict_add() const {
    Counts counts = predict_messages(in_halo_);
    counts.memory_bytes = part_bytes_ + 3 * (own_bytes() + in_part_.bytes) + 2 * in_halo_.bytes;
    return counts;
}

}  // namespace spanfft
