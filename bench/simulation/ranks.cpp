// What each simulated rank runs: one plan, executed once, with the simulated seconds that it takes as JSON on rank 0.
//
// Method: the plan comes from a problem string, with grid and exchange by name. SimGrid's clock is asked after
// barriers; computing takes no time on it (smpi/simulate-computation:no), so what passes is the exchanges. With
// "check", a few impulses are transformed: each place of the spectrum then has a value of its own, known in closed
// form, so data that went astray shows. In folded memory all ranks write the same pages, and values mean nothing.
#include <mpi.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "spanfft/spanfft_mpi.h"

namespace {

using Complex = std::complex<double>;
constexpr double kTurn = 6.283185307179586476925286766559;

struct Impulse {
    double place;  // as a share of each axis
    Complex value;
};
const Impulse kImpulses[] = {{0, {1, 0.5}}, {0.29, {-0.75, 0.25}}, {0.83, {0.5, -1.25}}};

void must(int code, const char* what) {
    if (code == SPANFFT_OK) return;
    std::fprintf(stderr, "%s: %s\n", what, spanfft_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

spanfft_part part_of(const spanfft_plan* plan, bool output) {
    spanfft_part part;
    std::memset(&part, 0, sizeof part);
    part.size = sizeof part;
    must(output ? spanfft_plan_output_part(plan, &part) : spanfft_plan_input_part(plan, &part), "part");
    return part;
}

// Calls visit(place in the local array, global index along each axis) for all of a rank's part.
template <class Visit>
void each_place(const spanfft_part& part, int ndim, Visit visit) {
    std::vector<int64_t> at(static_cast<size_t>(ndim)), local(at);
    int64_t count = 1;
    for (int axis = 0; axis < ndim; ++axis) count *= part.count[axis];
    for (int64_t i = 0; i < count; ++i) {
        int64_t rest = i;
        for (int axis = ndim; axis-- > 0; rest /= part.count[axis])
            at[static_cast<size_t>(axis)] = part.start[axis] + rest % part.count[axis] * part.step[axis];
        visit(i, at);
    }
}

class Impulses {
  public:
    explicit Impulses(const spanfft_plan* plan) {
        int64_t shape[SPANFFT_MAX_NDIM];
        shape_.resize(static_cast<size_t>(spanfft_plan_input_shape(plan, shape)));
        for (size_t axis = 0; axis < shape_.size(); ++axis) shape_[axis] = shape[axis];
    }
    void fill(const spanfft_plan* plan, Complex* data) const {
        each_place(part_of(plan, false), ndim(), [&](int64_t i, const std::vector<int64_t>& at) {
            data[i] = 0;
            for (const Impulse& impulse : kImpulses) {
                bool here = true;
                for (size_t axis = 0; axis < shape_.size(); ++axis) here = here && at[axis] == place(impulse, axis);
                if (here) data[i] += impulse.value;
            }
        });
    }
    // The largest difference from the spectrum, over all ranks, as a share of the largest value.
    double error(const spanfft_plan* plan, const Complex* data) const {
        double largest = 0, all = 0;
        each_place(part_of(plan, true), ndim(), [&](int64_t i, const std::vector<int64_t>& at) {
            Complex sum = 0;
            for (const Impulse& impulse : kImpulses) {
                double turns = 0;  // of each axis less than one, so that nothing is lost
                for (size_t axis = 0; axis < shape_.size(); ++axis)
                    turns += static_cast<double>(at[axis] * place(impulse, axis) % shape_[axis]) /
                             static_cast<double>(shape_[axis]);
                sum += impulse.value * std::polar(1.0, -kTurn * turns);
            }
            largest = std::max(largest, std::abs(data[i] - sum));
        });
        MPI_Allreduce(&largest, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        double scale = 0;
        for (const Impulse& impulse : kImpulses) scale += std::abs(impulse.value);
        return all / scale;
    }

  private:
    int ndim() const { return static_cast<int>(shape_.size()); }
    int64_t place(const Impulse& impulse, size_t axis) const {
        return static_cast<int64_t>(impulse.place * static_cast<double>(shape_[axis]));
    }
    std::vector<int64_t> shape_;
};

// From when all ranks are ready to when the last one is done.
double timed(spanfft_plan* plan, const void* in, void* out) {
    MPI_Barrier(MPI_COMM_WORLD);
    double times[2] = {MPI_Wtime(), 0}, latest[2];
    must(spanfft_execute(plan, in, out), "execute");
    times[1] = MPI_Wtime();
    MPI_Allreduce(times, latest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return latest[1] - latest[0];
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    // smpirun hands words over one by one.
    const bool check = argc > 1 && std::string(argv[1]) == "check";
    std::string problem;
    for (int i = 2; i < argc; ++i) problem += (problem.empty() ? "" : " ") + std::string(argv[i]);
    spanfft_comm* comm = nullptr;
    must(spanfft_comm_from_mpi(MPI_COMM_WORLD, &comm), "communicator");
    spanfft_plan* plan = nullptr;
    must(spanfft_plan_parse(problem.c_str(), comm, &plan), "plan");
    const auto allocate = [](int64_t bytes) {
        return std::aligned_alloc(4096, (static_cast<size_t>(bytes) + 4095) / 4096 * 4096);
    };
    void* in = allocate(spanfft_plan_input_bytes(plan));
    void* out = allocate(spanfft_plan_output_bytes(plan));
    MPI_Barrier(MPI_COMM_WORLD);  // all have made their plans, and checked the engine
    if (!check) setenv("SIMULATED_VALUES", "0", 1);
    const Impulses impulses(plan);
    if (check) impulses.fill(plan, static_cast<Complex*>(in));
    const double seconds = timed(plan, in, out);
    const double error = check ? impulses.error(plan, static_cast<const Complex*>(out)) : -1;
    spanfft_counts counts;
    std::memset(&counts, 0, sizeof counts);
    counts.size = sizeof counts;
    must(spanfft_plan_counted(plan, -1, &counts), "counted");
    if (rank == 0)
        std::printf("{\"ranks\": %d, \"seconds\": %.9g, \"error\": %.3g, \"messages\": %lld, \"sent_bytes\": %lld}\n",
                    ranks, seconds, error, static_cast<long long>(counts.messages),
                    static_cast<long long>(counts.sent_bytes));
    std::free(in);
    std::free(out);
    spanfft_plan_free(plan);
    spanfft_comm_free(comm);
    MPI_Finalize();
    return 0;
}
