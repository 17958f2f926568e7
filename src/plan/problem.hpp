// Problem: what is to be transformed and within which means; a value that can be compared, printed and parsed.
//
// The one-line problem string is shared by tests, benchmarks, the tuner and the command line:
//     KIND SHAPE [forward|backward] [float|double|longdouble] [key=value ...]
//     r2c 256x256x256 forward double axes=0,1,2 ranks=4 grid=2x2 output=exchanged engine=mkl
// KIND is c2c, r2c, c2r (r2c backward), dct1..dct4, dst1..dst4, or a comma list with one kind an axis of `axes`.
// The keys and flags are a table, problem_keys.hpp. What
// equals its default is not printed; parse(print(p)) == p. Invariant after check(): every size is positive and the
// element count times 32 bytes fits 63 bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "core/extents.hpp"
#include "core/status.hpp"
#include "disk/number_format.hpp"
#include "layout/layout.hpp"

namespace spanfft {

enum class AxisKind : int { c2c, r2c, dct1, dct2, dct3, dct4, dst1, dst2, dst3, dst4 };
constexpr int kAxisKinds = 10;
enum class Direction : int { forward, backward };
// Which direction carries the factor 1/N (numpy's norm): backward = backward, ortho = 1/sqrt(N) each, forward =
// forward.
enum class Norm : int { backward, ortho, forward };
// Where the spectrum lies on ranks: divided like the input, or left where the last exchange put it.
enum class SpectrumOrder : int { natural, exchanged };
// measure: as tuned before, else the best candidates are timed; tune: they are timed in any case.
enum class Effort : int { estimate, measure, tune };

struct Problem {
    Extents shape;                // of one array in real space (r2c: the real lengths), slowest axis first
    Extents kept;                 // modes that the spectrum keeps along each axis, padded ones fewer; empty: all
    std::vector<int> axes;        // transformed, as numpy's axes; the last one is halved by r2c
    std::vector<AxisKind> kinds;  // one for each of axes
    Direction direction = Direction::forward;
    Precision precision = Precision::dbl;
    Norm norm = Norm::backward;
    index_t batch = 1;  // arrays, one after the other in each rank's memory or in the file

    int ranks = 1;
    Extents grid;                       // empty: the planner chooses; else its product is ranks; entry i divides axis i
    Division layout = Division::block;  // of both sides; cyclic: index i of an axis lies on part i mod grid[axis]
    SpectrumOrder output = SpectrumOrder::natural;
    std::vector<Patch> real_boxes, spectrum_boxes;  // one a rank; empty: balanced blocks
    index_t memory_bytes = 0;  // > 0: the array is on disk and each process may use this much memory
    int disks = 0;             // of its own, over which scratch is striped, alike; 0: none, it lies with the output
    Extents input_chunk, output_chunk;  // > 0 an axis: a chunked array behind functions of the caller's; empty: a file
    int threads = 0;                    // inside a rank; 0: the planner chooses
    std::string engine;                 // "": the planner chooses
    std::string exchange;               // "": the planner chooses
    std::string io;      // who reads and writes files: "auto", "uring", "threads"; "": SPANFFT_IO, else auto
    std::string method;  // a row of the solver table, with ":PARAMETERS" as it has them; "": the planner chooses
    Effort effort = Effort::estimate;
    double measure_seconds = 0;  // the cap of effort measure and tune; 0: the default
    bool in_place = false;       // input and output are the same memory
    bool own_output = false;     // the output is an array of the plan, which on one node all ranks can write
    bool own_input = false;      // the input is, and on one node all ranks can read it
    // Work that is fused into the transform of a file (block_work.hpp), but for factor, which any can have.
    std::string window;  // what is read is multiplied by it along the last of axes; "": none
    double factor = 1;   // the output is multiplied by it, besides norm
    bool power = false;  // |x|^2 is stored of every output element
    // No element of the input is read twice, as callbacks with side effects need it.
    bool reads_once = false;
    // Rank 0 alone writes the array of output_chunk, as a library must that can't share its file (HDF5).
    bool one_writer = false;
    std::optional<ElemType> store;     // as what output elements are stored; else as computed, or (power) its real type
    std::optional<NumberFormat> load;  // as what input elements lie in the file; else as input_elem() says

    bool operator==(const Problem&) const = default;

    // check()ed. Where neither ranks= nor grid= tells the number of ranks, it is ranks_if_unsaid.
    static Result<Problem> parse(const std::string& text, int ranks_if_unsaid = 1);
    std::string print() const;
    Status check() const;

    int ndim() const { return static_cast<int>(shape.size()); }
    bool halves() const;               // some axis is r2c
    int halved_axis() const;           // the r2c axis, or -1
    bool real_is_complex() const;      // element type in real space
    bool spectrum_is_complex() const;  // element type of the spectrum
    bool pads() const;                 // the spectrum keeps fewer modes of some axis than real space has points
    index_t modes(int axis) const { return kept.empty() ? shape[at(axis)] : kept[at(axis)]; }
    Extents spectrum_shape() const;  // the kept modes; the r2c axis has n/2+1 of n
    // What goes in and what comes out, by direction; shapes without the batch.
    bool forward() const { return direction == Direction::forward; }
    Extents input_shape() const { return forward() ? shape : spectrum_shape(); }
    Extents output_shape() const { return forward() ? spectrum_shape() : shape; }
    ElemType input_elem() const { return {precision, forward() ? real_is_complex() : spectrum_is_complex()}; }
    ElemType output_elem() const { return {precision, forward() ? spectrum_is_complex() : real_is_complex()}; }

    // What the output holds, and whether that is not what output_elem() says and lies where sweeps write: then it has
    // no room for what is still being computed. (A chunked array is written from a file of what was computed.)
    ElemType stored_elem() const;
    bool stores_other() const { return output_chunk.empty() && !(stored_elem() == output_elem()); }

    // Whether the elements of the input file are converted on the way in, and the bytes of one of them.
    bool loads_other() const { return load && !load->is(input_elem()); }
    index_t loaded_bytes() const { return load ? load->bytes() : static_cast<index_t>(input_elem().bytes()); }

    // The factor that the output is multiplied by, and the kind that the axis has in this direction's reverse.
    long double scale() const;
    index_t logical_length(size_t i) const;  // of axes[i]: n; 2(n-1), 2(n+1) or 2n for DCT/DST

    int scratch_disks() const { return std::max(1, disks); }  // that scratch is striped over

    Problem as_one_array() const;  // the batch, if any, as a slower axis: a file holds one array

    uint64_t hash() const;  // of print(): ranks compare it before planning

  private:
    static size_t at(int axis) { return static_cast<size_t>(axis); }
};

const char* axis_kind_name(AxisKind kind);
constexpr bool is_r2r(AxisKind kind) { return kind >= AxisKind::dct1; }
// The kind whose unnormalised transform undoes this one's: dct2 <-> dct3, dst2 <-> dst3, the others themselves.
AxisKind inverse_kind(AxisKind kind);

// "float32", ... as elem_name() has them.
Result<ElemType> parse_elem(const std::string& text);

// "256MiB", "4GB", "1048576" -> bytes.
Result<index_t> parse_bytes(const std::string& text);
std::string bytes_string(double bytes);  // "256 MiB", "1.50 GiB" for people

}  // namespace spanfft
