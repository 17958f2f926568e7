// Persistent threads; see threads.hpp.
#include "core/threads.hpp"

#include <algorithm>

namespace spanfft {

Status start_thread(pthread_t& thread, void* (*body)(void*), void* argument, size_t stack_bytes) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    pthread_attr_setstacksize(&attributes, stack_bytes);
#else
    (void)stack_bytes;  // instrumented frames need the default
#endif
    const int failure = pthread_create(&thread, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    return failure
               ? error_errno(Code::out_of_memory, failure,
                             "could not start a thread; give fewer threads= or ranks, or raise the limit (ulimit -u)")
               : Status();
}

int available_cores() {
    const cpu_set_t cores = allowed_cpus();
    return std::max(1, CPU_COUNT(&cores));
}

TeamPlace TeamPlace::now(int threads) {
    const TeamCpus* const cpus = TeamCpus::now();
    const cpu_set_t anywhere = allowed_cpus();
    TeamPlace place{{}, cpus && cpus->moves_caller()};
    for (int member = 0; member < std::max(threads, 1); ++member) {
        const cpu_set_t own = cpus ? cpus->of_member(member) : cpu_set_t{};
        place.members.push_back(CPU_COUNT(&own) > 0 ? own : anywhere);
    }
    return place;
}

bool TeamPlace::operator==(const TeamPlace& other) const {
    return moves_caller == other.moves_caller &&
           std::equal(members.begin(), members.end(), other.members.begin(), other.members.end(),
                      [](const cpu_set_t& a, const cpu_set_t& b) { return CPU_EQUAL(&a, &b) != 0; });
}

ThreadTeam::ThreadTeam(const TeamPlace& place)
    : moves_caller_(place.moves_caller && place.members.size() > 1), caller_cpus_(place.members.front()) {
    members_.resize(place.members.size() - 1);
    for (size_t i = 0; i < members_.size(); ++i) {
        members_[i].team = this;
        members_[i].index = static_cast<int>(i) + 1;
        if (!start_thread(members_[i].thread, &ThreadTeam::body, &members_[i], size_t{8} << 20).ok()) {
            members_.resize(i);  // no growth, so the members that run keep their addresses
            break;
        }
        // A CPU that went away meanwhile (a container's limits changed) leaves the thread where it may run.
        const cpu_set_t& cpus = place.members[i + 1];
        if (CPU_COUNT(&cpus) > 0) (void)pthread_setaffinity_np(members_[i].thread, sizeof cpus, &cpus);
    }
}

ThreadTeam::~ThreadTeam() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    for (Member& member : members_) pthread_join(member.thread, nullptr);
}

void* ThreadTeam::body(void* member) {
    auto* self = static_cast<Member*>(member);
    self->team->serve(self->index);
    return nullptr;
}

void ThreadTeam::serve(int index) {
    std::uint64_t seen = 0;
    for (;;) {
        JobRef job;
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
            if (stop_) return;
            seen = generation_;
            job = job_;
        }
        job(index);
        {
            std::lock_guard lock(mutex_);
            if (--running_ == 0) finished_.notify_one();
        }
    }
}

void ThreadTeam::run_job(const JobRef& job) {
    if (members_.empty()) return job(0);
    {
        std::lock_guard lock(mutex_);
        job_ = job;
        running_ = static_cast<int>(members_.size());
        ++generation_;
    }
    wake_.notify_all();
    cpu_set_t before;
    const bool moved = moves_caller_ && sched_getaffinity(0, sizeof before, &before) == 0 &&
                       sched_setaffinity(0, sizeof caller_cpus_, &caller_cpus_) == 0;
    job(0);
    if (moved) (void)sched_setaffinity(0, sizeof before, &before);
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return running_ == 0; });
}

}  // namespace spanfft
