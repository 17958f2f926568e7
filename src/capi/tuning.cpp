// The tuning store and the probe through the C interface; see include/spanfft/spanfft.h.
#include <algorithm>
#include <cstring>

#include "capi/handles.hpp"
#include "capi/problem.hpp"
#include "exec/probe.hpp"
#include "plan/kept_wisdom.hpp"
#include "plan/machine_file.hpp"
#include "plan/tuning_store.hpp"

using namespace spanfft;

int spanfft_tuning_path(char** path) {
    return report([&]() -> Status {
        if (!path) return error(Code::invalid_argument, "path is NULL; pass where the text shall go");
        *path = copy_text(tuning_path());
        return Status();
    });
}

int spanfft_tuning_export(char** text) {
    return report([&]() -> Status {
        if (!text) return error(Code::invalid_argument, "text is NULL; pass where the text shall go");
        SPANFFT_ASSIGN(const TuningStore store, read_tuning());
        *text = copy_text(store.print());
        return Status();
    });
}

int spanfft_tuning_import(const char* text, int* added) {
    return report([&]() -> Status {
        if (!text) return error(Code::invalid_argument, "text is NULL; pass records of tuning");
        SPANFFT_ASSIGN(const int n, gain_tuning(TuningStore::parse(text)));
        if (added) *added = n;
        return Status();
    });
}

int spanfft_tuning_forget(const char* problem, int* removed) {
    return report([&]() -> Status {
        std::string key;
        if (problem) {
            SPANFFT_ASSIGN(const Problem parsed, Problem::parse(problem));
            key = tuning_twin(parsed).print();
        }
        SPANFFT_ASSIGN(const int n, forget_tuning(key));
        if (!problem) SPANFFT_TRY(forget_wisdom());
        if (removed) *removed = n;
        return Status();
    });
}

int spanfft_probe_kept(spanfft_comm* comm, char** machine) {
    return report([&]() -> Status {
        if (!machine) return error(Code::invalid_argument, "machine is NULL; pass where the text shall go");
        const std::unique_ptr<Comm> alone = make_self_comm();
        const Comm& ranks = comm ? *comm->comm : *alone;
        *machine = copy_text(stored_machine_text(ranks.library(), ranks.size()));
        return Status();
    });
}

int spanfft_probe(spanfft_comm* comm, const spanfft_probe_options* options, char** machine) {
    return report([&]() -> Status {
        spanfft_probe_options given{};
        if (options) std::memcpy(&given, options, std::min(options->size, sizeof given));
        const std::unique_ptr<Comm> alone = make_self_comm();
        Comm& ranks = comm ? *comm->comm : *alone;
        ProbeOptions wish;
        if (given.seconds > 0) wish.cap_seconds = given.seconds;
        wish.quick = given.quick != 0;
        if (given.disk_folder) wish.disk_folder = given.disk_folder;
        auto folders = folder_names(given.scratch_count, given.scratch_folders);
        SPANFFT_TRY(agree(ranks, folders.status()));
        wish.scratch_folders = std::move(folders).value();
        SPANFFT_ASSIGN(const Machine measured, probe(ranks, wish));
        Status stored;
        if (!given.dont_store && ranks.rank() == 0)
            stored = store_machine(measured, ranks.size(), measured.topology.nodes(ranks.size()));
        SPANFFT_TRY(agree(ranks, stored));
        if (machine) *machine = copy_text(print_machine(measured));
        return Status();
    });
}
