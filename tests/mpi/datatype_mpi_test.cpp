// Derived datatypes and transfers whose sizes, counts and offsets do not fit 32 bits, without memory of that size: the
// library's own account of a datatype costs nothing, and transfers touch a few pages of a mapping that is mostly hole.
#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/mman.h>

#include <cstring>
#include <optional>
#include <vector>

#include "comm/mpi/datatype.hpp"
#include "comm/mpi/mpi_comm.hpp"
#include "mpi/pmpi_counter.hpp"
#include "support/random.hpp"

namespace spanfft::test {
namespace {

constexpr index_t k2to31 = index_t{1} << 31;

struct Account {
    MPI_Count size = 0, lower = 0, extent = 0;  // true lower bound and extent
};

Account account(const StridedPart& part) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    Account a;
    EXPECT_EQ(make_datatype(part, &type), MPI_SUCCESS);
    MPI_Type_size_x(type, &a.size);
    MPI_Type_get_true_extent_x(type, &a.lower, &a.extent);
    MPI_Type_free(&type);
    return a;
}

// What the library must say: all strides here are positive, so a part ends where its last element does.
void expect_account(const StridedPart& part) {
    index_t reach = part.elem_bytes;
    for (const auto& dim : part.dims) reach += (dim.count - 1) * dim.stride_bytes;
    const Account a = account(part);
    EXPECT_EQ(a.size, part.bytes());
    EXPECT_EQ(a.lower, part.offset_bytes);
    EXPECT_EQ(a.extent, reach);
}

TEST(MpiDatatype, OfPartsBeyondTwoGigabytesHaveTheRightSizeAndExtent) {
    expect_account({0, {}, k2to31 - 1});
    expect_account({0, {}, k2to31});
    expect_account({0, {}, k2to31 + 1});
    expect_account({24, {}, 5 * k2to31 + 8});
    expect_account({0, {{3, 4 * k2to31}}, 3 * k2to31});
    expect_account({k2to31 * 8 + 16, {{7, k2to31}, {1000, 64}}, 16});
    // A slab of 64 planes of 8192 x 8192 complex doubles, every second row.
    expect_account({0, {{64, index_t{8192} * 8192 * 16}, {4096, 2 * 8192 * 16}}, 8192 * 16});
}

TEST(MpiDatatype, OfMoreThanTwoBillionElementsHaveTheRightSizeAndExtent) {
    for (const index_t count : {k2to31 - 1, k2to31, k2to31 + 5, 4 * k2to31 + 3}) {
        expect_account({8, {{count, 16}}, 8});
        expect_account({0, {{count, 12}}, 4});
        expect_account({0, {{3, count * 32}, {count, 32}}, 16});
    }
    // Exactly at the chunks of 2^30 that long loops are cut into.
    for (const index_t count : {k2to31 / 2, k2to31 / 2 + 1, k2to31 / 2 * 3}) expect_account({0, {{count, 24}}, 8});
}

TEST(MpiDatatype, OfSmallPartsSelectExactlyTheirBytesInOrder) {
    Random random(91);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < 300; ++i) {
        StridedPart part{random.below(5) * 4, {}, random.pick(std::vector<index_t>{1, 4, 8, 12, 16, 32})};
        index_t stride = part.elem_bytes;
        for (index_t d = random.between(0, 4); d > 0; --d) {
            const index_t n = random.between(1, 4), step = random.between(1, 2);
            part.dims.insert(part.dims.begin(), {n, step * stride});
            stride *= step * n + random.below(2);
        }
        expect_account(part);
        std::vector<index_t> offsets{part.offset_bytes};
        for (const auto& dim : part.dims) {
            std::vector<index_t> next;
            for (index_t base : offsets) {
                for (index_t k = 0; k < dim.count; ++k) next.push_back(base + k * dim.stride_bytes);
            }
            offsets = std::move(next);
        }
        std::vector<unsigned char> array(static_cast<size_t>(part.offset_bytes + stride + 64)), wanted,
            got(static_cast<size_t>(part.bytes()));
        for (auto& c : array) c = static_cast<unsigned char>(random.bits());
        for (index_t at : offsets)
            wanted.insert(wanted.end(), array.begin() + at, array.begin() + at + part.elem_bytes);
        MPI_Datatype type = MPI_DATATYPE_NULL;
        ASSERT_EQ(make_datatype(part, &type), MPI_SUCCESS);
        MPI_Sendrecv(array.data(), 1, type, 0, 3, got.data(), static_cast<int>(got.size()), MPI_BYTE, 0, 3,
                     MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Type_free(&type);
        ASSERT_TRUE(got == wanted) << "case " << i;
    }
}

// Address space without memory behind it: only pages that are touched exist.
class SparseMemory {
  public:
    explicit SparseMemory(index_t bytes) : bytes_(static_cast<size_t>(bytes)) {
        memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    ~SparseMemory() {
        if (ok()) munmap(memory_, bytes_);
    }
    SparseMemory(const SparseMemory&) = delete;
    SparseMemory& operator=(const SparseMemory&) = delete;
    bool ok() const { return memory_ != MAP_FAILED; }
    char* at(index_t offset) const { return static_cast<char*>(memory_) + offset; }

  private:
    size_t bytes_;
    void* memory_;
};

// Each rank sends row r of its array to rank r; rows are 5 GiB apart, and lie 3 GiB apart where they arrive.
TEST(MpiTransfer, MovesPartsThatLieGigabytesApart) {
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    constexpr index_t kFrom = index_t{5} << 30, kTo = index_t{3} << 30, kPieces = 3, kPiece = 24,
                      kGap = index_t{1} << 28;
    const SparseMemory source(ranks * kFrom), target(ranks * kTo);
    int can = source.ok() && target.ok(), all = 0;
    MPI_Allreduce(&can, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all) GTEST_SKIP() << "the address space is limited";
    std::vector<StridedPart> send, receive;
    for (int peer = 0; peer < ranks; ++peer) {
        send.push_back({peer * kFrom + 8, {{kPieces, kGap}}, kPiece});
        receive.push_back({peer * kTo, {{kPieces, 2 * kGap}}, kPiece});
        for (index_t piece = 0; piece < kPieces; ++piece) {
            std::memset(source.at(peer * kFrom + 8 + piece * kGap), 1 + rank * 16 + peer + static_cast<int>(piece) * 64,
                        kPiece);
        }
    }
    auto comm = make_mpi_comm(MPI_COMM_WORLD);
    ASSERT_TRUE(comm.ok());
    auto transfer = comm.value()->make_alltoallw(send, receive);
    ASSERT_TRUE(transfer.ok()) << transfer.status().message();
    EXPECT_TRUE(transfer.value()->start(source.at(0), target.at(0)).ok());
    EXPECT_TRUE(transfer.value()->finish().ok());
    for (int peer = 0; peer < ranks; ++peer) {
        for (index_t piece = 0; piece < kPieces; ++piece) {
            const auto wanted = static_cast<char>(1 + peer * 16 + rank + static_cast<int>(piece) * 64);
            const char* got = target.at(peer * kTo + piece * 2 * kGap);
            EXPECT_EQ(got[0], wanted) << "from rank " << peer;
            EXPECT_EQ(got[kPiece - 1], wanted);
            EXPECT_EQ(got[kPiece], 0) << "something was written behind the piece";
        }
    }
}

// Parts far apart on the last rank only, so that their places don't fit the ints of MPI_Alltoallv there: all ranks must
// change over to another call.
class FarParts {
  public:
    FarParts() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
        apart_ = rank_ == ranks_ - 1 ? k2to31 + 4096 : 4096;
        source_.emplace(ranks_ * apart_);
        target_.emplace(ranks_ * apart_);
        int can = source_->ok() && target_->ok(), all = 0;
        MPI_Allreduce(&can, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        ok_ = all != 0;
        if (!ok_) return;
        for (int peer = 0; peer < ranks_; ++peer) {
            send_.push_back({peer * apart_, 10 + peer});
            receive_.push_back({peer * apart_, 10 + rank_});
            std::memset(source_->at(peer * apart_), 1 + rank_ * 16 + peer, static_cast<size_t>(10 + peer));
        }
    }
    bool ok() const { return ok_; }              // false: the address space is limited
    bool are_far() const { return ranks_ > 1; }  // one rank's only part lies at the beginning
    const std::vector<BytesPart>& send() const { return send_; }
    const std::vector<BytesPart>& receive() const { return receive_; }
    void* source() const { return source_->at(0); }
    void* target() const { return target_->at(0); }

    // That this transfer moves them, and by which function.
    void expect_moved(Result<std::unique_ptr<Transfer>> made, const std::string& function) const {
        ASSERT_TRUE(made.ok()) << made.status().message();
        for (int run = 0; run < 2; ++run) {
            for (int peer = 0; peer < ranks_; ++peer)
                std::memset(target_->at(peer * apart_), 0, static_cast<size_t>(11 + rank_));
            const WireCounts before = wire_counts();
            EXPECT_TRUE(made.value()->start(source(), target()).ok());
            EXPECT_TRUE(made.value()->finish().ok());
            const WireCounts seen = wire_counts() - before;
            EXPECT_EQ(seen.messages, ranks_ - 1);
            EXPECT_EQ(seen.bytes, bytes_to_others());
            EXPECT_EQ(seen.by_function.count(function), size_t{1}) << function << " was not called";
            expect_arrived();
        }
    }

  private:
    int64_t bytes_to_others() const {
        int64_t bytes = 0;
        for (int peer = 0; peer < ranks_; ++peer) bytes += peer == rank_ ? 0 : 10 + peer;
        return bytes;
    }
    void expect_arrived() const {
        for (int peer = 0; peer < ranks_; ++peer) {
            const char* got = target_->at(peer * apart_);
            for (int i = 0; i < 10 + rank_; ++i) EXPECT_EQ(got[i], static_cast<char>(1 + peer * 16 + rank_));
            EXPECT_EQ(got[10 + rank_], 0) << "something was written behind the part";
        }
    }

    int rank_ = 0, ranks_ = 0;
    index_t apart_ = 0;
    bool ok_ = false;
    std::optional<SparseMemory> source_, target_;
    std::vector<BytesPart> send_, receive_;
};

// The calls with large counts, where the library that was compiled for and the one that runs have them.
bool has_large_counts() {
    int version = 0, subversion = 0;
    MPI_Get_version(&version, &subversion);
    return MPI_VERSION >= 4 && version >= 4;
}

TEST(MpiTransfer, MovesContiguousPartsAtFarOffsets) {
    const FarParts far;
    if (!far.ok()) GTEST_SKIP() << "the address space is limited";
    auto comm = make_mpi_comm(MPI_COMM_WORLD);
    ASSERT_TRUE(comm.ok());
    const auto called = [&](const std::string& name) {
        return "MPI_" + name + (!far.are_far() ? "v" : has_large_counts() ? "v_c" : "w");
    };
    far.expect_moved(comm.value()->make_alltoallv(far.send(), far.receive(), Issue::blocking), called("Alltoall"));
    far.expect_moved(comm.value()->make_alltoallv(far.send(), far.receive(), Issue::nonblocking), called("Ialltoall"));
}

TEST(MpiTransfer, MovesContiguousPartsAtFarOffsetsPersistently) {
    const FarParts far;
    if (!far.ok()) GTEST_SKIP() << "the address space is limited";
    auto comm = make_mpi_comm(MPI_COMM_WORLD);
    ASSERT_TRUE(comm.ok());
    auto made = comm.value()->make_persistent_alltoallv(far.source(), far.send(), far.target(), far.receive());
    if (has_large_counts()) {
        far.expect_moved(std::move(made), "MPI_Start");
    } else {
        EXPECT_EQ(made.status().code(), Code::unsupported);
    }
}

// From start to start by other distances, this rank's own part too.
TEST(MpiTransfer, LandsWhatItReceivesFurtherOn) {
    auto made = make_mpi_comm(MPI_COMM_WORLD);
    ASSERT_TRUE(made.ok());
    Comm& comm = *made.value();
    const int rank = comm.rank(), ranks = comm.size();
    constexpr index_t kPart = 6, kPlace = 8192;
    std::vector<BytesPart> send, receive;
    std::vector<StridedPart> strided_send, strided_receive;
    std::string source;
    for (int peer = 0; peer < ranks; ++peer) {
        source += std::string(kPart, static_cast<char>(1 + rank * 16 + peer));
        send.push_back({peer * kPart, kPart});
        receive.push_back({peer * kPlace, kPart});
        strided_send.push_back({peer * kPart, {{1, 1}}, kPart});
        strided_receive.push_back({peer * kPlace, {{1, 1}}, kPart});
    }
    const auto patient = comm.duplicate();
    ASSERT_TRUE(patient.ok());
    patient.value()->be_patient();
    std::vector<std::unique_ptr<Transfer>> transfers;
    for (Comm* const either : {&comm, patient.value().get()}) {
        for (const Issue issue : {Issue::blocking, Issue::nonblocking}) {
            transfers.push_back(either->make_alltoallv(send, receive, issue).value());
            transfers.push_back(either->make_alltoallw(strided_send, strided_receive, issue).value());
        }
    }
    for (const auto& transfer : transfers) {
        for (const index_t by : {0, 1, 4095, 0}) {
            std::vector<index_t> shifts;
            std::string wanted(static_cast<size_t>(ranks * kPlace), '\0'), got = wanted;
            for (int peer = 0; peer < ranks; ++peer) {
                shifts.push_back(peer % 2 == 0 ? by : by / 2);
                std::memset(wanted.data() + peer * kPlace + shifts.back(), 1 + peer * 16 + rank, kPart);
            }
            EXPECT_TRUE(transfer->shift_receives(shifts).ok());
            EXPECT_TRUE(transfer->start(source.data(), got.data()).ok());
            EXPECT_TRUE(transfer->finish().ok());
            EXPECT_EQ(got, wanted);
        }
    }
}

// Two of them under way at once, and an allgather of the same communicator between their halves.
TEST(MpiTransfer, GathersInTwoHalvesPatientlyOrNot) {
    auto made = make_mpi_comm(MPI_COMM_WORLD);
    ASSERT_TRUE(made.ok());
    Comm& comm = *made.value();
    const int rank = comm.rank(), ranks = comm.size();
    for (const bool patient : {false, true}) {
        if (patient) comm.be_patient();
        const auto first = comm.make_allgather(sizeof rank), second = comm.make_allgather(sizeof rank);
        ASSERT_TRUE(first.ok() && second.ok());
        for (int turn = 0; turn < 3; ++turn) {
            const int a = 100 * turn + rank, b = -a, c = 7 * a;
            std::vector<int> as(static_cast<size_t>(ranks)), bs = as, cs = as, expected = as;
            EXPECT_TRUE(first.value()->start(&a, as.data()).ok());
            EXPECT_TRUE(second.value()->start(&b, bs.data()).ok());
            EXPECT_TRUE(comm.allgather(&c, sizeof c, cs.data()).ok());
            EXPECT_TRUE(second.value()->finish().ok());
            EXPECT_TRUE(first.value()->finish().ok());
            for (const auto& [factor, got] : {std::pair{1, &as}, std::pair{-1, &bs}, std::pair{7, &cs}}) {
                for (int r = 0; r < ranks; ++r) expected[static_cast<size_t>(r)] = factor * (100 * turn + r);
                EXPECT_EQ(*got, expected) << "turn " << turn;
            }
        }
    }
}

TEST(MpiComm, SplitsDuplicatesAndGathers) {
    auto whole = make_mpi_comm(MPI_COMM_WORLD);
    ASSERT_TRUE(whole.ok());
    Comm& comm = *whole.value();
    auto part = comm.split(comm.rank() % 2, -comm.rank());
    ASSERT_TRUE(part.ok());
    EXPECT_EQ(part.value()->size(), (comm.size() + 1 - comm.rank() % 2) / 2);
    const int mine = comm.rank();
    std::vector<int> all(static_cast<size_t>(part.value()->size()));
    EXPECT_TRUE(part.value()->allgather(&mine, sizeof mine, all.data()).ok());
    for (size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i], all[i - 1] - 2);  // ordered by the negative key
    int64_t value = comm.rank() == comm.size() - 1 ? 42 : 0;
    EXPECT_TRUE(comm.broadcast(&value, sizeof value, comm.size() - 1).ok());
    EXPECT_EQ(value, 42);
    EXPECT_TRUE(comm.barrier().ok());
    const Status status = agree(comm, comm.rank() == 0 ? error(Code::no_space, "full") : Status());
    EXPECT_EQ(status.code(), Code::no_space);
    EXPECT_NE(comm.describe(), "");
}

}  // namespace
}  // namespace spanfft::test
