// Plans, disks and files of the journal's tests; see journal_routes.hpp.
#include "support/journal_routes.hpp"

#include <array>
#include <map>
#include <optional>

#include "solvers/table.hpp"

namespace spanfft::test {

const std::vector<JournalRoute>& journal_routes() {
    static const std::vector<JournalRoute> routes = {
        {"c2c 1024 forward double memory=44KiB threads=1", solve_two_pass, "blocks in scratch"},
        {"c2c 262144 forward double memory=3MiB threads=1", solve_two_pass, "columns in place in the output"},
        {"c2c 4096 forward double memory=100KiB threads=1 output=exchanged", solve_two_pass, "slabs in place"},
        {"r2c 1024 forward double memory=48KiB threads=1", solve_two_pass, "conjugate halves written"},
        {"c2r 1200 backward float memory=60KiB threads=2", solve_two_pass, "conjugate halves read"},
        {"dct2 1000 forward double memory=66KiB threads=1", solve_two_pass, "a real kind"},
        {"c2c 9x200 forward double axes=1 memory=40KiB threads=1", solve_two_pass, "a batch"},
        {"c2r 64x96 backward double memory=48KiB threads=1", solve_axis_passes, "by way of scratch"},
        {"c2c 70x96 forward double memory=48KiB threads=1", solve_axis_passes, "columns in place, ragged panels"},
        {"c2c 20x30x40 forward double memory=28KiB threads=1", solve_axis_passes, "twice in place"},
        {"c2c 5x70x96 forward double axes=1,2 memory=64KiB threads=1", solve_axis_passes, "a few matrices in place"},
        {"c2c 12x70x96 forward double axes=1,2 memory=64KiB threads=1", solve_axis_passes, "many matrices in place"},
        {"c2c 4096 forward double memory=64KiB threads=1", solve_many_passes, "Stockham's order"},
        {"r2c 6000 forward double memory=64KiB threads=1", solve_many_passes, "halves in two regions"},
        {"r2c 6000 forward double memory=140KiB threads=1", solve_many_passes, "whole sections and their reflections"},
        {"c2c 70x96 forward double memory=96KiB threads=1", solve_row_passes, "rows for elements"},
        {"c2c 2062 forward double memory=96KiB threads=1", solve_chirp_passes, "a filter beside the array"},
        {"c2c 3x2062 forward double axes=1 memory=128KiB threads=1", solve_chirp_passes,
         "a filter that a batch shares"},
        {"c2c 1024 forward double memory=40KiB threads=1 method=superlevels:block=1KiB", solve_superlevels,
         "memoryloads, asynchronous"},
        {"c2c 512 backward float memory=14KiB threads=2 method=superlevels:sync,block=512", solve_superlevels,
         "memoryloads, one by one"},
    };
    return routes;
}

bool can_be_in_place(const JournalRoute& route) {
    const Problem problem = Problem::parse(route.problem).value();
    return problem.input_shape() == problem.output_shape() && problem.input_elem() == problem.stored_elem();
}

CrashWorld::CrashWorld(const JournalRoute& route, unsigned seed, bool in_place) : disk(seed), in_place_(in_place) {
    auto made = route.solve(Problem::parse(route.problem).value(), Planner(machine()));
    if (!made.ok()) {
        status_ = made.status();
        return;
    }
    plan = std::move(made).value();
    plan->checksum_bytes = examine_passes(*plan).memory_bytes;  // which the planner may leave out in such memory
    const PassLayout layout = examine_passes(*plan, in_place);
    if (!layout.why_not.empty()) status_ = error(Code::internal, layout.why_not);
    const std::string bytes = to_bytes(random_input(plan->problem, 5), plan->problem.input_elem());
    input = &disk.add(static_cast<index_t>(bytes.size()));
    EXPECT_TRUE(input->write({0, const_cast<char*>(bytes.data()), static_cast<index_t>(bytes.size())}).ok());
    EXPECT_TRUE(input->sync().ok());
    output = &disk.add(kHeader + plan->output_file_bytes + layout.output_extra_bytes);
    if (plan->scratch_bytes > 0) scratch = &disk.add(plan->scratch_bytes + layout.scratch_extra_bytes);
    memory = Buffer::allocate(static_cast<size_t>(plan->slot_bytes[0][static_cast<size_t>(Slot::work0)])).value();
}

Status CrashWorld::run(size_t steps, PassRun* with, size_t first) {
    RunContext context;
    fill(context);
    std::optional<PassRun> own;
    if (!with) {
        own.emplace(*plan, context, true, &disk);
        SPANFFT_TRY(own->started());
        SPANFFT_TRY(own->resume(disk.lines()));
        resumed_bytes = own->skipped_bytes(*plan);
        with = &*own;
    }
    auto comm = make_self_comm();
    Binding binding(*comm);
    binding.pass_team = team();
    for (size_t i = first; i < plan->steps.size() && i < steps; ++i) {
        SPANFFT_ASSIGN(const auto task, plan->steps[i]->bind(binding));
        context.sweep = with->sweep(i);
        context.last_step = i + 1 == plan->steps.size();
        SPANFFT_TRY(task->run(context));
    }
    return {};
}

std::string CrashWorld::result() const {
    if (in_place_) return disk.content(0);
    return disk.content(1).substr(kHeader, static_cast<size_t>(plan->output_file_bytes));
}

void CrashWorld::fill(RunContext& context) {
    context.slots[static_cast<size_t>(Slot::work0)] = memory.data();
    context.input_store = input;
    context.output_store = output;
    context.scratch_store = scratch;
    // The copy that the input is overwritten from lies as far past a sector's boundary as the input.
    context.output_offset_bytes = in_place_ ? 0 : kHeader;
    if (!in_place_) return;
    context.finished_store = input;
    context.finished_offset_bytes = 0;
}

bool CrashWorld::may_overwrite() const {
    const PassLayout layout = examine_passes(*plan, true);
    const size_t before = layout.sweeps.size() - 2;
    std::vector<std::string> lines = disk.lines();
    lines.insert(lines.begin(), overwrites_line(static_cast<int>(before), layout.sweeps[before].panels));
    return in_place_state(lines) != InPlaceState::untouched;
}

std::shared_ptr<PassTeam> CrashWorld::team() const {
    static std::array<std::shared_ptr<PassTeam>, 3> teams;
    auto& mine = teams.at(static_cast<size_t>(plan->problem.threads));
    if (!mine) mine = make_pass_team(plan->problem.threads, "threads").value();
    return mine;
}

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
    if (world.plan->leaves_exchanged) return run;  // tests/unit/disk_passes_test.cpp knows that order
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
    auto plan = route.solve(Problem::parse(route.problem).value(), Planner(CrashWorld::machine())).value();
    plan->checksum_bytes = examine_passes(*plan).memory_bytes;  // as above
    return plan;
}

Status JournalledFiles::transform(const JournalRoute& route, const std::string& folder, JournalMode mode,
                                  index_t* resumed, Progress progress, const std::vector<std::string>& scratch,
                                  bool in_place, bool checksums) {
    auto executor = Executor::make(plan_of(route), make_self_comm());
    if (!executor.ok()) return executor.status();
    FileRequest request;
    request.input_path = folder + "/in";
    request.output_path = folder + (in_place ? "/in" : "/out");
    if (!in_place) request.header = std::string(static_cast<size_t>(kHeaderBytes), '#');
    request.progress = std::move(progress);
    request.journal = mode;
    request.scratch_folders = scratch;
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
