// Counting decorator; see counted_comm.hpp.
#include "comm/counted_comm.hpp"

namespace spanfft {

namespace {

index_t part_bytes(const StridedPart& part) { return part.bytes(); }
index_t part_bytes(const BytesPart& part) { return part.bytes; }

Trace* recording(const std::shared_ptr<TraceSwitch>& trace) { return trace ? trace->now : nullptr; }

class CountedTransfer final : public Transfer {
  public:
    CountedTransfer(std::unique_ptr<Transfer> inner, const Counts& each, bool blocking, std::shared_ptr<Counts> counts,
                    std::shared_ptr<TraceSwitch> trace)
        : inner_(std::move(inner)),
          each_(each),
          start_name_(blocking ? "call" : "post"),
          counts_(std::move(counts)),
          trace_(std::move(trace)) {}
    Status start(const void* source, void* target) override {
        *counts_ += each_;
        Trace* const trace = recording(trace_);
        if (trace) under_way_.start_ns = trace_clock_ns();
        const TraceScope scope(trace, start_name_, TraceCategory::communication, each_.sent_bytes);
        return inner_->start(source, target);
    }
    Status shift_receives(std::span<const index_t> bytes) override { return inner_->shift_receives(bytes); }
    Status finish() override {
        Trace* const trace = recording(trace_);
        if (!trace) return inner_->finish();
        Status status;
        {
            const TraceScope scope(trace, "wait", TraceCategory::wait);
            status = inner_->finish();
        }
        under_way_.name = "messages";
        under_way_.category = TraceCategory::communication;
        under_way_.track = TraceTrack::messages;
        under_way_.end_ns = trace_clock_ns();
        under_way_.moved_bytes = each_.sent_bytes;
        trace->record(under_way_);
        return status;
    }

  private:
    std::unique_ptr<Transfer> inner_;
    const Counts each_;  // what one transfer is
    const char* const start_name_;
    std::shared_ptr<Counts> counts_;
    std::shared_ptr<TraceSwitch> trace_;
    TraceEvent under_way_;
};

// Codes of all ranks, which count as nothing.
class TracedAgreement final : public Transfer {
  public:
    TracedAgreement(std::unique_ptr<Transfer> inner, std::shared_ptr<TraceSwitch> trace)
        : inner_(std::move(inner)), trace_(std::move(trace)) {}
    Status start(const void* source, void* target) override { return inner_->start(source, target); }
    Status finish() override {
        const TraceScope scope(recording(trace_), "agree", TraceCategory::wait);
        return inner_->finish();
    }

  private:
    std::unique_ptr<Transfer> inner_;
    std::shared_ptr<TraceSwitch> trace_;
};

class TracedWindow final : public SharedWindow {
  public:
    TracedWindow(std::shared_ptr<SharedWindow> inner, std::shared_ptr<TraceSwitch> trace)
        : inner_(std::move(inner)), trace_(std::move(trace)) {}
    void* part(int rank) const override { return inner_->part(rank); }
    Status barrier() override {
        const TraceScope scope(recording(trace_), "barrier", TraceCategory::wait);
        return inner_->barrier();
    }

  private:
    std::shared_ptr<SharedWindow> inner_;
    std::shared_ptr<TraceSwitch> trace_;
};

class CountedComm final : public Comm {
  public:
    CountedComm(std::unique_ptr<Comm> inner, std::shared_ptr<Counts> counts, std::shared_ptr<TraceSwitch> trace)
        : inner_(std::move(inner)), counts_(std::move(counts)), trace_(std::move(trace)) {}
    int rank() const override { return inner_->rank(); }
    int size() const override { return inner_->size(); }
    std::string describe() const override { return inner_->describe(); }
    bool calls_from_threads() const override { return inner_->calls_from_threads(); }
    bool collectives_progress() const override { return inner_->collectives_progress(); }
    void be_patient() override { inner_->be_patient(); }
    bool is_patient() const override { return inner_->is_patient(); }
    std::string library() const override { return inner_->library(); }
    Result<std::unique_ptr<Comm>> split(int color, int key) override { return wrap(inner_->split(color, key)); }
    Result<std::unique_ptr<Comm>> duplicate() override { return wrap(inner_->duplicate()); }
    Result<std::unique_ptr<Comm>> group(const std::vector<int>& ranks) override { return wrap(inner_->group(ranks)); }
    Status barrier() override {
        const TraceScope scope(recording(trace_), "barrier", TraceCategory::wait);
        return inner_->barrier();
    }
    Status allgather(const void* mine, size_t bytes, void* all) override {
        const TraceScope scope(recording(trace_), "agree", TraceCategory::wait);
        return inner_->allgather(mine, bytes, all);
    }
    Status broadcast(void* data, size_t bytes, int root) override { return inner_->broadcast(data, bytes, root); }
    Result<std::vector<int>> nodes() override { return inner_->nodes(); }
    Result<std::unique_ptr<Transfer>> make_alltoallw(const std::vector<StridedPart>& send,
                                                     const std::vector<StridedPart>& receive, Issue issue) override {
        return count(inner_->make_alltoallw(send, receive, issue), send, issue == Issue::blocking);
    }
    Result<std::unique_ptr<Transfer>> make_alltoallv(const std::vector<BytesPart>& send,
                                                     const std::vector<BytesPart>& receive, Issue issue) override {
        return count(inner_->make_alltoallv(send, receive, issue), send, issue == Issue::blocking);
    }
    Result<std::unique_ptr<Transfer>> make_allgather(index_t bytes) override {
        SPANFFT_ASSIGN(auto made, inner_->make_allgather(bytes));
        return std::unique_ptr<Transfer>(std::make_unique<TracedAgreement>(std::move(made), trace_));
    }
    bool persistent_collectives() const override { return inner_->persistent_collectives(); }
    Result<std::unique_ptr<Transfer>> make_persistent_alltoallv(const void* source, const std::vector<BytesPart>& send,
                                                                void* target,
                                                                const std::vector<BytesPart>& receive) override {
        return count(inner_->make_persistent_alltoallv(source, send, target, receive), send, false);
    }
    Result<std::unique_ptr<Transfer>> make_pairs(const std::vector<PairParts>& pairs, Pairing pairing) override {
        auto made = inner_->make_pairs(pairs, pairing);
        if (!made.ok()) return made;
        index_t calls = 0, messages = 0, bytes = 0;
        for (const auto& pair : pairs) {
            messages += pair.send.bytes > 0;
            bytes += pair.send.bytes;
            // One call where send and receive are one, else one for each part that is not empty.
            calls +=
                pairing == Pairing::replace ? (pair.send.bytes > 0) : (pair.send.bytes > 0) + (pair.receive.bytes > 0);
        }
        return wrap(std::move(made).value(), calls, messages, bytes, pairing != Pairing::nonblocking);
    }
    Result<std::unique_ptr<SharedWindow>> make_window(index_t bytes) override {
        SPANFFT_ASSIGN(auto window, inner_->make_window(bytes));
        return make_traced_window(std::move(window), trace_);
    }
    std::string window_note() const override { return inner_->window_note(); }

  private:
    Result<std::unique_ptr<Comm>> wrap(Result<std::unique_ptr<Comm>> made) {
        if (!made.ok()) return made;
        return make_counted_comm(std::move(made).value(), counts_, trace_);
    }
    std::unique_ptr<Transfer> wrap(std::unique_ptr<Transfer> made, index_t calls, index_t messages, index_t bytes,
                                   bool blocking) {
        Counts each;
        each.calls = calls;
        each.messages = messages;
        each.sent_bytes = bytes;
        return std::make_unique<CountedTransfer>(std::move(made), each, blocking, counts_, trace_);
    }
    template <class Part>
    Result<std::unique_ptr<Transfer>> count(Result<std::unique_ptr<Transfer>> made, const std::vector<Part>& send,
                                            bool blocking) {
        if (!made.ok()) return made;
        index_t messages = 0, bytes = 0;
        for (int peer = 0; peer < size(); ++peer) {
            const index_t n = part_bytes(send[static_cast<size_t>(peer)]);
            if (peer == rank() || n == 0) continue;
            ++messages;
            bytes += n;
        }
        return wrap(std::move(made).value(), 1, messages, bytes, blocking);
    }

    std::unique_ptr<Comm> inner_;
    std::shared_ptr<Counts> counts_;
    std::shared_ptr<TraceSwitch> trace_;
};

}  // namespace

std::unique_ptr<SharedWindow> make_traced_window(std::shared_ptr<SharedWindow> inner,
                                                 std::shared_ptr<TraceSwitch> trace) {
    return std::make_unique<TracedWindow>(std::move(inner), std::move(trace));
}

std::unique_ptr<Comm> make_counted_comm(std::unique_ptr<Comm> inner, std::shared_ptr<Counts> counts,
                                        std::shared_ptr<TraceSwitch> trace) {
    return std::make_unique<CountedComm>(std::move(inner), std::move(counts), std::move(trace));
}

}  // namespace spanfft
