// A team of persistent threads that run one function together.
//
// Method: the caller is member 0; the others sleep on a condition variable between jobs, so that a job costs a few
// microseconds and nothing is created or allocated while a plan runs. Work inside a job is shared out by the job
// itself. Members run where TeamCpus says when the team is made; the caller moves to its CPU for a job, if at all, and
// back, so that threads that it makes between jobs don't crowd there. Plans take their teams from shared_team.hpp.
// Invariant: run() returns when every member has returned; one job at a time; stacks are small and fixed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include <pthread.h>

#include <vector>

#include "core/cpus.hpp"
#include "core/extents.hpp"
#include "core/status.hpp"

namespace spanfft {

// Starts a thread with a stack of `stack_bytes`; only the pages that it touches count.
Status start_thread(pthread_t& thread, void* (*body)(void*), void* argument, size_t stack_bytes = size_t{512} << 10);

int available_cores();  // cores that this process may run on, at least 1

// Where the members of a team go.
struct TeamPlace {
    std::vector<cpu_set_t> members;  // of each; an empty set: wherever it starts
    bool moves_caller = false;       // member 0, for the time of a job
    // As TeamCpus::now() says; without one, wherever this thread may run.
    static TeamPlace now(int threads);
    bool operator==(const TeamPlace& other) const;
};

class ThreadTeam {
  public:
    explicit ThreadTeam(int threads) : ThreadTeam(TeamPlace::now(threads)) {}
    explicit ThreadTeam(const TeamPlace& place);  // fewer when the system gives fewer: see size()
    ~ThreadTeam();
    ThreadTeam(const ThreadTeam&) = delete;
    ThreadTeam& operator=(const ThreadTeam&) = delete;

    int size() const { return static_cast<int>(members_.size()) + 1; }
    // Calls job(member) once on every member, the caller included.
    // Allocates nothing, whatever the job refers to.
    template <class Job>
    void run(const Job& job) {
        run_job({[](const void* body, int member) { (*static_cast<const Job*>(body))(member); }, &job});
    }

  private:
    struct Member {
        ThreadTeam* team = nullptr;
        int index = 0;
        pthread_t thread{};
    };
    struct JobRef {
        void (*call)(const void* body, int member) = nullptr;
        const void* body = nullptr;
        void operator()(int member) const { call(body, member); }
    };
    static void* body(void* member);
    void run_job(const JobRef& job);
    void serve(int index);

    std::vector<Member> members_;
    std::mutex mutex_;
    std::condition_variable wake_, finished_;
    JobRef job_;
    std::uint64_t generation_ = 0;
    int running_ = 0;
    bool stop_ = false;
    bool moves_caller_ = false;
    cpu_set_t caller_cpus_{};  // if it moves
};

}  // namespace spanfft
