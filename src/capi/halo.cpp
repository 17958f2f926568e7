// Halos; see include/spanfft/spanfft.h.
#include "exec/halo.hpp"

#include "capi/handles.hpp"

using namespace spanfft;

struct spanfft_halo {
    std::unique_ptr<Halo> halo;
    int batch_axes = 0;
    pid_t made_by = getpid();
};

namespace {

// In a child of fork neither MPI nor the barriers of its parent are there.
Status check_halo(const spanfft_halo* halo) {
    if (!halo) return error(Code::invalid_argument, "the halo is NULL; make it with spanfft_halo_create");
    if (halo->made_by != getpid())
        return error(Code::unsupported, "the halo was made in process ", halo->made_by, ", and this is process ",
                     getpid(), " (fork); make a plan and its halo in this process");
    return Status();
}

Result<std::vector<HaloWidth>> widths_from_c(const int64_t* before, const int64_t* after, int ndim) {
    if (!before || !after)
        return error(Code::invalid_argument, "the widths before or after are NULL; give one for each of ", ndim,
                     " axes");
    std::vector<HaloWidth> widths;
    for (int axis = 0; axis < ndim; ++axis) widths.push_back({before[axis], after[axis]});
    return widths;
}

}  // namespace

int spanfft_halo_create(const spanfft_plan* plan, const int64_t* before, const int64_t* after, spanfft_halo** halo) {
    return report([&]() -> Status {
        SPANFFT_TRY(check_runs(plan));
        const Problem& problem = plan->plan->problem;
        auto widths = widths_from_c(before, after, problem.ndim());
        if (widths.ok() && !halo) widths = error(Code::invalid_argument, "halo is NULL; pass where the halo shall go");
        const std::vector<HaloWidth> given = widths.ok() ? widths.value() : std::vector<HaloWidth>();
        SPANFFT_ASSIGN(auto made, plan->executor->make_halo(given, widths.status()));
        auto handle = std::make_unique<spanfft_halo>();
        handle->halo = std::move(made);
        handle->batch_axes = problem.batch > 1 ? 1 : 0;
        *halo = handle.release();
        return Status();
    });
}

int spanfft_halo_part(const spanfft_halo* halo, spanfft_part* part) {
    return report([&]() -> Status {
        SPANFFT_TRY(check_halo(halo));
        const Patch& extended = halo->halo->extended();
        spanfft_part value{};
        value.size = sizeof value;
        for (size_t axis = static_cast<size_t>(halo->batch_axes), i = 0; axis < extended.size(); ++axis, ++i) {
            value.start[i] = extended[axis].start;
            value.count[i] = extended[axis].count;
            value.step[i] = 1;
        }
        return give(value, part);
    });
}

int64_t spanfft_halo_bytes(const spanfft_halo* halo) { return halo ? halo->halo->extended_bytes() : 0; }

int64_t spanfft_halo_part_bytes(const spanfft_halo* halo) { return halo ? halo->halo->part_bytes() : 0; }

int spanfft_halo_exchange(spanfft_halo* halo, const void* part, void* extended) {
    return report([&]() -> Status {
        SPANFFT_TRY(check_halo(halo));
        return halo->halo->exchange(part, extended);
    });
}

int spanfft_halo_add(spanfft_halo* halo, const void* extended, void* part) {
    return report([&]() -> Status {
        SPANFFT_TRY(check_halo(halo));
        return halo->halo->add(extended, part);
    });
}

int spanfft_halo_predicted(const spanfft_halo* halo, int call, spanfft_counts* counts) {
    return report([&]() -> Status {
        SPANFFT_TRY(check_halo(halo));
        if (call == SPANFFT_HALO_COST_ADD) return give(counts_to_c(halo->halo->predict_add()), counts);
        if (call != SPANFFT_HALO_COST_EXCHANGE && call != SPANFFT_HALO_COST_EXCHANGE_OWN)
            return error(Code::invalid_argument, "the call is ", call, "; use one of SPANFFT_HALO_COST_EXCHANGE (",
                         SPANFFT_HALO_COST_EXCHANGE, ") to SPANFFT_HALO_COST_ADD (", SPANFFT_HALO_COST_ADD, ")");
        return give(counts_to_c(halo->halo->predict_exchange(call == SPANFFT_HALO_COST_EXCHANGE_OWN)), counts);
    });
}

int spanfft_halo_counted(const spanfft_halo* halo, spanfft_counts* counts) {
    return report([&]() -> Status {
        SPANFFT_TRY(check_halo(halo));
        if (!halo->halo->counted())
            return error(Code::invalid_argument, "nothing is counted yet; exchange or add first");
        return give(counts_to_c(*halo->halo->counted()), counts);
    });
}

// In a child of fork it is left to the end of the process, as plans on ranks are.
void spanfft_halo_free(spanfft_halo* halo) {
    if (halo && halo->made_by == getpid()) delete halo;
}
