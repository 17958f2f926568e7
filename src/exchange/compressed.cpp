// Exchange of fewer bytes than the data has: floats for doubles (SpFFT's float exchange), or as few bits as a stated
// bound on the relative L2 error allows (heFFTe's lossy all-to-all; the coding is lossy.hpp's; ADR 28).
//
// Method: as alltoallv, but parts are coded where that packs them. A part that is not contiguous is gathered in slabs
// that stay in the cache, and coded from there; the other way round on arrival. What stays on the rank stays exact.
// Cost: a float for a double halves the bytes; 24 bits (2.6 times fewer) keep 4.8e-7, 16 bits (3.8 times) 1.23e-4.
// Invariant: the bytes of a message depend on its number of elements only, so they are predicted. Each exchange has at
// most the stated error; of k exchanges in a unitary transform the errors add up to k times that at most, in practice
// to far less, since those of single numbers have either sign. Chosen only when asked for by name.
#include "exchange/compressed.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "comm/strided_copy.hpp"
#include "core/buffer.hpp"
#include "exchange/lossy.hpp"

namespace spanfft {

namespace {

constexpr index_t kSlabBytes = index_t{1} << 16;
constexpr index_t kStageBytes = kSlabBytes + kBlockReals * static_cast<index_t>(sizeof(long double));

Result<Coding> coding_of(const ExchangeSpec& spec) {
    const std::string& text = spec.parameter;
    if (text.empty() || text == "float") {
        if (spec.precision == Precision::single)
            return error(Code::unsupported, "the data is float already; use compressed:1e-3, or an exact exchange");
        return Coding();
    }
    double bound = 0;
    const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), bound);
    if (failure != std::errc() || stop != text.data() + text.size() || !(bound > 0 && bound < 1)) {
        return error(Code::invalid_argument, "'", text,
                     "' is no way to compress; use compressed:float or a relative error between 0 and 1, such as "
                     "compressed:1e-6");
    }
    return coding_for(bound, spec.precision);
}

void cut(const StridedPart& part, std::vector<StridedPart>& slabs) {
    if (part.bytes() <= kSlabBytes) return slabs.push_back(part);
    StridedPart rest = part;
    const StridedDim dim = part.dims.front();
    rest.dims.front().count = 1;
    const index_t each = kSlabBytes / rest.bytes();
    for (index_t i = 0; i < dim.count; i += std::max<index_t>(1, each)) {
        StridedPart slab = part;
        slab.offset_bytes += i * dim.stride_bytes;
        if (each > 0) {
            slab.dims.front().count = std::min(each, dim.count - i);
            slabs.push_back(std::move(slab));
        } else {
            slab.dims.erase(slab.dims.begin());
            cut(slab, slabs);
        }
    }
}

// The part for, or from, one peer.
struct CodedPart {
    StridedPart whole;               // in the array
    std::vector<StridedPart> slabs;  // of it, in order; empty where it is contiguous
    index_t reals = 0;
};

struct CodedSide {
    std::vector<CodedPart> parts;  // by member of the group
    std::vector<BytesPart> wire;   // in the buffer; the own rank's is empty
    index_t coded_bytes = 0;
    StridedPart kept;  // of the own rank, in the array
};

CodedSide coded_side(const std::vector<Piece>& pieces, const Patch& mine, const ExchangeSpec& spec, int rank,
                     const Coding& coding) {
    CodedSide side;
    for (const Piece& piece : pieces) {
        CodedPart part{strided_part(piece, patch_shape(mine), spec.elem_bytes), {}, 0};
        if (piece.peer == rank) {
            side.kept = part.whole;
        } else if (part.whole.bytes() > 0) {
            part.reals = part.whole.bytes() / static_cast<index_t>(real_bytes(spec.precision));
        }
        side.wire.push_back({side.coded_bytes, coded_bytes(coding, part.reals)});
        side.coded_bytes += side.wire.back().bytes;
        side.parts.push_back(std::move(part));
    }
    return side;
}

CodedSide send_side(const ExchangeSpec& spec, int rank, const Coding& coding) {
    return coded_side(pieces_to_send(spec.from, spec.to, rank), spec.from.patch(rank), spec, rank, coding);
}

CodedSide receive_side(const ExchangeSpec& spec, int rank, const Coding& coding) {
    return coded_side(pieces_to_receive(spec.from, spec.to, rank), spec.to.patch(rank), spec, rank, coding);
}

void cut_parts(CodedSide& side) {
    for (CodedPart& part : side.parts) {
        if (part.reals > 0 && !is_contiguous(part.whole)) cut(part.whole, part.slabs);
    }
}

// Gathers slabs until there are whole blocks, and codes those.
class Coder {
  public:
    Coder() = default;
    Coder(const Coding& coding, Precision precision, void* stage)
        : coding_(coding),
          precision_(precision),
          real_bytes_(static_cast<index_t>(real_bytes(precision))),
          stage_(static_cast<char*>(stage)) {}

    // Both return the bytes of the array and those of the code that they went through.
    index_t code(const CodedPart& part, const void* array, char* coded) const {
        if (part.slabs.empty()) {
            encode(coding_, precision_, part.reals, static_cast<const char*>(array) + part.whole.offset_bytes, coded);
            return part.reals * real_bytes_ + coded_bytes(coding_, part.reals);
        }
        index_t held = 0, left = part.reals, moved_bytes = 0;
        for (const StridedPart& slab : part.slabs) {
            moved_bytes += gather_strided(slab, array, stage_ + held * real_bytes_);
            held += slab.bytes() / real_bytes_;
            const index_t ready = held == left ? held : held / kBlockReals * kBlockReals;
            encode(coding_, precision_, ready, stage_, coded);
            coded += coded_bytes(coding_, ready);
            moved_bytes += coded_bytes(coding_, ready);
            held -= ready;
            left -= ready;
            keep_rest(ready, held);
        }
        return moved_bytes;
    }
    index_t uncode(const CodedPart& part, const char* coded, void* array) const {
        if (part.slabs.empty()) {
            decode(coding_, precision_, part.reals, coded, static_cast<char*>(array) + part.whole.offset_bytes);
            return part.reals * real_bytes_ + coded_bytes(coding_, part.reals);
        }
        index_t held = 0, left = part.reals, moved_bytes = 0;
        for (const StridedPart& slab : part.slabs) {
            const index_t needed = slab.bytes() / real_bytes_;
            const index_t more = std::min(left, round_up(std::max<index_t>(0, needed - held), kBlockReals));
            decode(coding_, precision_, more, coded, stage_ + held * real_bytes_);
            coded += coded_bytes(coding_, more);
            moved_bytes += coded_bytes(coding_, more);
            left -= more;
            held += more - needed;
            moved_bytes += scatter_strided(stage_, slab, array);
            keep_rest(needed, held);
        }
        return moved_bytes;
    }

  private:
    void keep_rest(index_t used, index_t held) const {
        std::memmove(stage_, stage_ + used * real_bytes_, static_cast<size_t>(held * real_bytes_));
    }
    Coding coding_;
    Precision precision_ = Precision::dbl;
    index_t real_bytes_ = 8;
    char* stage_ = nullptr;
};

class CompressedExchange final : public Exchange {
  public:
    static Result<std::unique_ptr<Exchange>> make(const ExchangeBinding& binding) {
        SPANFFT_ASSIGN(const Coding coding, coding_of(binding.spec));
        auto exchange = std::unique_ptr<CompressedExchange>(new CompressedExchange);
        exchange->send_ = send_side(binding.spec, binding.rank, coding);
        exchange->receive_ = receive_side(binding.spec, binding.rank, coding);
        SPANFFT_TRY(agree(binding.comm, exchange->allocate()));
        cut_parts(exchange->send_);
        cut_parts(exchange->receive_);
        exchange->coder_ = Coder(coding, binding.spec.precision, exchange->stage_.data());
        SPANFFT_ASSIGN(exchange->transfer_, binding.comm.make_alltoallv(exchange->send_.wire, exchange->receive_.wire));
        return std::unique_ptr<Exchange>(std::move(exchange));
    }
    int chunks() const override { return 1; }
    Status start(int, const void* source, void* target) override {
        target_ = target;
        for (size_t i = 0; i < send_.parts.size(); ++i) {
            if (send_.parts[i].reals > 0)
                moved(coder_.code(send_.parts[i], source, send_buffer_.as<char>() + send_.wire[i].offset_bytes));
        }
        SPANFFT_TRY(transfer_->start(send_buffer_.data(), receive_buffer_.data()));
        copied(copy_strided(send_.kept, source, receive_.kept, target));
        return Status();
    }
    Status finish(int) override {
        SPANFFT_TRY(transfer_->finish());
        for (size_t i = 0; i < receive_.parts.size(); ++i) {
            if (receive_.parts[i].reals > 0)
                moved(coder_.uncode(receive_.parts[i], receive_buffer_.as<char>() + receive_.wire[i].offset_bytes,
                                    target_));
        }
        return Status();
    }

  private:
    CompressedExchange() = default;
    Status allocate() {
        SPANFFT_ASSIGN(send_buffer_, Buffer::allocate(static_cast<size_t>(send_.coded_bytes)));
        SPANFFT_ASSIGN(receive_buffer_, Buffer::allocate(static_cast<size_t>(receive_.coded_bytes)));
        SPANFFT_ASSIGN(stage_, Buffer::allocate(static_cast<size_t>(kStageBytes)));
        return Status();
    }

    CodedSide send_, receive_;
    Buffer send_buffer_, receive_buffer_, stage_;
    Coder coder_;
    std::unique_ptr<Transfer> transfer_;
    void* target_ = nullptr;
};

// Bytes of all parts that a rank sends, or receives: as they are, and coded.
struct CodedSums {
    index_t raw_bytes = 0, coded_bytes = 0;
};

void add_to(CodedSums& sums, index_t raw, index_t times, const ExchangeSpec& spec, const Coding& coding) {
    sums.raw_bytes += times * raw;
    sums.coded_bytes += times * coded_bytes(coding, raw / static_cast<index_t>(real_bytes(spec.precision)));
}

struct Forecast {
    CodedSums send, receive;
    index_t messages = 0, kept_bytes = 0;
};

Forecast forecast(const ExchangeSpec& spec, int rank, const Coding& coding) {
    const Patch source = spec.from.patch(rank), target = spec.to.patch(rank);
    Forecast sums;
    for (const PeerKind& kind : peer_kinds(spec.from, spec.to, rank)) {
        const index_t given = patch_elems(intersect(source, spec.to.patch(kind.peer))) * spec.elem_bytes;
        const index_t taken = patch_elems(intersect(target, spec.from.patch(kind.peer))) * spec.elem_bytes;
        if (kind.peer == rank) {
            sums.kept_bytes = given;
            continue;
        }
        sums.messages += given > 0 ? kind.times : 0;
        add_to(sums.send, given, kind.times, spec, coding);
        add_to(sums.receive, taken, kind.times, spec, coding);
    }
    return sums;
}

index_t buffer_bytes(const ExchangeSpec& spec, int rank) {
    const auto coding = coding_of(spec);
    if (!coding.ok()) return 0;
    const Forecast sums = forecast(spec, rank, coding.value());
    return sums.send.coded_bytes + sums.receive.coded_bytes + kStageBytes;
}

Counts predict(const ExchangeSpec& spec, int rank) {
    Counts counts;
    const auto coding = coding_of(spec);
    if (!coding.ok()) return counts;
    const Forecast sums = forecast(spec, rank, coding.value());
    counts.messages = sums.messages;
    counts.sent_bytes = sums.send.coded_bytes;
    counts.calls = 1;
    counts.memory_bytes = sums.send.raw_bytes + sums.send.coded_bytes + sums.receive.raw_bytes +
                          sums.receive.coded_bytes + 2 * sums.kept_bytes;
    return counts;
}

Status check(const ExchangeSpec& spec) { return coding_of(spec).status(); }

std::vector<std::string> candidates(const ExchangeSpec& spec) {
    std::vector<std::string> texts;
    for (const char* text : {"float", "1e-6", "1e-3"}) {
        ExchangeSpec tried = spec;
        tried.parameter = text;
        if (check(tried).ok()) texts.emplace_back(text);
    }
    return texts;
}

}  // namespace

ExchangeStrategy compressed_strategy() {
    ExchangeStrategy row;
    row.name = "compressed";
    row.source = "heFFTe, SpFFT";
    row.how = "fewer bytes than the data has, one collective";
    row.parameter = "float (default), or the relative L2 error of an exchange that is accepted, such as 1e-6";
    row.bind = CompressedExchange::make;
    row.predict = predict;
    row.buffer_bytes = buffer_bytes;
    row.check = check;
    row.candidates = candidates;
    row.approximate = true;
    return row;
}

}  // namespace spanfft
