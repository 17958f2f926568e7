/* Power cuts for programs that are linked with this library, or run with it preloaded: what they do to the files below
   a folder is recorded, and the folder can then be brought into a state that a power cut after any of these operations
   may have left (recorded_disk.hpp has the model). While a folder is watched, flushes are recorded and not carried out,
   and O_DIRECT is left out, so that thousands of runs take seconds. stat tells of the files of a state what it told of
   them before. What an io_uring writes is seen where it was made and entered by syscall(2), as spanfft's are; what is
   mapped is not. */
#ifndef SPANFFT_TESTS_POWER_CUT_H
#define SPANFFT_TESTS_POWER_CUT_H

#include <stdint.h>

#define POWER_CUT_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* Records what happens below `root` from now on; what is there is taken to be on the disk. A number for the other
   calls, or -1. One recording at a time. */
POWER_CUT_API int power_cut_record(const char* root);
/* Ends it: the number of operations; -1 where the model lacks one, which power_cut_describe tells of operation 0. */
POWER_CUT_API int64_t power_cut_stop(void);
POWER_CUT_API const char* power_cut_describe(int recording, int64_t operation);
/* A state: after so many operations; `fate` counts as in recorded_disk.hpp. */
struct power_cut_cut {
    int64_t operation;
    int fate;
    unsigned seed;
};
enum { POWER_CUT_EVERYTHING = 1, POWER_CUT_NAMES_IN_ORDER = 6, POWER_CUT_FATES = 7 };
/* Replaces what is below the root by a state. Returns a hash of the state. With build == 0 the hash alone. */
POWER_CUT_API uint64_t power_cut_state(int recording, struct power_cut_cut cut, int build);
/* Chooses states to try (RecordedDisk::choose), far more with all != 0; how many, and each. */
POWER_CUT_API int64_t power_cut_choose(int recording, int all);
POWER_CUT_API struct power_cut_cut power_cut_chosen(int64_t index);
POWER_CUT_API const char* power_cut_fate(int fate);
/* Flushes and stat are the system's again; recordings are forgotten. */
POWER_CUT_API void power_cut_end(void);

#ifdef __cplusplus
}
#endif

#endif
