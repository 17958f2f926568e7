// Ranks as threads; see thread_comm.hpp.
#include "support/thread_comm.hpp"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <thread>

namespace spanfft::test {

namespace {
constexpr std::array kCallNames{"split",         "duplicate",   "barrier", "allgather", "broadcast",
                                "make_transfer", "make_window", "start",   "finish"};
static_assert(kCallNames.size() == kCommCalls);
}  // namespace

const char* call_name(CommCall call) { return kCallNames[static_cast<size_t>(call)]; }

struct ThreadWorld::Shared {
    explicit Shared(std::vector<int> world_ranks) : members(std::move(world_ranks)), slots(members.size()) {}
    std::vector<int> members;  // world ranks
    std::vector<const void*> slots;
    std::atomic<uint32_t> generation{0};  // of meetings; what members wait for
    int arrived = 0;
    CommCall what = CommCall::barrier;  // of the meeting that is under way
    int first_arrived = -1;
};

struct ThreadWorld::Rank {
    std::array<index_t, kCommCalls> calls{};
    Delivered sent;
    std::atomic<const char*> doing{"nothing"};  // while blocked
};

ThreadWorld::ThreadWorld(int ranks) : ranks_(static_cast<size_t>(ranks)) {}
ThreadWorld::~ThreadWorld() = default;

void ThreadWorld::fail(int rank, CommCall call, int nth) {
    fault_rank_ = rank;
    fault_call_ = call;
    fault_nth_ = nth;
}

void ThreadWorld::lose(int rank, CommCall call, int nth) {
    fail(rank, call, nth);
    loses_ = deadlock_expected_ = true;
}

Delivered ThreadWorld::sent_by(int rank) const { return ranks_[static_cast<size_t>(rank)].sent; }
index_t ThreadWorld::calls(int rank, CommCall call) const {
    return ranks_[static_cast<size_t>(rank)].calls[static_cast<size_t>(call)];
}

Status ThreadWorld::account(int world_rank, CommCall call) {
    const std::lock_guard lock(mutex_);
    index_t& count = ranks_[static_cast<size_t>(world_rank)].calls[static_cast<size_t>(call)];
    ++count;
    if (world_rank != fault_rank_ || call != fault_call_ || count != fault_nth_) return Status();
    fault_hit_ = true;
    if (loses_) break_world(cat("rank ", world_rank, " is gone"));
    return error(Code::mpi_error, "injected failure of ", call_name(call), " number ", fault_nth_, " on rank ",
                 world_rank);
}

void ThreadWorld::break_world(const std::string& why) {
    if (!broken_.empty()) return;
    broken_ = why;
    for (size_t r = 0; r < ranks_.size(); ++r) broken_ += cat("\n  rank ", r, ": ", ranks_[r].doing.load());
}

namespace {

// Waits till `word` isn't `seen` any more, or a tenth of a second. A condition variable would do, but whoever wakes up
// on one waits for its mutex next: of every meeting of eight that is 14 switches instead of 7, and tests of plans on
// ranks spend their time on them.
void wait_for_change(std::atomic<uint32_t>& word, uint32_t seen) {
    static_assert(sizeof word == sizeof(uint32_t));
    const timespec tenth{0, 100'000'000};
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, &tenth, nullptr, 0);
}

void wake_all(std::atomic<uint32_t>& word) { syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX); }

}  // namespace

Status ThreadWorld::meet(Shared& group, int rank, CommCall what, const void* mine) {
    std::unique_lock lock(mutex_);
    if (!broken_.empty()) return Status(Code::mpi_error, broken_);
    if (group.arrived == 0) {
        group.what = what;
        group.first_arrived = rank;
    } else if (group.what != what) {
        break_world(cat("ranks are in different collectives: ", call_name(group.what), " on rank ",
                        group.members[static_cast<size_t>(group.first_arrived)], ", ", call_name(what), " on rank ",
                        group.members[static_cast<size_t>(rank)]));
        wake_all(group.generation);
        return Status(Code::mpi_error, broken_);
    }
    // A meeting without a pointer ends a reading of slots: a fast rank must not take its own away from the others.
    if (mine) group.slots[static_cast<size_t>(rank)] = mine;
    if (++group.arrived == static_cast<int>(group.members.size())) {
        group.arrived = 0;
        blocked_ -= static_cast<int>(group.members.size()) - 1;
        ++group.generation;
        lock.unlock();
        wake_all(group.generation);
        return Status();
    }
    Rank& self = ranks_[static_cast<size_t>(group.members[static_cast<size_t>(rank)])];
    self.doing = call_name(what);
    if (++blocked_ == alive_) break_world("deadlock: every rank waits");
    const uint32_t generation = group.generation;
    bool broken = !broken_.empty();
    lock.unlock();
    const auto deadline = std::chrono::steady_clock::now() + time_limit;
    // Woken by its group or, when the world breaks elsewhere, by a look around ten times a second.
    while (group.generation == generation && !broken) {
        wait_for_change(group.generation, generation);
        if (group.generation != generation) break;
        lock.lock();
        if (group.generation == generation && std::chrono::steady_clock::now() > deadline)
            break_world("a rank waited too long");
        broken = !broken_.empty();
        lock.unlock();
    }
    self.doing = "running";
    if (group.generation != generation) return Status();
    lock.lock();
    return Status(Code::mpi_error, broken_);
}

namespace {

// Visits the byte offset of every element of a part in loop order. No allocation.
class Walk {
  public:
    explicit Walk(const StridedPart& part) : part_(part), offset_(part.offset_bytes) {}
    index_t offset() const { return offset_; }
    void next() {
        for (size_t i = part_.dims.size(); i-- > 0;) {
            offset_ += part_.dims[i].stride_bytes;
            if (++at_[i] < part_.dims[i].count) return;
            offset_ -= part_.dims[i].count * part_.dims[i].stride_bytes;
            at_[i] = 0;
        }
    }

  private:
    const StridedPart& part_;
    index_t offset_;
    std::array<index_t, 16> at_{};
};

void copy_by_walk(const StridedPart& from, const void* source, const StridedPart& to, void* target) {
    Walk a(from), b(to);
    for (index_t left = from.bytes(); left > 0; left -= from.elem_bytes, a.next(), b.next()) {
        std::memcpy(static_cast<char*>(target) + b.offset(), static_cast<const char*>(source) + a.offset(),
                    static_cast<size_t>(from.elem_bytes));
    }
}

}  // namespace

// What all ranks of one transfer share: their parts and, between start and finish, their sources.
struct TransferBoard {
    std::vector<std::vector<StridedPart>> send, receive;  // by rank, then peer
    std::vector<const void*> sources;
};

class ThreadTransfer final : public Transfer {
  public:
    ThreadTransfer(ThreadWorld& world, std::shared_ptr<ThreadWorld::Shared> group, int rank,
                   std::shared_ptr<TransferBoard> board, bool at_once)
        : world_(world), group_(std::move(group)), rank_(rank), board_(std::move(board)), at_once_(at_once) {}

    // In place: what is sent is a copy of the target's parts, which are received into (Pairing::replace).
    void set_in_place(index_t bytes) {
        in_place_ = true;
        kept_.resize(static_cast<size_t>(bytes));
    }
    void count_nothing() { counted_ = false; }
    void bind(const void* source, void* target) {
        bound_ = true;
        source_ = source;
        target_ = target;
    }

    Status start(const void* source, void* target) override {
        if (busy_) return error(Code::internal, "a transfer was started twice");
        busy_ = true;
        if (!bound_) target_ = target;
        if (bound_) source = source_;
        if (in_place_) {
            if (!kept_.empty()) std::memcpy(kept_.data(), target, kept_.size());
            source = kept_.data();
        }
        board_->sources[static_cast<size_t>(rank_)] = source;  // read by the others only after they met in finish
        const Status fault = world_.account(world_rank(rank_), CommCall::start);
        if (!at_once_) return fault;
        const Status moved = move();
        return fault.ok() ? moved : fault;
    }

    Status shift_receives(std::span<const index_t> bytes) override {
        shifts_.assign(bytes.begin(), bytes.end());
        return Status();
    }

    Status finish() override {
        if (at_once_) {
            if (!busy_) return error(Code::internal, "a transfer was finished before it was started");
            busy_ = false;
            return world_.account(world_rank(rank_), CommCall::finish);
        }
        if (!busy_) return error(Code::internal, "a transfer was finished before it was started");
        busy_ = false;
        const Status fault = world_.account(world_rank(rank_), CommCall::finish);
        const Status moved = move();
        return fault.ok() ? moved : fault;
    }

  private:
    // All meet, each reads what the others send it, all meet again.
    Status move() {
        SPANFFT_TRY(world_.meet(*group_, rank_, CommCall::start, nullptr));
        const auto me = static_cast<size_t>(rank_);
        for (size_t peer = 0; peer < group_->members.size(); ++peer) {
            const StridedPart& from = board_->send[peer][me];
            const StridedPart& to = board_->receive[me][peer];
            char* const target = static_cast<char*>(target_) + (shifts_.empty() ? 0 : shifts_[peer]);
            if (from.bytes() != 0) copy_by_walk(from, board_->sources[peer], to, target);
            if (peer == me || from.bytes() == 0 || !counted_) continue;
            const std::lock_guard lock(world_.mutex_);
            Delivered& sent = world_.ranks_[static_cast<size_t>(group_->members[peer])].sent;
            ++sent.messages;
            sent.bytes += from.bytes();
        }
        return world_.meet(*group_, rank_, CommCall::finish, nullptr);
    }
    int world_rank(int rank) const { return group_->members[static_cast<size_t>(rank)]; }

    ThreadWorld& world_;
    std::shared_ptr<ThreadWorld::Shared> group_;
    int rank_;
    std::shared_ptr<TransferBoard> board_;
    const void* source_ = nullptr;
    void* target_ = nullptr;
    bool busy_ = false, bound_ = false, at_once_, in_place_ = false, counted_ = true;
    std::vector<char> kept_;
    std::vector<index_t> shifts_;
};

// Parts of memory that all ranks of a communicator see.
class ThreadWindow final : public SharedWindow {
  public:
    using Parts = std::vector<std::vector<char>>;
    ThreadWindow(std::function<Status()> barrier, std::shared_ptr<Parts> parts)
        : barrier_(std::move(barrier)), parts_(std::move(parts)) {}
    void* part(int rank) const override { return (*parts_)[static_cast<size_t>(rank)].data(); }
    Status barrier() override { return barrier_(); }

  private:
    std::function<Status()> barrier_;
    std::shared_ptr<Parts> parts_;
};

class ThreadComm final : public Comm {
  public:
    ThreadComm(ThreadWorld& world, std::shared_ptr<ThreadWorld::Shared> group, int rank)
        : world_(world), group_(std::move(group)), rank_(rank) {
        ++world_.open_comms_;
    }
    ~ThreadComm() override { --world_.open_comms_; }
    ThreadComm(const ThreadComm&) = delete;
    ThreadComm& operator=(const ThreadComm&) = delete;

    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(group_->members.size()); }
    std::string describe() const override { return cat("rank ", rank_, " of ", size(), " threads"); }
    bool calls_from_threads() const override { return world_.calls_from_threads; }

    Result<std::unique_ptr<Comm>> split(int color, int key) override {
        const Status fault = account(CommCall::split);
        struct Wish {
            int color, key, rank;
        };
        const Wish mine{color, key, rank_};
        std::vector<Wish> wishes(group_->members.size());
        SPANFFT_TRY(gather(CommCall::split, &mine, sizeof mine, wishes.data()));
        std::erase_if(wishes, [&](const Wish& w) { return w.color != color; });
        std::stable_sort(wishes.begin(), wishes.end(), [](const Wish& a, const Wish& b) { return a.key < b.key; });
        std::vector<int> members;
        int my_rank = 0;
        for (const Wish& w : wishes) {
            if (w.rank == rank_) my_rank = static_cast<int>(members.size());
            members.push_back(group_->members[static_cast<size_t>(w.rank)]);
        }
        return make(CommCall::split, std::move(members), my_rank, wishes.front().rank, fault);
    }

    Result<std::unique_ptr<Comm>> duplicate() override {
        const Status fault = account(CommCall::duplicate);
        return make(CommCall::duplicate, group_->members, rank_, 0, fault);
    }

    Status barrier() override {
        const Status fault = account(CommCall::barrier);
        SPANFFT_TRY(world_.meet(*group_, rank_, CommCall::barrier, nullptr));
        return fault;
    }

    Status allgather(const void* mine, size_t bytes, void* all) override {
        const Status fault = account(CommCall::allgather);
        SPANFFT_TRY(gather(CommCall::allgather, mine, bytes, all));
        return fault;
    }

    Status broadcast(void* data, size_t bytes, int root) override {
        const Status fault = account(CommCall::broadcast);
        SPANFFT_TRY(world_.meet(*group_, rank_, CommCall::broadcast, data));
        if (rank_ != root && bytes) std::memcpy(data, group_->slots[static_cast<size_t>(root)], bytes);
        SPANFFT_TRY(world_.meet(*group_, rank_, CommCall::broadcast, nullptr));
        return fault;
    }

    Result<std::vector<int>> nodes() override {
        std::vector<int> found;
        std::vector<int> seen;
        for (int member : group_->members) {
            const int node = world_.ranks_per_node > 0 ? member / world_.ranks_per_node : 0;
            const auto at = std::find(seen.begin(), seen.end(), node);
            found.push_back(static_cast<int>(at - seen.begin()));
            if (at == seen.end()) seen.push_back(node);
        }
        return found;
    }

    Result<std::unique_ptr<Transfer>> make_alltoallw(const std::vector<StridedPart>& send,
                                                     const std::vector<StridedPart>& receive, Issue issue) override {
        return make_transfer(send, receive, issue == Issue::blocking);
    }
    Result<std::unique_ptr<Transfer>> make_alltoallv(const std::vector<BytesPart>& send,
                                                     const std::vector<BytesPart>& receive, Issue issue) override {
        return make_transfer(strided(send), strided(receive), issue == Issue::blocking);
    }
    Result<std::unique_ptr<Transfer>> make_allgather(index_t bytes) override {
        std::vector<BytesPart> send(group_->members.size(), {0, bytes}), receive = send;
        for (size_t r = 0; r < receive.size(); ++r) receive[r].offset_bytes = static_cast<index_t>(r) * bytes;
        SPANFFT_ASSIGN(auto transfer, make_transfer(strided(send), strided(receive), false));
        static_cast<ThreadTransfer&>(*transfer).count_nothing();
        return transfer;
    }
    bool persistent_collectives() const override { return world_.persistent_collectives; }
    Result<std::unique_ptr<Transfer>> make_persistent_alltoallv(const void* source, const std::vector<BytesPart>& send,
                                                                void* target,
                                                                const std::vector<BytesPart>& receive) override {
        if (!world_.persistent_collectives) return error(Code::unsupported, "there are no persistent collectives here");
        SPANFFT_ASSIGN(auto transfer, make_transfer(strided(send), strided(receive), false));
        static_cast<ThreadTransfer&>(*transfer).bind(source, target);
        return transfer;
    }
    // All ranks make and run their pairs together here, though they need not name one another: so a rank that makes
    // fewer transfers than its partners is found by the deadlock it causes.
    Result<std::unique_ptr<Transfer>> make_pairs(const std::vector<PairParts>& pairs, Pairing pairing) override {
        std::vector<BytesPart> send(group_->members.size()), receive = send;
        index_t end = 0;
        for (const PairParts& pair : pairs) {
            if (pair.peer == rank_ || pair.peer < 0 || pair.peer >= size())
                return error(Code::internal, "rank ", rank_, " names rank ", pair.peer, " as its partner");
            const auto i = static_cast<size_t>(pair.peer);
            if (send[i].bytes || receive[i].bytes) return error(Code::internal, "rank ", pair.peer, " is named twice");
            if (pairing == Pairing::replace &&
                (pair.send.bytes != pair.receive.bytes || pair.send.offset_bytes != pair.receive.offset_bytes))
                return error(Code::internal, "a replacing pair must send and receive the same part");
            send[i] = pair.send;
            receive[i] = pair.receive;
            end = std::max(end, pair.send.offset_bytes + pair.send.bytes);
        }
        SPANFFT_ASSIGN(auto transfer, make_transfer(strided(send), strided(receive), pairing != Pairing::nonblocking));
        if (pairing == Pairing::replace) static_cast<ThreadTransfer&>(*transfer).set_in_place(end);
        return transfer;
    }
    Result<std::unique_ptr<SharedWindow>> make_window(index_t bytes) override {
        const Status fault = account(CommCall::make_window);
        SPANFFT_ASSIGN(const auto node, nodes());
        if (*std::max_element(node.begin(), node.end()) > 0)
            return error(Code::unsupported, "the ranks are on several nodes and can't share memory");
        auto parts = std::make_shared<ThreadWindow::Parts>(group_->members.size());
        SPANFFT_TRY(world_.meet(*group_, rank_, CommCall::make_window, &parts));
        if (rank_ != 0) parts = *static_cast<const std::shared_ptr<ThreadWindow::Parts>*>(group_->slots[0]);
        (*parts)[static_cast<size_t>(rank_)].resize(static_cast<size_t>(bytes));
        SPANFFT_TRY(world_.meet(*group_, rank_, CommCall::make_window, nullptr));
        SPANFFT_TRY(fault);
        auto wait = [this, group = group_] {
            const Status injected = account(CommCall::barrier);
            SPANFFT_TRY(world_.meet(*group, rank_, CommCall::barrier, nullptr));
            return injected;
        };
        return std::unique_ptr<SharedWindow>(new ThreadWindow(std::move(wait), std::move(parts)));
    }

  private:
    static std::vector<StridedPart> strided(const std::vector<BytesPart>& parts) {
        std::vector<StridedPart> result;
        for (const auto& p : parts) result.push_back({p.offset_bytes, {{p.bytes, 1}}, 1});
        return result;
    }
    Status account(CommCall call) { return world_.account(group_->members[static_cast<size_t>(rank_)], call); }

    Status gather(CommCall what, const void* mine, size_t bytes, void* all) {
        SPANFFT_TRY(world_.meet(*group_, rank_, what, mine));
        for (size_t r = 0; r < group_->members.size(); ++r) {
            std::memcpy(static_cast<char*>(all) + r * bytes, group_->slots[r], bytes);
        }
        return world_.meet(*group_, rank_, what, nullptr);
    }

    // A communicator of `members`, whose rank 0 (here: `leader`) makes what they share.
    Result<std::unique_ptr<Comm>> make(CommCall what, std::vector<int> members, int my_rank, int leader,
                                       const Status& fault) {
        std::shared_ptr<ThreadWorld::Shared> shared;
        if (rank_ == leader) shared = std::make_shared<ThreadWorld::Shared>(std::move(members));
        SPANFFT_TRY(world_.meet(*group_, rank_, what, &shared));
        if (rank_ != leader) {
            shared =
                *static_cast<const std::shared_ptr<ThreadWorld::Shared>*>(group_->slots[static_cast<size_t>(leader)]);
        }
        SPANFFT_TRY(world_.meet(*group_, rank_, what, nullptr));
        SPANFFT_TRY(fault);
        return std::unique_ptr<Comm>(new ThreadComm(world_, std::move(shared), my_rank));
    }

    Result<std::unique_ptr<Transfer>> make_transfer(const std::vector<StridedPart>& send,
                                                    const std::vector<StridedPart>& receive, bool at_once) {
        const Status fault = account(CommCall::make_transfer);
        const size_t size = group_->members.size();
        if (send.size() != size || receive.size() != size) return error(Code::internal, "one part a rank is needed");
        auto board = std::make_shared<TransferBoard>();
        board->send.resize(size);
        board->receive.resize(size);
        board->sources.resize(size);
        SPANFFT_TRY(world_.meet(*group_, rank_, CommCall::make_transfer, &board));
        if (rank_ != 0) board = *static_cast<const std::shared_ptr<TransferBoard>*>(group_->slots[0]);
        board->send[static_cast<size_t>(rank_)] = send;
        board->receive[static_cast<size_t>(rank_)] = receive;
        SPANFFT_TRY(world_.meet(*group_, rank_, CommCall::make_transfer, nullptr));
        SPANFFT_TRY(fault);
        // Everyone sees the same fault in the plan: what one sends must be what the other expects.
        for (size_t from = 0; from < size; ++from) {
            for (size_t to = 0; to < size; ++to) {
                const index_t sent = board->send[from][to].bytes(), expected = board->receive[to][from].bytes();
                if (sent != expected) {
                    return error(Code::internal, "rank ", from, " sends ", sent, " bytes to rank ", to,
                                 ", which expects ", expected);
                }
            }
        }
        return std::unique_ptr<Transfer>(new ThreadTransfer(world_, group_, rank_, std::move(board), at_once));
    }

    ThreadWorld& world_;
    std::shared_ptr<ThreadWorld::Shared> group_;
    int rank_;
};

void ThreadWorld::run(const std::function<void(int rank, Comm& comm)>& body) {
    std::vector<int> all;
    for (size_t r = 0; r < ranks_.size(); ++r) all.push_back(static_cast<int>(r));
    auto shared = std::make_shared<Shared>(all);
    alive_ = static_cast<int>(ranks_.size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
        threads.emplace_back([&, rank] {
            {
                ThreadComm comm(*this, shared, rank);
                body(rank, comm);
            }
            const std::lock_guard lock(mutex_);
            ranks_[static_cast<size_t>(rank)].doing = "left";
            if (--alive_ > 0 && blocked_ == alive_) break_world("deadlock: every rank that is left waits");
        });
    }
    for (auto& thread : threads) thread.join();
    blocked_ = 0;
    EXPECT_TRUE(deadlock_expected_ || !deadlocked()) << broken_;
}

}  // namespace spanfft::test
