// Counting decorator; see counted_comm.hpp.
#include "comm/counted_comm.hpp"

namespace spanfft {

namespace {

index_t part_bytes(const StridedPart& part) { return part.bytes(); }
index_t part_bytes(const BytesPart& part) { return part.bytes; }

class CountedTransfer final : public Transfer {
  public:
    CountedTransfer(std::unique_ptr<Transfer> inner, index_t calls, index_t messages, index_t bytes,
                    std::shared_ptr<Counts> counts)
        : inner_(std::move(inner)), calls_(calls), messages_(messages), bytes_(bytes), counts_(std::move(counts)) {}
    Status start(const void* source, void* target) override {
        counts_->calls += calls_;
        counts_->messages += messages_;
        counts_->sent_bytes += bytes_;
        return inner_->start(source, target);
    }
    Status finish() override { return inner_->finish(); }

  private:
    std::unique_ptr<Transfer> inner_;
    index_t calls_, messages_, bytes_;
    std::shared_ptr<Counts> counts_;
};

class CountedComm final : public Comm {
  public:
    CountedComm(std::unique_ptr<Comm> inner, std::shared_ptr<Counts> counts)
        : inner_(std::move(inner)), counts_(std::move(counts)) {}
    int rank() const override { return inner_->rank(); }
    int size() const override { return inner_->size(); }
    std::string describe() const override { return inner_->describe(); }
    Result<std::unique_ptr<Comm>> split(int color, int key) override { return wrap(inner_->split(color, key)); }
    Result<std::unique_ptr<Comm>> duplicate() override { return wrap(inner_->duplicate()); }
    Status barrier() override { return inner_->barrier(); }
    Status allgather(const void* mine, size_t bytes, void* all) override { return inner_->allgather(mine, bytes, all); }
    Status broadcast(void* data, size_t bytes, int root) override { return inner_->broadcast(data, bytes, root); }
    Result<std::vector<int>> nodes() override { return inner_->nodes(); }
    Result<std::unique_ptr<Transfer>> make_alltoallw(const std::vector<StridedPart>& send,
                                                     const std::vector<StridedPart>& receive, Issue issue) override {
        return count(inner_->make_alltoallw(send, receive, issue), send);
    }
    Result<std::unique_ptr<Transfer>> make_alltoallv(const std::vector<BytesPart>& send,
                                                     const std::vector<BytesPart>& receive, Issue issue) override {
        return count(inner_->make_alltoallv(send, receive, issue), send);
    }
    Result<std::unique_ptr<Transfer>> make_persistent_alltoallv(const void* source, const std::vector<BytesPart>& send,
                                                                void* target,
                                                                const std::vector<BytesPart>& receive) override {
        return count(inner_->make_persistent_alltoallv(source, send, target, receive), send);
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
        return std::unique_ptr<Transfer>(new CountedTransfer(std::move(made).value(), calls, messages, bytes, counts_));
    }
    Result<std::unique_ptr<SharedWindow>> make_window(index_t bytes) override { return inner_->make_window(bytes); }

  private:
    Result<std::unique_ptr<Comm>> wrap(Result<std::unique_ptr<Comm>> made) {
        if (!made.ok()) return made;
        return make_counted_comm(std::move(made).value(), counts_);
    }
    template <class Part>
    Result<std::unique_ptr<Transfer>> count(Result<std::unique_ptr<Transfer>> made, const std::vector<Part>& send) {
        if (!made.ok()) return made;
        index_t messages = 0, bytes = 0;
        for (int peer = 0; peer < size(); ++peer) {
            const index_t n = part_bytes(send[static_cast<size_t>(peer)]);
            if (peer == rank() || n == 0) continue;
            ++messages;
            bytes += n;
        }
        return std::unique_ptr<Transfer>(new CountedTransfer(std::move(made).value(), 1, messages, bytes, counts_));
    }

    std::unique_ptr<Comm> inner_;
    std::shared_ptr<Counts> counts_;
};

}  // namespace

std::unique_ptr<Comm> make_counted_comm(std::unique_ptr<Comm> inner, std::shared_ptr<Counts> counts) {
    return std::make_unique<CountedComm>(std::move(inner), std::move(counts));
}

}  // namespace spanfft
