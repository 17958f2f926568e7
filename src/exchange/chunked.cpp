// Exchanges chunk by chunk; see chunked.hpp.
#include "exchange/chunked.hpp"

#include <algorithm>
#include <map>

#include "comm/strided_copy.hpp"
#include "core/buffer.hpp"
#include "exchange/call_thread.hpp"
#include "exchange/packing.hpp"

namespace spanfft {

// Of more, one a message is never tried: rows of a matrix that a line is seen as are many and short.
constexpr index_t kManyPlanes = 256;

const char* const kPlanesHelp = "planes a message: 1 (default), 2, ... or all";

namespace {

bool returns_at_once(Carrier carrier) {
    return carrier == Carrier::collective_later || carrier == Carrier::collective_by_thread ||
           carrier == Carrier::pairs_later;
}

bool in_pairs(Carrier carrier) {
    return carrier == Carrier::pairs || carrier == Carrier::pairs_replace || carrier == Carrier::pairs_later;
}

// What one peer and this rank exchange in all, on one side.
struct PeerPart {
    StridedPart whole;        // in the local array
    AxisRange rows;           // of it, along the chunk axis, by their places among the sender's rows
    index_t sender_rows = 0;  // that the sender has in all
};

std::vector<PeerPart> parts_sent(const ExchangeSpec& spec, int rank, int axis) {
    const Patch mine = spec.from.patch(rank);
    std::vector<PeerPart> parts;
    for (const Piece& piece : pieces_to_send(spec.from, spec.to, rank)) {
        parts.push_back({strided_part(piece, patch_shape(mine), spec.elem_bytes),
                         piece.local[static_cast<size_t>(axis)], mine[static_cast<size_t>(axis)].count});
    }
    return parts;
}

std::vector<PeerPart> parts_received(const ExchangeSpec& spec, int rank, int axis) {
    const Patch mine = spec.to.patch(rank);
    std::vector<PeerPart> parts;
    for (const Piece& piece : pieces_to_receive(spec.from, spec.to, rank)) {
        PeerPart part{strided_part(piece, patch_shape(mine), spec.elem_bytes), {0, 0, 1}, 0};
        if (part.whole.bytes() > 0) {
            const Patch theirs = spec.from.patch(piece.peer);
            part.rows = make_piece(rank, theirs, mine).local[static_cast<size_t>(axis)];
            part.sender_rows = theirs[static_cast<size_t>(axis)].count;
        }
        parts.push_back(std::move(part));
    }
    return parts;
}

// How many of a progression's indices are below a limit. Worked numbers: of 2, 5, 8 two are below 8, all below 9.
index_t count_below(const AxisRange& range, index_t limit) {
    return limit <= range.start ? 0 : std::min(range.count, ceil_div(limit - range.start, range.step));
}

// The part's rows that the sender has in a chunk, into `to`, whose memory is used again.
void restrict_part(const PeerPart& part, const Chunking& chunking, int chunk, StridedPart& to) {
    const AxisRange in_chunk = rows_in_chunk(chunking, part.sender_rows, chunk);
    const index_t begin = count_below(part.rows, in_chunk.start);
    to = part.whole;
    StridedDim& dim = to.dims[static_cast<size_t>(chunking.axis)];
    dim.count = count_below(part.rows, in_chunk.start + in_chunk.count) - begin;
    to.offset_bytes += begin * dim.stride_bytes;
}

// One side of a chunk: where its parts begin in the buffer, if they are packed there at all.
struct ChunkSide {
    bool packed = false;
    index_t first_byte = 0, bytes = 0;
};

struct Chunk {
    ChunkSide send, receive;
};

// A peer's parts of a chunk, and where they travel from and to.
struct PeerChunk {
    StridedPart send, receive;
    BytesPart send_wire, receive_wire;  // in the array or in the buffer; this rank's own are empty
};

// Nothing is kept for each chunk and peer: of 256 chunks and 10,000 peers that would be a gigabyte.
class ChunkedExchange final : public Exchange {
  public:
    ChunkedExchange(const ExchangeBinding& binding, const Chunking& chunking, Carrier carrier)
        : carrier_(carrier),
          chunking_(chunking),
          self_(static_cast<size_t>(binding.comm.rank())),
          trace_(binding.trace),
          sent_(parts_sent(binding.spec, binding.rank, chunking.axis)),
          received_(parts_received(binding.spec, binding.rank, chunking.axis)) {
        const bool own_buffers = returns_at_once(carrier);
        for (int chunk = 0; chunk < chunking.chunks; ++chunk) {
            chunks_.push_back(measure(chunk));
            ChunkSide &send = chunks_.back().send, &receive = chunks_.back().receive;
            if (own_buffers) {
                send.first_byte = send_bytes_;
                receive.first_byte = receive_bytes_;
            }
            send_bytes_ = std::max(send_bytes_, send.first_byte + send.bytes);
            receive_bytes_ = std::max(receive_bytes_, receive.first_byte + receive.bytes);
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
        Lists lists;
        if (in_pairs(carrier_)) lists.rounds = pair_rounds(static_cast<int>(self_), static_cast<int>(sent_.size()));
        for (int chunk = 0; chunk < chunks(); ++chunk) {
            auto made = make_transfer(comm, chunk, lists);
            if (!made.ok() && first.ok()) first = made.status();
            transfers_.push_back(made.ok() ? std::move(made).value() : nullptr);
        }
        return first;
    }

    int chunks() const override { return static_cast<int>(chunks_.size()); }

    Status start(int chunk, const void* source, void* target) override {
        const auto i = static_cast<size_t>(chunk);
        if (chunk == 0) {  // the same for all chunks; a thread may be reading them later
            source_ = source;
            target_ = target;
        }
        pack(chunk, source);
        Status status;
        if (thread_) {
            thread_->submit(chunk);
        } else if (returns_at_once(carrier_)) {
            status = begin(i);
        } else {
            status = carry(i);
            unpack(chunk);
        }
        // Meanwhile what stays.
        restrict_part(sent_[self_], chunking_, chunk, now_.send);
        restrict_part(received_[self_], chunking_, chunk, now_.receive);
        copied(copy_strided(now_.send, source, now_.receive, target));
        return status;
    }

    Status finish(int chunk) override {
        if (!returns_at_once(carrier_)) return Status();
        const Status status = thread_ ? wait_for_thread(chunk) : transfers_[static_cast<size_t>(chunk)]->finish();
        unpack(chunk);
        return status;
    }

  private:
    // What makes a transfer, for one chunk after the other.
    struct Lists {
        std::vector<BytesPart> send, receive;
        std::vector<PairParts> pairs;
        std::vector<int> rounds;  // peers in the order of pairs
    };

    // What is sent is replaced by what comes: both have the same place in one buffer, as large as the larger of them.
    bool shares_places() const { return carrier_ == Carrier::pairs_replace; }

    // Whether parts are packed, and how much that takes.
    Chunk measure(int chunk) {
        Chunk made;
        made.send.packed = made.receive.packed = shares_places();
        index_t sent = 0, received = 0, larger = 0;
        for (size_t i = 0; i < sent_.size(); ++i) {
            if (i == self_) continue;
            restrict_part(sent_[i], chunking_, chunk, now_.send);
            restrict_part(received_[i], chunking_, chunk, now_.receive);
            made.send.packed = made.send.packed || !is_contiguous(now_.send);
            made.receive.packed = made.receive.packed || !is_contiguous(now_.receive);
            sent += now_.send.bytes();
            received += now_.receive.bytes();
            larger += std::max(now_.send.bytes(), now_.receive.bytes());
        }
        made.send.bytes = shares_places() ? larger : made.send.packed ? sent : 0;
        made.receive.bytes = !shares_places() && made.receive.packed ? received : 0;
        return made;
    }

    // visit(i, meeting) for each member of the group, in its order.
    template <class Visit>
    void visit_peers(int chunk, const Visit& visit) {
        const Chunk& its = chunks_[static_cast<size_t>(chunk)];
        index_t send_at = its.send.first_byte, receive_at = shares_places() ? send_at : its.receive.first_byte;
        for (size_t i = 0; i < sent_.size(); ++i) {
            restrict_part(sent_[i], chunking_, chunk, now_.send);
            restrict_part(received_[i], chunking_, chunk, now_.receive);
            const index_t sent = i == self_ ? 0 : now_.send.bytes(), received = i == self_ ? 0 : now_.receive.bytes();
            const index_t larger = std::max(sent, received);
            now_.send_wire = {its.send.packed ? send_at : sent ? now_.send.offset_bytes : 0, sent};
            now_.receive_wire = {its.receive.packed ? receive_at : received ? now_.receive.offset_bytes : 0, received};
            send_at += shares_places() ? larger : sent;
            receive_at += shares_places() ? larger : received;
            visit(i, now_);
        }
    }

    void pack(int chunk, const void* source) {
        if (!chunks_[static_cast<size_t>(chunk)].send.packed) return;
        visit_peers(chunk, [&](size_t, const PeerChunk& m) {
            if (m.send_wire.bytes == 0) return;
            copied(gather_strided(m.send, source, send_buffer_.as<char>() + m.send_wire.offset_bytes));
        });
    }
    void unpack(int chunk) {
        if (!chunks_[static_cast<size_t>(chunk)].receive.packed) return;
        const char* buffer = (shares_places() ? send_buffer_ : receive_buffer_).as<const char>();
        visit_peers(chunk, [&](size_t, const PeerChunk& m) {
            if (m.receive_wire.bytes == 0) return;
            copied(scatter_strided(buffer + m.receive_wire.offset_bytes, m.receive, target_));
        });
    }

    void list_parts(int chunk, Lists& lists) {
        lists.send.resize(sent_.size());
        lists.receive.resize(sent_.size());
        visit_peers(chunk, [&](size_t i, const PeerChunk& m) {
            lists.send[i] = m.send_wire;
            lists.receive[i] = m.receive_wire;
        });
        if (!in_pairs(carrier_)) return;
        lists.pairs.clear();
        for (int peer : lists.rounds) {
            PairParts pair{peer, lists.send[static_cast<size_t>(peer)], lists.receive[static_cast<size_t>(peer)]};
            if (shares_places()) pair.send.bytes = pair.receive.bytes = std::max(pair.send.bytes, pair.receive.bytes);
            if (pair.send.bytes || pair.receive.bytes) lists.pairs.push_back(pair);
        }
    }

    Result<std::unique_ptr<Transfer>> make_transfer(Comm& comm, int chunk, Lists& lists) {
        list_parts(chunk, lists);
        switch (carrier_) {
            case Carrier::collective_later:
                return comm.make_alltoallv(lists.send, lists.receive, Issue::nonblocking);
            case Carrier::collective:
            case Carrier::collective_by_thread:
                return comm.make_alltoallv(lists.send, lists.receive, Issue::blocking);
            default:
                break;
        }
        const Pairing pairing = carrier_ == Carrier::pairs           ? Pairing::ordered
                                : carrier_ == Carrier::pairs_replace ? Pairing::replace
                                                                     : Pairing::nonblocking;
        return comm.make_pairs(lists.pairs, pairing);
    }
    Status wait_for_thread(int chunk) {
        const TraceScope scope(trace_ ? trace_->now : nullptr, "wait for thread", TraceCategory::wait);
        return thread_->wait(chunk);
    }
    Status begin(size_t chunk) {
        const Chunk& its = chunks_[chunk];
        const void* from = its.send.packed ? send_buffer_.data() : source_;
        void* to = its.receive.packed ? receive_buffer_.data() : target_;
        return transfers_[chunk]->start(from, shares_places() ? send_buffer_.data() : to);
    }
    Status carry(size_t chunk) {
        const Status started = begin(chunk), finished = transfers_[chunk]->finish();
        return started.ok() ? finished : started;
    }

    Carrier carrier_;
    Chunking chunking_;
    size_t self_;  // position of this rank in the group
    std::shared_ptr<TraceSwitch> trace_;
    std::vector<PeerPart> sent_, received_;  // one for each member of the group
    std::vector<Chunk> chunks_;
    PeerChunk now_;  // of the caller's thread
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

std::vector<Kind> kinds_of_chunks(const ExchangeSpec& spec, const Chunking& chunking) {
    const bool alike = spec.to.is_whole(chunking.axis);
    const auto rows = spec.from.counts_along(chunking.axis);
    std::vector<Kind> kinds;
    std::map<std::vector<index_t>, size_t> seen;
    for (int chunk = 0; chunk < chunking.chunks; ++chunk) {
        std::vector<index_t> counts;
        for (const index_t count : rows) counts.push_back(rows_in_chunk(chunking, count, chunk).count);
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
    for (const Kind& kind : kinds_of_chunks(spec, chunking)) {
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
    for (const Kind& kind : kinds_of_chunks(spec, chunking)) {
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

// A chunk takes descriptions and messages of its own, of which a plan of millions would consist.
Status check_planes(const ExchangeSpec& spec) {
    constexpr index_t kMostChunks = 1 << 14;
    SPANFFT_ASSIGN(const index_t planes, planes_parameter(spec));
    if (planes == 0 || spec.from.ndim() == 0) return {};  // a probe asks for strategies alone
    const index_t all = chunks_of_rows(spec, 1).chunks;
    if (ceil_div(all, planes) <= kMostChunks) return {};
    return error(Code::invalid_argument, planes, " planes a message would be ", ceil_div(all, planes),
                 " chunks of an exchange; give ", ceil_div(all, kMostChunks), " planes or more, or 'all'");
}

Chunking chunks_of_planes(const ExchangeSpec& spec) { return chunks_of_rows(spec, planes_parameter(spec).value()); }

int count_planes_chunks(const ExchangeSpec& spec, int) { return chunks_of_planes(spec).chunks; }

AxisRange rows_of_planes(const ExchangeSpec& spec, int rank, int chunk) {
    return chunk_rows(chunks_of_planes(spec), spec, rank, chunk);
}

std::vector<std::string> planes_candidates(const ExchangeSpec& spec) {
    const index_t all = chunks_of_rows(spec, 1).chunks;
    std::vector<std::string> texts;
    if (all <= kManyPlanes) texts.push_back("");
    for (const index_t planes : {all / 8, all / 4}) {
        if (planes > 1 && (texts.empty() || std::to_string(planes) != texts.back()))
            texts.push_back(std::to_string(planes));
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
