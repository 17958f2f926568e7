// Teams of threads that plans share: idle threads cost memory and crowd the lists of threads.
//
// Method: the process keeps teams by how many threads they have, where these run, and which thread of the user's asked.
// Whoever will run jobs holds a SharedTeam, which is a share in such teams; for each job it takes one that is free.
// What one thread plans it mostly runs too, one plan after the other, so that one team does for all its plans. Where
// two of them run at once after all, the second takes another team, which is made then and kept. Invariant: the threads
// live as long as a SharedTeam that may use them. A child of fork, in which they are not, makes its own when a job
// comes.
#pragma once

#include <memory>

#include "core/extents.hpp"
#include "core/threads.hpp"

namespace spanfft {

class SharedTeam {
  public:
    // nullptr for a single thread; placed as TeamPlace::now() says.
    static std::unique_ptr<SharedTeam> of(int threads);
    // The same for work on so many bytes of memory; nullptr too where that is too little to wake threads for.
    static std::unique_ptr<SharedTeam> of(int threads, index_t bytes) {
        constexpr index_t kLeastBytes = index_t{1} << 20;  // waking threads costs what a sweep over some 100 KiB does
        return of(bytes < kLeastBytes ? 1 : threads);
    }
    ~SharedTeam();
    SharedTeam(const SharedTeam&) = delete;
    SharedTeam& operator=(const SharedTeam&) = delete;

    int size() const;  // fewer than asked for when the system gives fewer
    // Calls job(member) once for every member. Members must not wait for one another: where no team is free and the
    // system gives no more threads, the caller does the work of all, member by member.
    template <class Job>
    void run(const Job& job) const {
        const Lease lease(teams_);
        if (lease.team()) return lease.team()->run(job);
        for (int member = 0; member < size(); ++member) job(member);
    }

  private:
    struct Teams;     // that are alike
    struct Registry;  // of the process
    class Lease {
      public:
        explicit Lease(Teams& teams);
        ~Lease();
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        ThreadTeam* team() const { return team_.get(); }

      private:
        Teams& teams_;
        std::unique_ptr<ThreadTeam> team_;  // nullptr: none was to be had
    };
    explicit SharedTeam(Teams& teams) : teams_(teams) {}

    Teams& teams_;
};

}  // namespace spanfft
