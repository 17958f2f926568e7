// Who has which team; see shared_team.hpp.
#include "core/shared_team.hpp"

#include <algorithm>
#include <list>

namespace spanfft {

struct SharedTeam::Teams {
    pthread_t asker;
    TeamPlace place;
    int size = 0;                                   // of each team
    int shares = 0;                                 // SharedTeams that are here
    size_t made = 0;                                // teams, also those that are at work
    std::vector<std::unique_ptr<ThreadTeam>> free;  // has room for all of them
};

struct SharedTeam::Registry {
    std::mutex mutex;
    std::list<Teams> teams;

    // Never destroyed: plans may outlive static objects.
    static Registry& get() {
        static Registry* const made = make();
        return *made;
    }
    // A child of fork has the teams, but not their threads: it forgets them, as none can be waited for.
    static Registry* make() {
        (void)pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); },
                             [] {
                                 for (Teams& teams : get().teams) {
                                     for (auto& team : teams.free) (void)team.release();
                                     teams.free.clear();
                                     teams.made = 0;
                                 }
                                 get().mutex.unlock();
                             });
        return new Registry;
    }
};

std::unique_ptr<SharedTeam> SharedTeam::of(int threads) {
    if (threads <= 1) return nullptr;
    const TeamPlace place = TeamPlace::now(threads);
    Registry& registry = Registry::get();
    const std::lock_guard lock(registry.mutex);
    auto found = std::find_if(registry.teams.begin(), registry.teams.end(), [&](const Teams& teams) {
        return pthread_equal(teams.asker, pthread_self()) && teams.place == place;
    });
    if (found == registry.teams.end()) {
        auto team = std::make_unique<ThreadTeam>(place);
        found = registry.teams.emplace(found, Teams{pthread_self(), place, team->size(), 0, 1, {}});
        found->free.push_back(std::move(team));
    }
    ++found->shares;
    return std::unique_ptr<SharedTeam>(new SharedTeam(*found));
}

SharedTeam::~SharedTeam() {
    std::list<Teams> unused;  // their threads end after the lock
    Registry& registry = Registry::get();
    const std::lock_guard lock(registry.mutex);
    if (--teams_.shares > 0) return;
    const auto own = std::find_if(registry.teams.begin(), registry.teams.end(),
                                  [&](const Teams& teams) { return &teams == &teams_; });
    unused.splice(unused.begin(), registry.teams, own);
}

int SharedTeam::size() const { return teams_.size; }

SharedTeam::Lease::Lease(Teams& teams) : teams_(teams) {
    {
        const std::lock_guard lock(Registry::get().mutex);
        if (!teams.free.empty()) {
            team_ = std::move(teams.free.back());
            teams.free.pop_back();
            return;
        }
    }
    team_ = std::make_unique<ThreadTeam>(teams.place);
    if (team_->size() < teams.size) {
        team_.reset();
        return;
    }
    const std::lock_guard lock(Registry::get().mutex);
    teams.free.reserve(++teams.made);
}

SharedTeam::Lease::~Lease() {
    if (!team_) return;
    const std::lock_guard lock(Registry::get().mutex);
    teams_.free.push_back(std::move(team_));
}

}  // namespace spanfft
