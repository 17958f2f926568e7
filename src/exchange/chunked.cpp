// Exchanges chunk by chunk; see chunked.hpp.
#include "exchange/chunked.hpp"

#include <algorithm>
#include <map>

#include "comm/strided_copy.hpp"
#include "core/buffer.hpp"
#include "exchange/call_thread.hpp"
#include "exchange/packing.hpp"

namespace spanfft {

const char* const kPlanesHelp = "planes a message: 1 (default), 2, ... or all";

namespace {

bool returns_at_once(Carrier carrier) {
    return carrier == Carrier::collective_later || carrier == Carrier::collective_by_thread ||
           carrier == Carrier::pairs_later;
}

bool in_pairs(Carrier carrier) {
    return carrier == Carrier::pairs || carrier == Carrier::pairs_replace || carrier == Carrier::pairs_later;
}

struct Sides {
    PackedSide send, receive;
};

void put_at(PackedSide& side, size_t part, index_t offset) {
    side.wire[part].offset_bytes = offset;
    side.packed_parts[part].offset_bytes = offset;
}

// What is sent is replaced by what comes: both have the same place in one buffer, as large as the larger of the two.
void share_places(Sides& sides, index_t first_byte) {
    index_t end = first_byte;
    for (size_t i = 0; i < sides.send.wire.size(); ++i) {
        put_at(sides.send, i, end);
        put_at(sides.receive, i, end);
        end += std::max(sides.send.wire[i].bytes, sides.receive.wire[i].bytes);
    }
    sides.send.buffer_bytes = end - first_byte;
    sides.receive.buffer_bytes = 0;
}

Sides sides_of(const ExchangeSpec& spec, int rank, const Chunking& chunking, Carrier carrier, int chunk,
               index_t send_at = 0, index_t receive_at = 0) {
    const Packing packing = carrier == Carrier::pairs_replace ? Packing::always : Packing::where_needed;
    const auto sent = chunk_to_send(chunking, spec, rank, chunk);
    Sides sides;
    sides.send = make_side(sent, spec.from.patch(rank), spec.elem_bytes, rank, packing, send_at);
    sides.receive = make_side(chunk_to_receive(chunking, spec, rank, chunk), spec.to.patch(rank), spec.elem_bytes, rank,
                              packing, receive_at);
    if (carrier == Carrier::pairs_replace) share_places(sides, send_at);
    return sides;
}

std::vector<PairParts> pairs_of(const Sides& sides, Carrier carrier, int me) {
    std::vector<PairParts> pairs;
    for (int peer : pair_rounds(me, static_cast<int>(sides.send.wire.size()))) {
        PairParts pair{peer, sides.send.wire[static_cast<size_t>(peer)], sides.receive.wire[static_cast<size_t>(peer)]};
        if (carrier == Carrier::pairs_replace)
            pair.send.bytes = pair.receive.bytes = std::max(pair.send.bytes, pair.receive.bytes);
        if (pair.send.bytes || pair.receive.bytes) pairs.push_back(pair);
    }
    return pairs;
}

class ChunkedExchange final : public Exchange {
  public:
    ChunkedExchange(const ExchangeBinding& binding, const Chunking& chunking, Carrier carrier)
        : carrier_(carrier), self_(static_cast<size_t>(binding.comm.rank())), trace_(binding.trace) {
        const bool own_buffers = returns_at_once(carrier);
        for (int chunk = 0; chunk < chunking.chunks; ++chunk) {
            chunks_.push_back(sides_of(binding.spec, binding.rank, chunking, carrier, chunk,
                                       own_buffers ? send_bytes_ : 0, own_buffers ? receive_bytes_ : 0));
            const index_t sent = chunks_.back().send.buffer_bytes, received = chunks_.back().receive.buffer_bytes;
            send_bytes_ = own_buffers ? send_bytes_ + sent : std::max(send_bytes_, sent);
            receive_bytes_ = own_buffers ? receive_bytes_ + received : std::max(receive_bytes_, received);
        }
    }
    // What one rank alone may fail at.
    Status allocate(Comm& comm) {
        SPANFFT_ASSIGN(send_buffer_, Buffer::allocate(static_cast<size_t>(send_bytes_)));
        SPANFFT_ASSIGN(receive_buffer_, Buffer::allocate(static_cast<size_t>(receive_bytes_)));
        if (carrier_ != Carrier::collective_by_thread) return Status();
        if (!comm.calls_from_threads()) {
            return error(Code::unsupported,
                         "a communication thread needs MPI_THREAD_SERIALIZED, but MPI was started with less; start it "
                         "by MPI_Init_thread, or leave ',thread' out of exchange=blockvector");
        }
        SPANFFT_ASSIGN(thread_, CallThread::start([this](int chunk) { return carry(static_cast<size_t>(chunk)); }));
        return Status();
    }
    // Collective: all chunks are made, even after one of them has failed here.
    Status make_transfers(Comm& comm) {
        Status first;
        for (const Sides& sides : chunks_) {
            auto made = make_transfer(comm, sides);
            if (!made.ok() && first.ok()) first = made.status();
            transfers_.push_back(made.ok() ? std::move(made).value() : nullptr);
        }
        return first;
    }

    int chunks() const override { return static_cast<int>(chunks_.size()); }

    Status start(int chunk, const void* source, void* target) override {
        const auto i = static_cast<size_t>(chunk);
        const Sides& sides = chunks_[i];
        if (chunk == 0) {  // the same for all chunks; a thread may be reading them later
            source_ = source;
            target_ = target;
        }
        copied(pack(sides.send, source, send_buffer_.data()));
        Status status;
        if (thread_) {
            thread_->submit(chunk);
        } else if (returns_at_once(carrier_)) {
            status = begin(i);
        } else {
            status = carry(i);
            copied(unpack(sides.receive, received(), target));
        }
        copied(copy_strided(sides.send.parts[self_], source, sides.receive.parts[self_], target));  // meanwhile
        return status;
    }

    Status finish(int chunk) override {
        if (!returns_at_once(carrier_)) return Status();
        const auto i = static_cast<size_t>(chunk);
        const Status status = thread_ ? wait_for_thread(chunk) : transfers_[i]->finish();
        copied(unpack(chunks_[i].receive, received(), target_));
        return status;
    }

  private:
    Result<std::unique_ptr<Transfer>> make_transfer(Comm& comm, const Sides& sides) const {
        switch (carrier_) {
            case Carrier::collective_later:
                return comm.make_alltoallv(sides.send.wire, sides.receive.wire, Issue::nonblocking);
            case Carrier::collective:
            case Carrier::collective_by_thread:
                return comm.make_alltoallv(sides.send.wire, sides.receive.wire, Issue::blocking);
            default:
                break;
        }
        const Pairing pairing = carrier_ == Carrier::pairs           ? Pairing::ordered
                                : carrier_ == Carrier::pairs_replace ? Pairing::replace
                                                                     : Pairing::nonblocking;
        return comm.make_pairs(pairs_of(sides, carrier_, static_cast<int>(self_)), pairing);
    }
    Status wait_for_thread(int chunk) {
        const TraceScope scope(trace_ ? trace_->now : nullptr, "wait for thread", TraceCategory::wait);
        return thread_->wait(chunk);
    }
    const void* received() const {
        return carrier_ == Carrier::pairs_replace ? send_buffer_.data() : receive_buffer_.data();
    }
    Status begin(size_t chunk) {
        const Sides& sides = chunks_[chunk];
        const void* from = sides.send.packed ? send_buffer_.data() : source_;
        void* to = sides.receive.packed ? receive_buffer_.data() : target_;
        return transfers_[chunk]->start(from, carrier_ == Carrier::pairs_replace ? send_buffer_.data() : to);
    }
    Status carry(size_t chunk) {
        const Status started = begin(chunk), finished = transfers_[chunk]->finish();
        return started.ok() ? finished : started;
    }

    Carrier carrier_;
    size_t self_;  // position of this rank in the group
    std::shared_ptr<TraceSwitch> trace_;
    std::vector<Sides> chunks_;
    index_t send_bytes_ = 0, receive_bytes_ = 0;
    Buffer send_buffer_, receive_buffer_;
    const void* source_ = nullptr;
    void* target_ = nullptr;
    std::vector<std::unique_ptr<Transfer>> transfers_;
    std::unique_ptr<CallThread> thread_;  // last: it ends before what it uses
};

// A chunk and how many there are like it: with as many rows on every rank of the group. Where a rank's part of the
// target does not hold all of the chunk axis, chunks differ in where they lie too, and each is its own kind.
struct Kind {
    int chunk = 0;
    index_t times = 0;
};

// The different numbers of rows that ranks of the group have.
std::vector<index_t> row_counts(const ExchangeSpec& spec, int rank, const Chunking& chunking) {
    const auto axis = static_cast<size_t>(chunking.axis);
    std::vector<index_t> counts;
    const auto add = [&](int peer) {
        const index_t count = spec.from.patch(peer)[axis].count;
        if (std::find(counts.begin(), counts.end(), count) == counts.end()) counts.push_back(count);
    };
    if (spec.from.has_grid() && spec.to.has_grid()) {
        const RankClasses classes({&spec.from});
        for (int like : classes.representatives()) add(like);
    } else {
        for (int peer : exchange_group(spec.from, spec.to, rank)) add(peer);
    }
    return counts;
}

std::vector<Kind> kinds_of_chunks(const ExchangeSpec& spec, int rank, const Chunking& chunking) {
    const bool alike = spec.to.is_whole(chunking.axis);
    const auto rows = row_counts(spec, rank, chunking);
    std::vector<Kind> kinds;
    std::map<std::vector<index_t>, size_t> seen;
    for (int chunk = 0; chunk < chunking.chunks; ++chunk) {
        std::vector<index_t> counts;
        for (const index_t count : rows) counts.push_back(chunk_row_count(chunking, count, chunk));
        const auto [at, is_new] = seen.emplace(counts, kinds.size());
        if (is_new || !alike) {
            kinds.push_back({chunk, 1});
        } else {
            ++kinds[at->second].times;
        }
    }
    return kinds;
}

PartSums sum_chunk(const ExchangeSpec& spec, int rank, const Chunking& chunking, Carrier carrier, int chunk) {
    const Packing packing = carrier == Carrier::pairs_replace ? Packing::always : Packing::where_needed;
    const int apart = spec.to.is_whole(chunking.axis) ? -1 : chunking.axis;
    return sum_parts(
        spec, rank, packing, chunk_patch(chunking, spec, rank, chunk),
        [&](int peer) { return chunk_patch(chunking, spec, peer, chunk); }, apart);
}

}  // namespace

Result<std::unique_ptr<Exchange>> bind_chunked(const ExchangeBinding& binding, const Chunking& chunking,
                                               Carrier carrier) {
    auto exchange = std::make_unique<ChunkedExchange>(binding, chunking, carrier);
    SPANFFT_TRY(agree(binding.comm, exchange->allocate(binding.comm)));
    SPANFFT_TRY(exchange->make_transfers(binding.comm));
    return std::unique_ptr<Exchange>(std::move(exchange));
}

Counts predict_chunked(const ExchangeSpec& spec, int rank, const Chunking& chunking, Carrier carrier) {
    Counts total;
    for (const Kind& kind : kinds_of_chunks(spec, rank, chunking)) {
        const PartSums sums = sum_chunk(spec, rank, chunking, carrier, kind.chunk);
        const bool replaces = carrier == Carrier::pairs_replace;
        const index_t calls = !in_pairs(carrier) ? 1
                              : replaces         ? sums.pairs
                                                 : sums.send.messages + sums.receive.messages;
        total.messages += kind.times * (replaces ? sums.pairs : sums.send.messages);
        total.sent_bytes += kind.times * (replaces ? sums.larger_bytes : sums.send.bytes);
        total.calls += kind.times * calls;
        total.memory_bytes += kind.times * sums.copied_bytes();
    }
    return total;
}

index_t chunked_buffer_bytes(const ExchangeSpec& spec, int rank, const Chunking& chunking, Carrier carrier) {
    index_t send = 0, receive = 0;
    for (const Kind& kind : kinds_of_chunks(spec, rank, chunking)) {
        const PartSums sums = sum_chunk(spec, rank, chunking, carrier, kind.chunk);
        const bool replaces = carrier == Carrier::pairs_replace;
        const index_t sent = replaces ? sums.larger_bytes : sums.send.buffer_bytes();
        const index_t received = replaces ? 0 : sums.receive.buffer_bytes();
        send = returns_at_once(carrier) ? send + kind.times * sent : std::max(send, sent);
        receive = returns_at_once(carrier) ? receive + kind.times * received : std::max(receive, received);
    }
    return send + receive;
}

Result<index_t> planes_parameter(const ExchangeSpec& spec) {
    if (spec.parameter == "all") return index_t{0};
    return positive_parameter(spec, "planes (or 'all')", 1);
}

Status check_planes(const ExchangeSpec& spec) { return planes_parameter(spec).status(); }

Chunking chunks_of_planes(const ExchangeSpec& spec, int rank) {
    return chunks_of_rows(spec, rank, planes_parameter(spec).value());
}

int count_planes_chunks(const ExchangeSpec& spec, int rank) { return chunks_of_planes(spec, rank).chunks; }

AxisRange rows_of_planes(const ExchangeSpec& spec, int rank, int chunk) {
    return chunk_rows(chunks_of_planes(spec, rank), spec, rank, chunk);
}

std::vector<std::string> planes_candidates(const ExchangeSpec& spec) {
    const index_t all = chunks_of_rows(spec, 0, 1).chunks;
    std::vector<std::string> texts{""};
    for (const index_t planes : {all / 8, all / 4}) {
        if (planes > 1 && std::to_string(planes) != texts.back()) texts.push_back(std::to_string(planes));
    }
    if (all > 1) texts.push_back("all");
    return texts;
}

std::vector<int> pair_rounds(int me, int ranks) {
    std::vector<int> peers;
    for (int round = 0; round < ranks; ++round) {
        const int peer = (round - me + ranks) % ranks;
        if (peer != me) peers.push_back(peer);
    }
    return peers;
}

}  // namespace spanfft
