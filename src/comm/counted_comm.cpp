// Counting decorator; see counted_comm.hpp.
#include "comm/counted_comm.hpp"

namespace spanfft {

namespace {

index_t part_bytes(const StridedPart& part) { return part.bytes(); }
index_t part_bytes(const BytesPart& part) { return part.bytes; }

class CountedTransfer final : public Transfer {
  public:
    CountedTransfer(std::unique_ptr<Transfer> inner, index_t messages, index_t bytes, std::shared_ptr<Counts> counts)
        : inner_(std::move(inner)), messages_(messages), bytes_(bytes), counts_(std::move(counts)) {}
    Status start(const void* source, void* target) override {
        counts_->messages += messages_;
        counts_->sent_bytes += bytes_;
        return inner_->start(source, target);
    }
    Status finish() override { return inner_->finish(); }

  private:
    std::unique_ptr<Transfer> inner_;
    index_t messages_, bytes_;
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
    Result<std::unique_ptr<Transfer>> make_alltoallw(const std::vector<StridedPart>& send,
                                                     const std::vector<StridedPart>& receive) override {
        return count(inner_->make_alltoallw(send, receive), send);
    }
    Result<std::unique_ptr<Transfer>> make_alltoallv(const std::vector<BytesPart>& send,
                                                     const std::vector<BytesPart>& receive) override {
        return count(inner_->make_alltoallv(send, receive), send);
    }

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
        return std::unique_ptr<Transfer>(new CountedTransfer(std::move(made).value(), messages, bytes, counts_));
    }

    std::unique_ptr<Comm> inner_;
    std::shared_ptr<Counts> counts_;
};

}  // namespace

std::unique_ptr<Comm> make_counted_comm(std::unique_ptr<Comm> inner, std::shared_ptr<Counts> counts) {
    return std::make_unique<CountedComm>(std::move(inner), std::move(counts));
}

}  // namespace spanfft
