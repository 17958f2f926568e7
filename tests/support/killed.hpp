// kill -9 of a run by its own hand, when a share of it is done: so every sweep is reached, whatever the machine's
// speed.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/extents.hpp"

namespace spanfft::test {

// Calls run(progress) in a child, and returns whether the child was killed.
template <class Run>
bool killed_at(double share, const Run& run) {
    const pid_t child = fork();
    if (child == 0) {
        (void)run([=](index_t done, index_t total) {
            if (static_cast<double>(done) >= share * static_cast<double>(total)) raise(SIGKILL);
            return true;
        }).ok();
        _exit(0);
    }
    int outcome = 0;
    return waitpid(child, &outcome, 0) == child && WIFSIGNALED(outcome);
}

}  // namespace spanfft::test
