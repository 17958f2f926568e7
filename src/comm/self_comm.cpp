// A communicator of one process: collectives are copies; see comm.hpp.
#include <cassert>
#include <cstring>

#include "comm/comm.hpp"
#include "comm/strided_copy.hpp"
#include "core/buffer.hpp"

namespace spanfft {

namespace {

class SelfTransfer final : public Transfer {
  public:
    SelfTransfer(StridedPart send, StridedPart receive) : send_(std::move(send)), receive_(std::move(receive)) {}
    Status start(const void* source, void* target) override {
        copy_strided(send_, source, receive_, target);
        return Status();
    }
    Status finish() override { return Status(); }

  private:
    StridedPart send_, receive_;
};

StridedPart as_strided(const BytesPart& part) { return {part.offset_bytes, {{part.bytes, 1}}, 1}; }

// Bound to its buffers when it is made.
class BoundTransfer final : public Transfer {
  public:
    BoundTransfer(std::unique_ptr<Transfer> inner, const void* source, void* target)
        : inner_(std::move(inner)), source_(source), target_(target) {}
    Status start(const void*, void*) override { return inner_->start(source_, target_); }
    Status finish() override { return inner_->finish(); }

  private:
    std::unique_ptr<Transfer> inner_;
    const void* source_;
    void* target_;
};

class NoTransfer final : public Transfer {
  public:
    Status start(const void*, void*) override { return Status(); }
    Status finish() override { return Status(); }
};

class SelfWindow final : public SharedWindow {
  public:
    explicit SelfWindow(Buffer memory) : memory_(std::move(memory)) {}
    void* part(int) const override { return memory_.data(); }
    Status barrier() override { return Status(); }

  private:
    Buffer memory_;
};

class SelfComm final : public Comm {
  public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    std::string describe() const override { return "one process"; }
    bool calls_from_threads() const override { return true; }
    Result<std::unique_ptr<Comm>> split(int, int) override { return make_self_comm(); }
    Result<std::unique_ptr<Comm>> duplicate() override { return make_self_comm(); }
    Status barrier() override { return Status(); }
    Status allgather(const void* mine, size_t bytes, void* all) override {
        std::memcpy(all, mine, bytes);
        return Status();
    }
    Status broadcast(void*, size_t, int) override { return Status(); }
    Result<std::unique_ptr<Transfer>> make_alltoallw(const std::vector<StridedPart>& send,
                                                     const std::vector<StridedPart>& receive, Issue) override {
        assert(send.size() == 1 && receive.size() == 1);
        return std::unique_ptr<Transfer>(new SelfTransfer(send[0], receive[0]));
    }
    Result<std::unique_ptr<Transfer>> make_alltoallv(const std::vector<BytesPart>& send,
                                                     const std::vector<BytesPart>& receive, Issue) override {
        assert(send.size() == 1 && receive.size() == 1);
        return std::unique_ptr<Transfer>(new SelfTransfer(as_strided(send[0]), as_strided(receive[0])));
    }
    Result<std::unique_ptr<Transfer>> make_allgather(index_t bytes) override {
        const StridedPart part = as_strided({0, bytes});
        return std::unique_ptr<Transfer>(new SelfTransfer(part, part));
    }
    bool persistent_collectives() const override { return true; }
    Result<std::unique_ptr<Transfer>> make_persistent_alltoallv(const void* source, const std::vector<BytesPart>& send,
                                                                void* target,
                                                                const std::vector<BytesPart>& receive) override {
        SPANFFT_ASSIGN(auto inner, make_alltoallv(send, receive, Issue::blocking));
        return std::unique_ptr<Transfer>(new BoundTransfer(std::move(inner), source, target));
    }
    Result<std::unique_ptr<Transfer>> make_pairs([[maybe_unused]] const std::vector<PairParts>& pairs,
                                                 Pairing) override {
        assert(pairs.empty());  // there is nobody else
        return std::unique_ptr<Transfer>(new NoTransfer);
    }
    Result<std::vector<int>> nodes() override { return std::vector<int>{0}; }
    Result<std::unique_ptr<SharedWindow>> make_window(index_t bytes) override {
        SPANFFT_ASSIGN(Buffer memory, Buffer::allocate(static_cast<size_t>(bytes)));
        return std::unique_ptr<SharedWindow>(new SelfWindow(std::move(memory)));
    }
};

}  // namespace

std::unique_ptr<Comm> make_self_comm() { return std::make_unique<SelfComm>(); }

}  // namespace spanfft
