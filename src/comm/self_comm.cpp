// A communicator of one process: collectives are copies; see comm.hpp.
#include <cassert>
#include <cstring>

#include "comm/comm.hpp"
#include "comm/strided_copy.hpp"

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

class SelfComm final : public Comm {
  public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    std::string describe() const override { return "one process"; }
    Result<std::unique_ptr<Comm>> split(int, int) override { return make_self_comm(); }
    Result<std::unique_ptr<Comm>> duplicate() override { return make_self_comm(); }
    Status barrier() override { return Status(); }
    Status allgather(const void* mine, size_t bytes, void* all) override {
        std::memcpy(all, mine, bytes);
        return Status();
    }
    Status broadcast(void*, size_t, int) override { return Status(); }
    Result<std::unique_ptr<Transfer>> make_alltoallw(const std::vector<StridedPart>& send,
                                                     const std::vector<StridedPart>& receive) override {
        assert(send.size() == 1 && receive.size() == 1);
        return std::unique_ptr<Transfer>(new SelfTransfer(send[0], receive[0]));
    }
    Result<std::unique_ptr<Transfer>> make_alltoallv(const std::vector<BytesPart>& send,
                                                     const std::vector<BytesPart>& receive) override {
        assert(send.size() == 1 && receive.size() == 1);
        return std::unique_ptr<Transfer>(new SelfTransfer(as_strided(send[0]), as_strided(receive[0])));
    }
};

}  // namespace

std::unique_ptr<Comm> make_self_comm() { return std::make_unique<SelfComm>(); }

}  // namespace spanfft
