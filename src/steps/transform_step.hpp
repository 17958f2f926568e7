// Transform: local transforms along axes that are whole on every rank.
//
// Method: one engine call for all axes of one kernel at once (c2c over several axes, r2c with the c2c axes that follow
// it), so that the engine may choose its own order; the loops over the other axes are merged where they are
// contiguous. DCT/DST take one axis a step; on complex data they run on real and imaginary parts.
// The normalisation is one multiplication of the output of the plan's last transform: by the engine while it writes, if
// it can for this rank's part (Engine::scales), else in a sweep of its own, which is predicted and counted.
#pragma once

#include "engine/engine.hpp"
#include "plan/machine.hpp"
#include "plan/problem.hpp"
#include "plan/step.hpp"
#include "steps/row_work.hpp"

namespace spanfft {

struct TransformSpec {
    ArrayState from, to;  // same layout but for the halved axis; the transformed axes are whole
    Kernel kernel = Kernel::c2c_forward;
    std::vector<int> axes;    // of from.layout, in order; r2c/c2r: the halved one last. Empty: a copy
    bool orthogonal = false;  // norm="ortho" of DCT/DST I-III also scales the first or last points, as scipy does
    long double scale = 1;
    Slot source = Slot::input, target = Slot::output;
    std::string engine;                     // forced, or ""
    RateTable rates;                        // of the machine that is planned for, by which the engine is chosen
    Caches caches;                          // of it, a rank's share
    double memory_bytes_per_second = 19e9;  // of it, copied by a thread
    int threads = 1;
    bool measure = false;
    bool in_chunks = false;  // some rows a call (RowsTransform): then scaled in a sweep of its own

    const char* sort() const { return axes.empty() ? "Copy" : axes.size() > 1 ? "Transform:box" : "Transform"; }
    bool in_place() const { return source == target; }
};

Result<std::unique_ptr<Step>> make_transform_step(TransformSpec spec, const Machine& machine,
                                                  std::vector<std::string>& notes);

// The same for some rows a call.
std::unique_ptr<RowWork> transform_in_rows(TransformSpec spec);

// The engine's view of the local part of `rank`.
LocalSpec local_spec(const TransformSpec& spec, int rank);

// Some rows of a rank's part, or all of it (axis < 0): `count` of them along an axis that is not transformed.
struct TransformRows {
    int axis = -1;
    index_t count = 0;
};

// A bound transform of so many rows, wherever they begin. Nothing is planned for no elements.
class RowsTransform {
  public:
    static Result<RowsTransform> make(const TransformSpec& spec, int rank, const TransformRows& rows);
    // in and out are the whole local arrays.
    // Returns what was done: by the engine, as it was given, and by our own copies and sweeps; no seconds.
    Counts run(const void* in, void* out, index_t first_row, Trace* trace) const;
    const std::string& engine() const { return engine_; }  // "" where none was needed

  private:
    RowsTransform() = default;
    Status plan(const LocalSpec& local);
    // These return the bytes that they read and wrote.
    index_t copy_rows(const char* in, char* out) const;
    index_t scale_rows(char* out, bool before) const;

    TransformSpec spec_;
    std::unique_ptr<CountedFft> fft_;
    long double scale_ = 1;  // that the engine leaves to do
    std::string engine_;
    // Outer loops of the arrays before the axis of the rows; in each a contiguous block of rows * inner elements.
    index_t outer_ = 1, in_block_bytes_ = 0, out_block_bytes_ = 0;
    index_t in_row_bytes_ = 0, out_row_bytes_ = 0;      // from one row to the next
    index_t in_outer_bytes_ = 0, out_outer_bytes_ = 0;  // from one block to the next
    Extents block_shape_;                               // of a block of the output
    index_t planes_ = 1, planes_inner_ = 1;             // the transformed axis, where it is one of the outer loops
};

// data[i] *= factor; returns the bytes that it read and wrote.
index_t scale_reals(Precision precision, void* data, index_t count, long double factor);

// 5 n log2 n for a complex axis, half of it for real data; for all of the local array.
double transform_flops(const LocalSpec& spec);

// The kernel that undoes this one (unnormalised).
Kernel inverse_kernel(Kernel kernel);
Kernel kernel_of(AxisKind kind, Direction direction);

}  // namespace spanfft
