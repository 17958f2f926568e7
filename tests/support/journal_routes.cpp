// Plans, disks and files of the journal's tests; see journal_routes.hpp.
#include "support/journal_routes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include "disk/checksum.hpp"

#include "solvers/table.hpp"

namespace spanfft::test {

const std::vector<JournalRoute>& journal_routes() {
    static const std::vector<JournalRoute> routes = {
        {"c2c 1024 forward double memory=44KiB threads=1", solve_two_sweeps, "blocks in scratch"},
        {"c2c 262144 forward double memory=3MiB threads=1", solve_two_sweeps, "columns in place in the output"},
        {"c2c 4096 forward double memory=100KiB threads=1 output=exchanged", solve_two_sweeps, "slabs in place"},
        {"r2c 1024 forward double memory=48KiB threads=1", solve_two_sweeps, "conjugate halves written"},
        {"c2r 1200 backward float memory=60KiB threads=2", solve_two_sweeps, "conjugate halves read"},
        {"dct2 1000 forward double memory=66KiB threads=1", solve_two_sweeps, "a real kind"},
        {"c2c 9x200 forward double axes=1 memory=40KiB threads=1", solve_two_sweeps, "a batch"},
        {"c2r 64x96 backward double memory=48KiB threads=1", solve_axis_sweeps, "by way of scratch"},
        {"c2c 70x96 forward double memory=48KiB threads=1", solve_axis_sweeps, "columns in place, ragged panels"},
        {"c2c 20x30x40 forward double memory=28KiB threads=1", solve_axis_sweeps, "twice in place"},
        {"c2c 5x70x96 forward double axes=1,2 memory=64KiB threads=1", solve_axis_sweeps, "a few matrices in place"},
        {"c2c 12x70x96 forward double axes=1,2 memory=64KiB threads=1", solve_axis_sweeps, "many matrices in place"},
        {"c2c 4096 forward double memory=64KiB threads=1", solve_many_sweeps, "Stockham's order"},
        {"r2c 6000 forward double memory=64KiB threads=1", solve_many_sweeps, "halves in two regions"},
        {"r2c 6000 forward double memory=140KiB threads=1", solve_many_sweeps, "whole sections and their reflections"},
        {"c2c 70x96 forward double memory=96KiB threads=1", solve_two_sweeps, "rows for elements"},
        {"c2c 2062 forward double memory=96KiB threads=1", solve_chirp_sweeps, "a filter beside the array"},
        {"c2c 3x2062 forward double axes=1 memory=128KiB threads=1", solve_chirp_sweeps,
         "a filter that a batch shares"},
        {"c2c 1024 forward double memory=40KiB threads=1 method=superlevels:block=1KiB", solve_superlevels,
         "memoryloads, asynchronous"},
        {"c2c 512 backward float memory=14KiB threads=2 method=superlevels:sync,block=512", solve_superlevels,
         "memoryloads, one by one"},
        {"c2c 61x50 forward double memory=29KiB threads=1 input_chunk=7x9 output_chunk=9x7", by_planner,
         "chunked arrays, columns in place"},
        {"c2c 20x30x40 forward double memory=40KiB threads=2 input_chunk=3x4x5 output_chunk=20x2x3", by_planner,
         "chunked arrays of three axes"},
        {"c2c 4096 forward float memory=40KiB threads=1 method=two_sweeps input_chunk=100 output_chunk=77", by_planner,
         "chunked arrays, blocks in scratch"},
        {"r2c 6000 forward double memory=64KiB threads=1 method=many_sweeps output_chunk=100", by_planner,
         "a chunked output of halves"},
        {"c2r 6000 backward double memory=64KiB threads=1 method=many_sweeps input_chunk=90", by_planner,
         "a chunked input, whole sections and their mirror images"},
        {"c2r 6000 backward double memory=58KiB threads=1 method=many_sweeps input_chunk=90", by_planner,
         "a chunked input, some of which is read twice"},
        {"c2r 6000 backward double memory=64KiB threads=1", solve_many_sweeps,
         "whole sections and their mirror images"},
        {"r2c 150x145 forward float memory=32KiB threads=1 input_chunk=150x1 output_chunk=1x100", by_planner,
         "chunked arrays, one strided"},
        {"c2r 1200 backward float memory=60KiB threads=2 method=two_sweeps input_chunk=50 output_chunk=70", by_planner,
         "chunked conjugate halves"},
        {"r2c 2048 forward double memory=56KiB threads=1 method=two_sweeps input_chunk=128 output_chunk=16", by_planner,
         "chunked arrays, conjugate halves written"},
        {"dct2 80x60 backward double memory=30KiB threads=1 input_chunk=80x3 output_chunk=4x60", by_planner,
         "chunked arrays, a real kind"},
        {"c2c 1024 forward double memory=44KiB threads=1 method=superlevels:block=1KiB input_chunk=64 output_chunk=100",
         by_planner, "chunked arrays in memoryloads"},
        {"c2c 2062 forward double memory=96KiB threads=1 method=chirp_sweeps input_chunk=300 output_chunk=200",
         by_planner, "chunked arrays and a chirp"},
        {"r2c 70x96 forward double axes=1,0 memory=64KiB threads=1", solve_axis_sweeps,
         "halved columns, then slabs in place"},
        {"r2c 20x30x41 forward double axes=0,2,1 memory=36KiB threads=1", solve_axis_sweeps,
         "halved in the middle, then twice in place"},
        {"c2r 20x30x41 backward float axes=2,1,0 memory=28KiB threads=1", solve_axis_sweeps,
         "by way of scratch to halved columns"},
        {"r2c 150x145 forward double memory=64KiB threads=1 power store=float32 output_chunk=7x100", by_planner,
         "a chunked output of power in a smaller type"},
        {"r2c 16x8192 forward float memory=640KiB threads=1", solve_axis_sweeps, "slabs, then an axis in two sweeps"},
        {"c2r 16x8192 backward float memory=640KiB threads=1", solve_axis_sweeps, "an axis in two sweeps, then slabs"},
        {"c2c 3x4096 forward double memory=96KiB threads=1", solve_axis_sweeps, "a long axis, then columns in place"},
        {"c2r 3x4096 backward double memory=96KiB threads=1", solve_axis_sweeps,
         "columns, then a long axis, in three areas of scratch"},
        {"r2c 6x4096 forward double axes=1,0 memory=64KiB threads=1", solve_axis_sweeps,
         "halved columns to scratch, then a long axis"},
        {"c2r 6x4096 backward double axes=1,0 memory=64KiB threads=1", solve_axis_sweeps,
         "a long axis to scratch, then halved columns"},
        {"r2c 6x4096 forward double axes=1,0 memory=220KiB threads=1 method=axis_sweeps input_chunk=4x500 "
         "output_chunk=3x700",
         by_planner, "chunked arrays, halved columns, then a long axis"},
        {"r2c 70x95 forward double memory=160KiB threads=1 method=two_sweeps input_chunk=7x9 output_chunk=9x7",
         by_planner, "chunked arrays, half spectra of rows apart"},
        {"c2c 3x1021 backward double memory=80KiB threads=1", solve_axis_sweeps, "a long prime axis, then columns"},
        {"c2c 509x3 forward double axes=0 memory=160KiB threads=1", solve_chirp_sweeps, "a chirp of rows"},
        {"r2c 360x7 forward double axes=0 memory=48KiB threads=1", solve_two_sweeps, "rows, conjugate halves written"},
        {"c2r 2x360x7 backward float axes=1 memory=64KiB threads=2", solve_two_sweeps, "rows, conjugate halves read"},
        {"r2c 2000x3 forward double axes=0 memory=64KiB threads=1", solve_many_sweeps, "rows, halves in two regions"},
        {"r2c 70x95 forward double memory=96KiB threads=1", solve_two_sweeps, "half spectra of rows apart"},
        {"c2r 70x95 backward double memory=128KiB threads=2", solve_two_sweeps, "rows apart, written as real ones"},
    };
    return routes;
}

Result<std::unique_ptr<Plan>> by_planner(const Problem& problem, const Planner& planner) {
    return planner.plan(problem);
}

bool is_chunked(const JournalRoute& route) { return std::string(route.problem).find("_chunk=") != std::string::npos; }

bool can_be_in_place(const JournalRoute& route) {
    const Problem problem = Problem::parse(route.problem).value();
    return !is_chunked(route) && problem.input_shape() == problem.output_shape() &&
           problem.input_elem() == problem.stored_elem();
}

namespace {

// A chunked array box after box, from one in C order; and the other way.
std::string boxed(const ArrayBoxes& boxes, const std::string& from, bool back) {
    std::string to = from;
    for (index_t i = 0; i < boxes.count(); ++i) {
        const ArrayBoxes::Box box = boxes.at(i);
        const auto bytes = static_cast<size_t>(boxes.flat_run_bytes(box));
        for (index_t run = 0; run < boxes.flat_runs(box); ++run) {
            const auto in_box = static_cast<size_t>(box.offset_bytes) + static_cast<size_t>(run) * bytes;
            const auto flat = static_cast<size_t>(boxes.flat_offset_bytes(box, run));
            to.replace(back ? flat : in_box, bytes, from, back ? in_box : flat, bytes);
        }
    }
    return to;
}

}  // namespace

ArrayBoxes CrashWorld::input_boxes() const {
    return {plan->problem.input_shape(), plan->input_box, static_cast<index_t>(plan->problem.input_elem().bytes())};
}
ArrayBoxes CrashWorld::output_boxes() const {
    return {plan->problem.output_shape(), plan->output_box, static_cast<index_t>(plan->problem.stored_elem().bytes())};
}

CrashWorld::CrashWorld(const JournalRoute& route, unsigned seed, bool in_place) : disk(seed), in_place_(in_place) {
    auto made = plan_on_two_cores(route.problem, route.solve);
    status_ = made.status();
    if (!status_.ok()) return;
    plan = std::move(made).value();
    const std::string bytes = to_bytes(random_input(plan->problem, 5), plan->problem.input_elem());
    make_disks(plan->staged_input_bytes > 0 ? boxed(input_boxes(), bytes, false) : bytes);
}

CrashWorld::CrashWorld(std::shared_ptr<Plan> of, const std::string& bytes, unsigned seed)
    : disk(seed), plan(std::move(of)) {
    make_disks(bytes);
}

void CrashWorld::make_disks(const std::string& bytes) {
    plan->checksum_bytes = examine_sweeps(*plan).memory_bytes;  // which the planner may leave out in such memory
    const PlannedSweeps layout = examine_sweeps(*plan, in_place_);
    if (!layout.why_not.empty()) status_ = error(Code::internal, layout.why_not);
    input = &disk.add(static_cast<index_t>(bytes.size()));
    EXPECT_TRUE(input->write({0, const_cast<char*>(bytes.data()), static_cast<index_t>(bytes.size())}).ok());
    EXPECT_TRUE(input->sync().ok());
    const bool chunked = plan->staged_output_bytes > 0;
    output =
        &disk.add(chunked ? plan->staged_output_bytes
                          : kHeader + plan->output_file_bytes + plan->output_extra_bytes + layout.output_extra_bytes);
    if (plan->scratch_bytes > 0) scratch = &disk.add(plan->scratch_bytes + layout.scratch_extra_bytes);
    if (plan->staged_input_bytes > 0) staged_input = &disk.add(plan->staged_input_bytes);
    if (chunked) staged_output = &disk.add(plan->staged_output_bytes + layout.output_extra_bytes);
    for (Store* const store : {input, output, scratch, staged_input, staged_output}) {
        if (store) stores_.push_back(store);
    }
    memory = Buffer::allocate(static_cast<size_t>(plan->slot_bytes[0][static_cast<size_t>(Slot::work0)])).value();
}

Status CrashWorld::run(size_t steps, SweepRun* with, size_t first) {
    RunContext context;
    fill(context);
    std::optional<SweepRun> own;
    if (!with) {
        own.emplace(*plan, examine_sweeps(*plan, in_place_), context.arrays, true, &disk);
        SPANFFT_TRY(own->started());
        SPANFFT_TRY(own->resume(disk.lines()));
        resumed_bytes = own->skipped_bytes(*plan);
        with = &*own;
    }
    auto comm = make_self_comm();
    Binding binding(*comm);
    binding.sweep_team = team();
    for (size_t i = first; i < plan->steps.size() && i < steps; ++i) {
        SPANFFT_ASSIGN(const auto task, plan->steps[i]->bind(binding));
        context.sweep = with->sweep(i);
        SPANFFT_TRY(task->run(context));
    }
    return {};
}

std::string CrashWorld::result() const {
    if (in_place_) return disk.content(0);
    if (staged_output) return boxed(output_boxes(), disk.content(1), true);
    return disk.content(1).substr(kHeader, static_cast<size_t>(plan->output_file_bytes));
}

size_t CrashWorld::index_of(Place place) const {
    const Store* const store = place == Place::input     ? (staged_input ? staged_input : input)
                               : place == Place::scratch ? scratch
                                                         : (staged_output ? staged_output : output);
    return static_cast<size_t>(std::find(stores_.begin(), stores_.end(), store) - stores_.begin());
}

void CrashWorld::fill(RunContext& context) {
    context.slots[static_cast<size_t>(Slot::work0)] = memory.data();
    RunArrays& arrays = context.arrays;
    arrays.input.store = input;
    // The copy that the input is overwritten from lies as far past a sector's boundary as the input.
    arrays.output = {output, in_place_ || staged_output ? 0 : kHeader};
    arrays.scratch.store = scratch;
    if (staged_input) arrays.chunked_input.store = input, arrays.input.store = staged_input;
    if (staged_output) arrays.chunked_output.store = output, arrays.output.store = staged_output;
    if (in_place_) arrays.result.store = input;
}

bool CrashWorld::may_overwrite() const {
    const PlannedSweeps layout = examine_sweeps(*plan, true);
    const size_t before = layout.sweeps.size() - 2;
    std::vector<std::string> lines = disk.lines();
    lines.insert(lines.begin(), overwrites_line(static_cast<int>(before), layout.sweeps[before].panels));
    return in_place_state(lines) != InPlaceState::untouched;
}

std::shared_ptr<SweepTeam> CrashWorld::team() const { return team_of_rank(0, plan->problem.threads); }

Machine CrashWorld::machine() {
    Machine figures;
    figures.cores = 2;
    return figures;
}

namespace {

struct Undisturbed {
    std::string result;
    index_t operations = 0;
};

Undisturbed run_undisturbed(const JournalRoute& route, bool in_place) {
    CrashWorld world(route, 1, in_place);
    EXPECT_TRUE(world.status().ok()) << route.problem << ": " << world.status().message();
    if (!world.status().ok()) return {};
    world.disk.crash_at(0, false);
    const Status status = world.run();
    EXPECT_TRUE(status.ok()) << route.problem << ": " << status.message();
    const Problem& problem = world.plan->problem;
    Undisturbed run{world.result(), world.disk.operations()};
    if (in_place) {
        index_t elsewhere = 0;
        EXPECT_TRUE(run.result == undisturbed(route, elsewhere))
            << route.problem << " (" << route.what << "), in place";
        return run;
    }
    if (world.plan->leaves_exchanged) return run;  // tests/unit/disk_sweeps_test.cpp knows that order
    EXPECT_LT(error_in_units(problem, from_bytes(run.result, problem.output_elem()),
                             direct_transform(problem, random_input(problem, 5))),
              allowed_error(problem))
        << route.problem;
    return run;
}

}  // namespace

std::string undisturbed(const JournalRoute& route, index_t& operations, bool in_place) {
    static std::map<std::pair<std::string, bool>, Undisturbed> runs;  // the definition takes its time
    const std::pair<std::string, bool> key(route.problem, in_place);
    if (runs.count(key) == 0) runs[key] = run_undisturbed(route, in_place);
    operations = runs[key].operations;
    return runs[key].result;
}

std::shared_ptr<const Plan> JournalledFiles::plan_of(const JournalRoute& route) {
    auto plan = plan_on_two_cores(route.problem, route.solve).value();
    plan->checksum_bytes = examine_sweeps(*plan).memory_bytes;  // as above
    return plan;
}

namespace {

// Moves a box between `data` and an array in C order whose bytes `move` moves.
template <class Move>
Status move_box(const Extents& shape, index_t elem_bytes, const index_t* first, const index_t* extent, void* data,
                const Move& move) {
    const Extents strides = row_major_strides(shape);
    index_t rows = 1;
    for (size_t axis = 0; axis + 1 < shape.size(); ++axis) rows *= extent[axis];
    const index_t row_bytes = extent[shape.size() - 1] * elem_bytes;
    for (index_t row = 0; row < rows; ++row) {
        index_t rest = row, at = first[shape.size() - 1];
        for (size_t axis = shape.size() - 1; axis-- > 0;) {
            at += (first[axis] + rest % extent[axis]) * strides[axis];
            rest /= extent[axis];
        }
        SPANFFT_TRY(move(at * elem_bytes, static_cast<char*>(data) + row * row_bytes, row_bytes));
    }
    return {};
}

// The file "in" behind a function, and "out", which appears when it is whole.
void put_behind_functions(FileRequest& request, const Problem& problem) {
    const std::string in = request.input_path, out = request.output_path;
    if (!problem.input_chunk.empty()) {
        const std::string content = read_file(in);
        request.input_identity = hex_of(checksum(content.data(), static_cast<index_t>(content.size())));
        const auto elem_bytes = static_cast<index_t>(problem.input_elem().bytes());
        const std::shared_ptr<std::FILE> file(std::fopen(in.c_str(), "rb"), std::fclose);
        request.read_box = [=, shape = problem.input_shape()](const index_t* first, const index_t* extent, void* data) {
            return move_box(shape, elem_bytes, first, extent, data, [&](index_t at, char* to, index_t bytes) {
                const ssize_t got = pread(fileno(file.get()), to, static_cast<size_t>(bytes), at);
                return got == bytes ? Status() : error(Code::corrupt_data, in, " ends before byte ", at + bytes);
            });
        };
    }
    if (problem.output_chunk.empty()) return;
    const auto elem_bytes = static_cast<index_t>(problem.stored_elem().bytes());
    const auto content =
        std::make_shared<std::string>(static_cast<size_t>(product(problem.output_shape()) * elem_bytes), '\xA5');
    request.header.clear();
    request.write_box = [=, shape = problem.output_shape()](const index_t* first, const index_t* extent, void* data) {
        return move_box(shape, elem_bytes, first, extent, data, [&](index_t at, const char* from, index_t bytes) {
            content->replace(static_cast<size_t>(at), static_cast<size_t>(bytes), from, static_cast<size_t>(bytes));
            return Status();
        });
    };
    request.finish = [=] {
        const std::string partial = folder_of(out) + "/.out.spanfft-partial";
        write_file(partial, *content);
        return rename(partial.c_str(), out.c_str()) == 0 ? Status() : error(Code::io_error, "no name for ", out);
    };
}

// Callbacks that depend on nothing but the block and its place.
Status shift(Block& block, ElemType elem) {
    const index_t reals = elem.complex ? 2 : 1;
    for (index_t i = 0; i < block.count * reals; ++i) {
        const auto by = static_cast<double>((block.first * reals + i) % 7);
        if (elem.precision == Precision::single)
            static_cast<float*>(block.data)[i] += static_cast<float>(by);
        else
            static_cast<double*>(block.data)[i] += by;
    }
    return {};
}

}  // namespace

FileRequest JournalledFiles::request_of(const JournalRoute& route, const std::string& folder) {
    const Problem problem = Problem::parse(route.problem).value();
    FileRequest request;
    request.input_path = folder + "/in";
    request.output_path = folder + "/out";
    request.packed_output = route.packed;
    if (route.callbacks) {
        request.callbacks.on_input = [=](Block& block) { return shift(block, problem.input_elem()); };
        if (problem.output_chunk.empty())
            request.callbacks.on_output = [=](Block& block) { return shift(block, problem.output_elem()); };
        request.callbacks.name = route.callbacks;
    }
    if (is_chunked(route)) {
        request.scratch_folders = {folder};
        put_behind_functions(request, problem);
    }
    return request;
}

Status JournalledFiles::transform(const JournalRoute& route, const std::string& folder, JournalMode mode,
                                  index_t* resumed, Progress progress, const std::vector<std::string>& scratch,
                                  bool in_place, bool checksums) {
    auto executor = Executor::make(plan_of(route), make_self_comm());
    if (!executor.ok()) return executor.status();
    FileRequest request = request_of(route, folder);
    if (in_place) request.output_path = request.input_path;
    if (!in_place && !request.write_box) request.header = std::string(static_cast<size_t>(kHeaderBytes), '#');
    request.progress = std::move(progress);
    request.journal = mode;
    if (!scratch.empty()) request.scratch_folders = scratch;
    request.in_place = in_place;
    request.checksums = checksums;
    const Status status = executor.value()->transform_file(request);
    if (resumed) *resumed = executor.value()->resumed_bytes();
    return status;
}

std::string JournalledFiles::input_of(const JournalRoute& route) {
    const Problem problem = plan_of(route)->problem;
    return to_bytes(random_input(problem, 3), problem.input_elem());
}

void JournalledFiles::make_input(const JournalRoute& route, const std::string& folder) {
    write_file(folder + "/in", input_of(route));
}

std::string JournalledFiles::expected(const JournalRoute& route) {
    TemporaryFolder folder;
    make_input(route, folder.path());
    EXPECT_TRUE(transform(route, folder.path(), JournalMode::off).ok());
    return read_file(folder.file("out"));
}

}  // namespace spanfft::test
