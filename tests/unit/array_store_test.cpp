// Boxes of chunked arrays, packed half spectra, and transforms of arrays behind functions: each chunk once.
#include "disk/array_store.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>

#include "disk/packed_store.hpp"
#include "exec/executor.hpp"
#include "support/expect_counted.hpp"
#include "support/simulated_store.hpp"
#include "support/store_run.hpp"

namespace spanfft {
namespace {

using test::MemoryStore;
using test::TemporaryFolder;
using test::Values;

TEST(ArrayBoxes, TileTheArrayOneAfterTheOther) {
    for (const auto& [shape, box] : std::vector<std::pair<Extents, Extents>>{{{5, 7}, {2, 3}},
                                                                             {{7}, {7}},
                                                                             {{1}, {1}},
                                                                             {{4, 1, 6}, {3, 1, 4}},
                                                                             {{3, 4, 5, 2}, {1, 3, 5, 1}},
                                                                             {{9, 4}, {2, 4}}}) {
        const ArrayBoxes boxes{shape, box, 8};
        std::vector<int> seen(static_cast<size_t>(product(shape)));
        const Extents strides = row_major_strides(shape);
        index_t offset = 0;
        for (index_t i = 0; i < boxes.count(); ++i) {
            const auto one = boxes.at(i);
            EXPECT_EQ(one.offset_bytes, offset);
            for (const index_t inside : {offset, offset + one.bytes - 1})
                EXPECT_EQ(boxes.at_offset(inside).offset_bytes, offset);
            offset += one.bytes;
            EXPECT_LE(one.bytes, boxes.most_bytes());
            // Its runs in the flat array are its elements in C order.
            std::vector<index_t> flat;
            const index_t length = boxes.flat_run_bytes(one) / 8;
            for (index_t r = 0; r < boxes.flat_runs(one); ++r) {
                for (index_t e = 0; e < length; ++e) flat.push_back(boxes.flat_offset_bytes(one, r) / 8 + e);
            }
            ASSERT_EQ(static_cast<index_t>(flat.size()), one.bytes / 8);
            for (size_t e = 0; e < flat.size(); ++e) {
                index_t rest = static_cast<index_t>(e), at = 0;
                for (size_t axis = shape.size(); axis-- > 0;) {
                    at += (one.first[axis] + rest % one.extent[axis]) * strides[axis];
                    rest /= one.extent[axis];
                }
                EXPECT_EQ(flat[e], at);
                ++seen[static_cast<size_t>(flat[e])];
            }
        }
        EXPECT_EQ(offset, boxes.bytes());
        for (const int times : seen) EXPECT_EQ(times, 1) << shape_string(shape) << " in " << shape_string(box);
    }
}

TEST(ArrayBoxes, AreNumberedAsTheHeaderSays) {
    const ArrayBoxes boxes{{5, 7}, {2, 3}, 1};
    EXPECT_EQ(boxes.count(), 9);
    EXPECT_EQ(boxes.at(1).offset_bytes, 6);
    EXPECT_EQ(boxes.at(2).offset_bytes, 12);
    EXPECT_EQ(boxes.at(3).offset_bytes, 14);
    EXPECT_EQ(boxes.at(8).offset_bytes, 34);
}

TEST(ArrayStore, RefusesWhatIsNoWholeBox) {
    ArrayStore store({{4, 4}, {2, 4}, 4}, "array", [](auto...) { return Status(); }, {});
    char data[64];
    EXPECT_TRUE(store.read({32, data, 32, false}).ok());
    for (const spanfft::Run run :
         {spanfft::Run{0, data, 16, false}, spanfft::Run{16, data, 32, false}, spanfft::Run{0, data, 64, false}})
        EXPECT_EQ(store.read(run).code(), Code::internal);
    EXPECT_EQ(store.write({0, data, 32, false}).code(), Code::internal);
}

TEST(PackedStore, PutsTheLastNumberIntoTheFirst) {
    const index_t n = 1000, elem = 8, header = 24;
    MemoryStore file(header + (n + 1) * elem);
    std::vector<float> numbers(static_cast<size_t>(2 * (n + 1)));
    std::iota(numbers.begin(), numbers.end(), 1.0F);
    numbers[1] = numbers[2 * n + 1] = 0;
    ASSERT_TRUE(file.write({header, numbers.data(), (n + 1) * elem, false}).ok());
    for (int times = 0; times < 2; ++times) {  // a run that was killed is done once more
        ASSERT_TRUE(pack_spectrum(file, header, n, elem).ok());
        float first[2];
        std::memcpy(first, file.data() + header, sizeof first);
        EXPECT_EQ(first[0], 1.0F);
        EXPECT_EQ(first[1], numbers[2 * n]);
        EXPECT_EQ(std::memcmp(file.data() + header + elem, &numbers[2], static_cast<size_t>(n * elem)), 0);
    }
    std::memset(file.data() + header + n * elem, 0, static_cast<size_t>(elem));  // cut off
    PackedStore again(file, header, n, elem);
    ASSERT_TRUE(again.load().ok());
    std::vector<float> back(numbers.size(), -1);
    ASSERT_TRUE(again.read({header, back.data(), (n + 1) * elem, true}).ok());
    EXPECT_EQ(back, numbers);
    ASSERT_TRUE(again.read({header + n * elem, back.data(), elem, false}).ok());
    EXPECT_EQ(back[0], numbers[2 * n]);
    EXPECT_EQ(again.read({header + n * elem + 4, back.data(), 4, false}).code(), Code::internal);
    EXPECT_EQ(again.read({header, back.data(), (n + 2) * elem, false}).code(), Code::corrupt_data);
    EXPECT_EQ(again.write({header, back.data(), elem, false}).code(), Code::internal);
}

// An array in memory behind a function, that counts how often each chunk is touched.
struct ChunkedArray {
    ChunkedArray(Extents whole, Extents piece, index_t bytes)
        : shape(std::move(whole)),
          chunk(std::move(piece)),
          elem_bytes(bytes),
          data(static_cast<size_t>(product(shape) * bytes), '\xA5'),
          times(static_cast<size_t>(ArrayBoxes{shape, chunk, 1}.count())) {}

    BoxTransfer transfer(bool out) {
        return [this, out](const index_t* first, const index_t* extent, void* memory) -> Status {
            if (on_call) on_call();
            if (++calls == fail_at) return error(Code::corrupt_data, "chunk ", calls, " is damaged");
            index_t bytes = elem_bytes, index = 0;
            for (size_t axis = 0; axis < shape.size(); ++axis) bytes *= extent[axis];
            char* at = static_cast<char*>(memory);
            const Extents strides = row_major_strides(shape);
            for (index_t e = 0; e < bytes / elem_bytes; ++e, at += elem_bytes) {
                index_t rest = e, from = 0;
                bool begins = true;  // a chunk
                index = 0;
                index_t boxes = 1;
                for (size_t axis = shape.size(); axis-- > 0;) {
                    const index_t place = first[axis] + rest % extent[axis];
                    rest /= extent[axis];
                    from += place * strides[axis];
                    begins = begins && place % chunk[axis] == 0;
                    index += place / chunk[axis] * boxes;
                    boxes *= ceil_div(shape[axis], chunk[axis]);
                }
                if (begins) ++times[static_cast<size_t>(index)];
                char* const mine = data.data() + from * elem_bytes;
                std::memcpy(out ? mine : at, out ? at : mine, static_cast<size_t>(elem_bytes));
            }
            return {};
        };
    }

    Extents shape, chunk;
    index_t elem_bytes;
    std::string data;
    std::vector<int> times;
    int calls = 0, fail_at = 0;
    std::function<void()> on_call;
};

struct ChunkedRun {
    explicit ChunkedRun(const std::string& text) : problem(Problem::parse(text).value()) {
        auto planned = Planner(this_machine()).plan(problem);
        status = planned.status();
        if (!planned.ok()) return;
        auto made = Executor::make(std::move(planned).value(), make_self_comm());
        status = made.status();
        if (made.ok()) executor = std::move(made).value();
    }
    Status run(ChunkedArray* input, ChunkedArray* output, const std::string& input_path = "",
               const std::string& output_path = "") {
        FileRequest request;
        request.input_path = input_path;
        request.output_path = output_path;
        request.scratch_folders = {folder.path()};
        request.scratch_folders.insert(request.scratch_folders.end(), more_folders.begin(), more_folders.end());
        request.callbacks = callbacks;
        if (input) request.read_box = input->transfer(false);
        if (output) request.write_box = output->transfer(true);
        return executor->transform_file(request);
    }

    // As the file "in" of its folder.
    void write_input(const Values& values) {
        std::FILE* file = std::fopen(folder.file("in").c_str(), "wb");
        const std::string bytes = test::to_bytes(values, problem.input_elem());
        ASSERT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
        std::fclose(file);
    }

    TemporaryFolder folder;
    BlockCallbacks callbacks;
    std::vector<std::string> more_folders;  // for scratch
    Problem problem;
    Status status;
    std::unique_ptr<Executor> executor;
};

class Staging : public testing::TestWithParam<const char*> {};

TEST_P(Staging, ReadsAndWritesEachChunkOnceAndTransforms) {
    ChunkedRun run(GetParam());
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    const Problem& p = run.problem;
    const auto clipped = [](Extents chunk, const Extents& shape) {
        for (size_t axis = 0; axis < shape.size(); ++axis) chunk[axis] = std::min(chunk[axis], shape[axis]);
        return chunk;
    };
    ChunkedArray input(p.input_shape(), clipped(p.input_chunk, p.input_shape()),
                       static_cast<index_t>(p.input_elem().bytes()));
    ChunkedArray output(p.output_shape(), clipped(p.output_chunk, p.output_shape()),
                        static_cast<index_t>(p.stored_elem().bytes()));
    const Values x = test::random_input(p, 7);
    input.data = test::to_bytes(x, p.input_elem());
    const std::string before = input.data;
    const Status status = run.run(&input, &output);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(input.data, before);
    for (const int times : input.times) EXPECT_EQ(times, 1);
    for (const int times : output.times) EXPECT_EQ(times, 1);
    const Values y = test::from_bytes(output.data, p.stored_elem());
    if (p.power || p.store) {
        test::expect_stored(p, y, test::direct_transform(p, x));
    } else {
        EXPECT_LE(test::error_in_units(p, y, test::direct_transform(p, x)), test::allowed_error(p));
    }
    const Plan& plan = run.executor->plan();
    EXPECT_LE(plan.peak_memory_bytes(0), p.memory_bytes);
    ASSERT_TRUE(run.executor->counted());
    std::vector<Counts> predicted;
    for (const auto& step : plan.steps) predicted.push_back(step->predict(0));
    test::expect_counted(predicted, *run.executor->counted());
    EXPECT_TRUE(run.folder.names().empty());
}

INSTANTIATE_TEST_SUITE_P(
    Problems, Staging,
    testing::Values("c2c 61x50 memory=1MiB input_chunk=7x9 output_chunk=9x7",
                    "c2c 61x50 memory=29KiB input_chunk=7x9 output_chunk=9x7",
                    "r2c 150x145 float memory=32KiB input_chunk=150x1 output_chunk=1x100",
                    "c2r 40x36x22 float memory=32KiB input_chunk=3x4x5 output_chunk=5x4x3",
                    "c2c 16384 float memory=64KiB input_chunk=100 output_chunk=77",
                    "r2c 8192 memory=72KiB input_chunk=128 output_chunk=16",
                    "dct2 80x60 backward memory=30KiB input_chunk=80x3 output_chunk=4x60",
                    // Work on the way out: computed elements pass through the file.
                    "c2c 61x50 memory=1MiB power input_chunk=7x9 output_chunk=9x7",
                    "c2c 61x50 memory=29KiB power input_chunk=7x9 output_chunk=9x7",
                    "c2c 40x36x22 memory=64KiB store=complex64 input_chunk=3x4x5 output_chunk=5x4x3",
                    "r2c 150x145 float memory=32KiB power input_chunk=150x1 output_chunk=1x100",
                    "r2c 8192 memory=72KiB power store=float32 input_chunk=128 output_chunk=16",
                    "c2r 40x36x22 memory=64KiB store=float32 input_chunk=3x4x5 output_chunk=5x4x3",
                    "dct2 80x60 memory=30KiB power input_chunk=80x3 output_chunk=4x60",
                    "c2c 16384 memory=64KiB power method=superlevels input_chunk=100 output_chunk=77",
                    "c2c 16384 memory=128KiB power method=many_sweeps input_chunk=99 output_chunk=77",
                    "c2c 2062 memory=160KiB store=complex64 method=chirp_sweeps input_chunk=64 "
                    "output_chunk=77"));

// An array on its way out of a file: each element goes through the callback once, and nobody else has its memory.
TEST(Stores, AChunkedOutputHasItsCallbackOnce) {
    for (const char* const text : {"c2c 61x50 memory=29KiB store=float64 output_chunk=9x7",
                                   "c2c 61x50 memory=1MiB store=float64 output_chunk=9x7"}) {
        ChunkedRun run(text);
        ASSERT_TRUE(run.status.ok()) << run.status.message();
        const Values x = test::random_input(run.problem, 3);
        run.write_input(x);
        std::vector<int> seen(61 * 50);
        run.callbacks.on_output = [&](Block& block) -> Status {
            const auto* from = static_cast<const double*>(block.data);
            auto* const to = static_cast<double*>(block.stored);
            for (index_t i = 0; i < block.count; ++i) {
                ++seen[static_cast<size_t>(block.first + i)];
                to[i] = from[2 * i + 1];
            }
            block.filled = true;
            return {};
        };
        ChunkedArray output({61, 50}, {9, 7}, 8);
        const Status status = run.run(nullptr, &output, run.folder.file("in"));
        ASSERT_TRUE(status.ok()) << status.message();
        for (const int times : seen) EXPECT_EQ(times, 1);
        const Values exact = test::direct_transform(run.problem, x);
        const Values y = test::from_bytes(output.data, {Precision::dbl, false});
        Values imaginary = exact;
        for (size_t i = 0; i < exact.size(); ++i) imaginary[i] = {exact[i].im, 0};
        EXPECT_LE(test::error_in_units(run.problem, y, imaginary), 1.2);  // half of the energy, so twice the rule
        EXPECT_EQ(run.folder.names(), std::vector<std::string>{"in"});
    }
}

TEST(Stores, OneSideMayBeAFile) {
    ChunkedRun run("c2c 64x48 memory=30KiB output_chunk=10x10");
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    const Values x = test::random_input(run.problem, 3);
    run.write_input(x);
    ChunkedArray output({64, 48}, {10, 10}, 16);
    const Status status = run.run(nullptr, &output, run.folder.file("in"));
    ASSERT_TRUE(status.ok()) << status.message();
    const Values y = test::from_bytes(output.data, run.problem.output_elem());
    EXPECT_LE(test::error_in_units(run.problem, y, test::direct_transform(run.problem, x)), 0.6);
    EXPECT_EQ(run.folder.names(), std::vector<std::string>{"in"});
}

TEST(Stores, AFunctionThatFailsEndsTheRunWithItsSentence) {
    for (const bool reading : {true, false}) {
        for (const int fail_at : {1, 5}) {
            ChunkedRun run("c2c 64x48 memory=30KiB input_chunk=10x10 output_chunk=10x10");
            ASSERT_TRUE(run.status.ok()) << run.status.message();
            ChunkedArray input({64, 48}, {10, 10}, 16), output({64, 48}, {10, 10}, 16);
            (reading ? input : output).fail_at = fail_at;
            const Status status = run.run(&input, &output);
            EXPECT_EQ(status.code(), Code::corrupt_data);
            EXPECT_NE(status.message().find(cat("chunk ", fail_at, " is damaged")), std::string::npos)
                << status.message();
            // Of three slots two may be written at once, in any order: the call that fails may be the later panel's,
            // and then one more begins before that one is waited for.
            EXPECT_LE((reading ? input : output).calls, fail_at + (reading ? 1 : 2));
            EXPECT_TRUE(run.folder.names().empty());
        }
    }
}

// Sizes of the open files of a folder that have lost their names, by what they are for.
std::map<std::string, index_t> nameless_files(const std::string& folder) {
    std::map<std::string, index_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;  // the iterator's own descriptor
        const std::string path = std::filesystem::read_symlink(entry.path(), gone).string();
        if (gone || path.rfind(folder + "/.", 0) != 0 || path.find("(deleted)") == std::string::npos) continue;
        struct stat about{};
        if (stat(entry.path().c_str(), &about) != 0) continue;
        const size_t begin = folder.size() + 2;
        found[path.substr(begin, path.find('.', begin) - begin)] = about.st_size;
    }
    return found;
}

TEST(Stores, StagedArraysAreStripedOverTheScratchFolders) {
    ChunkedRun run("c2c 60000 memory=384KiB input_chunk=1300 output_chunk=1700");
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    const TemporaryFolder second, third;
    const TemporaryFolder* const folders[] = {&run.folder, &second, &third};
    run.more_folders = {second.path(), third.path()};
    ChunkedArray input({60000}, {1300}, 16), output({60000}, {1700}, 16);
    const Values x = test::random_input(run.problem, 5);
    input.data = test::to_bytes(x, run.problem.input_elem());
    std::map<std::string, index_t> least;  // of all folders
    output.on_call = [&] {
        for (const TemporaryFolder* folder : folders)
            for (const auto& [name, bytes] : nameless_files(folder->path()))
                least[name] = least.count(name) ? std::min(least[name], bytes) : bytes;
    };
    const Status status = run.run(&input, &output);
    ASSERT_TRUE(status.ok()) << status.message();
    const Values y = test::from_bytes(output.data, run.problem.output_elem());
    EXPECT_LE(test::error_in_units(run.problem, y, test::direct_transform(run.problem, x)), 0.6);
    // 960,000 bytes are 4 blocks of 256 KiB: one or two a folder.
    for (const char* name : {"spanfft-input", "spanfft-output"}) EXPECT_GE(least[name], 1 << 17) << name;
    std::vector<Counts> predicted;
    for (const auto& step : run.executor->plan().steps) predicted.push_back(step->predict(0));
    test::expect_counted(predicted, *run.executor->counted());
    for (const TemporaryFolder* folder : folders) EXPECT_TRUE(folder->names().empty());
    run.more_folders = {"/nowhere"};
    const Status missing = run.run(&input, &output);
    EXPECT_NE(missing.message().find("/nowhere"), std::string::npos) << missing.message();
}

TEST(Stores, MustBeWhatThePlanIsFor) {
    ChunkedRun run("c2c 16x16 memory=1MiB input_chunk=4x4");
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    ChunkedArray array({16, 16}, {4, 4}, 16);
    const std::string out = run.folder.file("out");
    for (const Status& status : {run.run(nullptr, nullptr, "in", out), run.run(&array, &array)}) {
        EXPECT_EQ(status.code(), Code::invalid_argument);
        EXPECT_NE(status.message().find("_chunk"), std::string::npos) << status.message();
    }
    FileRequest request;
    request.output_path = out;
    request.read_box = array.transfer(false);
    request.packed_output = true;
    const Status status = run.executor->transform_file(request);
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find("can't be packed"), std::string::npos) << status.message();
    EXPECT_EQ(array.calls, 0);
    EXPECT_TRUE(run.folder.names().empty());
}

TEST(Stores, ChunksThatMemoryDoesNotHoldAreRefusedWithTheSmallestBudget) {
    for (const int cores : {1, 2, 3}) {
        SCOPED_TRACE(cat(cores, " cores"));
        Machine machine = this_machine();
        machine.cores = cores;
        const auto plan = [&](const std::string& memory) {
            return Planner(machine).plan(Problem::parse("c2c 256x256 input_chunk=64x64 memory=" + memory).value());
        };
        const Status refused = plan("128KiB").status();
        EXPECT_EQ(refused.code(), Code::out_of_memory);
        EXPECT_NE(refused.message().find("a chunk has 64.0 KiB"), std::string::npos) << refused.message();
        const size_t open = refused.message().rfind('(');
        ASSERT_NE(refused.message().find("the smallest memory="), std::string::npos) << refused.message();
        const index_t smallest = std::stoll(refused.message().substr(open + 1));
        EXPECT_TRUE(plan(std::to_string(smallest)).ok());
        EXPECT_FALSE(plan(std::to_string(smallest - 1)).ok());
    }
}

TEST(Stores, ChunksAreCheckedWithTheProblem) {
    for (const char* const text :
         {"c2c 8x8 input_chunk=4x4", "c2c 8x8 memory=1MiB input_chunk=4", "c2c 8x8 memory=1MiB output_chunk=4x0",
          "c2c 8x8 memory=1MiB output_chunk=4x4 batch=2"}) {
        const auto parsed = Problem::parse(text);
        ASSERT_FALSE(parsed.ok()) << text;
        EXPECT_NE(parsed.status().message().find("_chunk="), std::string::npos) << parsed.status().message();
    }
    const std::string text = "c2c 8x8 forward double memory=1048576 input_chunk=4x4 output_chunk=16x1";
    EXPECT_EQ(Problem::parse(text).value().print(), text);
}

}  // namespace
}  // namespace spanfft
