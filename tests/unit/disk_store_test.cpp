// Panels, file stores, asynchronous requests, pipelines and output files, each on its own.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "core/buffer.hpp"
#include "core/threads.hpp"
#include "disk/output_file.hpp"
#include "disk/panels.hpp"
#include "disk/pipeline.hpp"
#include "support/random.hpp"
#include "support/simulated_store.hpp"

namespace spanfft::test {
namespace {

using DiskRun = spanfft::Run;  // testing::Test has a Run of its own

// Totals are computed without a walk over the panels, of which there may be 10^11; here they are few enough for one.
void expect_totals(const ColumnPanels& panels) {
    index_t requests = 0, elems = 0;
    for (index_t p = 0; p < panels.panels(); ++p) {
        requests += panels.requests(p);
        for (index_t i = 0; i < panels.requests(p); ++i) elems += panels.run(p, i, 0, nullptr).bytes;
    }
    EXPECT_EQ(panels.total_requests(), requests);
    EXPECT_EQ(panels.payload_bytes(), elems);
}

// Every element of every matrix is in exactly one run of one panel; runs lie apart in the slot, slack included.
void expect_tiles(const ColumnPanels& panels, index_t offset) {
    std::map<index_t, int> seen;
    index_t requests = 0;
    Buffer slot = Buffer::allocate(static_cast<size_t>(panels.slot_bytes())).value();
    for (index_t p = 0; p < panels.panels(); ++p) {
        std::map<char*, char*> taken;
        for (index_t i = 0; i < panels.requests(p); ++i, ++requests) {
            const DiskRun run = panels.run(p, i, offset, slot.data());
            ASSERT_GT(run.bytes, 0);
            for (index_t b = run.offset_bytes; b < run.offset_bytes + run.bytes; b += panels.elem_bytes) ++seen[b];
            const index_t before = run.slack ? run.offset_bytes % kSlackBytes : 0;
            char* first = static_cast<char*>(run.data) - before;
            char* last = first + (run.slack ? round_up(before + run.bytes, kSlackBytes) : run.bytes);
            if (run.slack) {
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % kSlackBytes, 0U);
            }
            EXPECT_GE(first, slot.as<char>());
            EXPECT_LE(last, slot.as<char>() + panels.slot_bytes());
            const auto next = taken.lower_bound(first);
            if (next != taken.end()) {
                EXPECT_LE(last, next->first);
            }
            if (next != taken.begin()) {
                EXPECT_LE(std::prev(next)->second, first);
            }
            taken[first] = last;
        }
    }
    EXPECT_EQ(requests, panels.total_requests());
    const index_t elems = panels.outer * panels.matrix_elems();
    ASSERT_EQ(static_cast<index_t>(seen.size()), elems);
    EXPECT_EQ(seen.begin()->first, offset);
    EXPECT_EQ(seen.rbegin()->first, offset + (elems - 1) * panels.elem_bytes);
    for (const auto& [byte, count] : seen) EXPECT_EQ(count, 1) << "byte " << byte;
}

TEST(Panels, TotalsAreTheSumsOverAllPanels) {
    Random random(1);
    for (int round = 0; round < 3000; ++round) {
        SCOPED_TRACE(testing::Message() << "round " << round);
        const index_t pitch = random.between(1, 60), sections = random.between(1, 9);
        ColumnPanels panels;
        panels.outer = random.between(1, 3);
        panels.rows = random.between(1, 3);
        panels.row_elems = pitch * sections;
        panels.last_row_elems = random.below(2) == 0 ? panels.row_elems : random.between(1, panels.row_elems);
        panels.elem_bytes = random.below(2) == 0 ? 8 : index_t{300} << 10;  // runs of several requests
        panels.columns = panels.row_elems;
        const auto kind = random.below(6);
        if (kind == 1 || kind == 2) {  // half spectra in sections, as many_sweeps has them
            panels.besides = ColumnPanels::Mirrored{pitch, kind == 2};
            panels.columns = sections * panels.section_columns();
        } else if (kind == 3) {
            panels.besides = ColumnPanels::Mirrored{panels.row_elems};
            panels.columns = panels.row_elems / 2 + 1;
        } else if (kind == 4) {
            panels.besides = ColumnPanels::Reflected{};
            panels.columns = ceil_div(panels.row_elems, 2);
        } else if (kind == 5) {
            panels.besides = ColumnPanels::Twin{1000 * panels.row_elems, random.below(2) == 0};
            panels.last_row_elems = panels.row_elems;
        } else if (random.below(2) == 0) {
            panels.besides = ColumnPanels::Plain{pitch};
        }
        panels.panel = random.between(1, panels.section_columns());
        expect_totals(panels);
    }
}

TEST(Panels, TileTheArray) {
    for (index_t panel : {1, 3, 7, 256, 300, 1000}) {
        for (index_t offset : {0, 128, 4096}) expect_tiles({2, 5, 700, 700, 16, 700, panel, {}}, offset);
        expect_tiles({1, 9, 301, 301, 8, 301, panel, {}}, 80);
    }
}

// Else ext4 does strided writes to a new file one after the other.
TEST(Panels, LongRowsThatAreWrittenLieAsFarPastABlockInMemoryAsInTheFile) {
    for (index_t panel : {kWideBytes / 16, kWideBytes / 16 + 5, 3 * kWideBytes / 16}) {
        for (index_t offset : {0, 128, 4096, 5000}) {
            ColumnPanels panels{1, 3, 7 * panel, 7 * panel, 16, 7 * panel, panel, {}};
            EXPECT_EQ(panels.alignment(), kSlackBytes);
            panels.use = ColumnPanels::Use::written;
            Buffer slot = Buffer::allocate(static_cast<size_t>(panels.slot_bytes())).value();
            for (index_t p = 0; p < panels.panels(); ++p) {
                for (index_t i = 0; i < panels.requests(p); ++i) {
                    const DiskRun run = panels.run(p, i, offset, slot.data());
                    const auto address = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(run.data));
                    ASSERT_EQ(address % kDirectBytes, run.offset_bytes % kDirectBytes)
                        << "panel " << p << ", run " << i;
                }
            }
        }
    }
    for (index_t panel : {kWideBytes / 16, kWideBytes / 16 + 5, 8 * kWideBytes / 16}) {
        for (bool written : {false, true}) {
            ColumnPanels panels{2, 3, 9000, 8000, 16, 9000, panel, {}};
            if (written) panels.use = ColumnPanels::Use::written;
            for (index_t offset : {0, 128, 5000}) expect_tiles(panels, offset);
        }
    }
}

TEST(Panels, OfWholeRowsAndTheirReflections) {
    ColumnPanels panels;
    panels.rows = 3;
    panels.row_elems = panels.last_row_elems = 10;
    panels.columns = 6;  // four sections of two and one in the middle: the last panel has no other side
    panels.panel = 4;
    panels.besides = ColumnPanels::Reflected{};
    EXPECT_EQ(panels.panels(), 2);
    const auto expect_group = [&](index_t panel, int which, index_t first, index_t width) {
        EXPECT_EQ(panels.group(panel, which).first, first);
        EXPECT_EQ(panels.group(panel, which).width, width);
    };
    expect_group(0, 0, 0, 4);
    expect_group(0, 1, 6, 4);
    expect_group(1, 0, 4, 2);
    expect_group(1, 1, 0, 0);
    EXPECT_EQ(panels.requests(0), 6);
    EXPECT_EQ(panels.requests(1), 3);
    panels.last_row_elems = 7;  // a half spectrum's: the other side's last run is cut off
    EXPECT_EQ(panels.requests(0), 6);
    EXPECT_EQ(panels.run(0, 5, 0, nullptr).bytes, panels.elem_bytes);
    for (const index_t panel : {2, 4, 8}) {
        for (const index_t walked : {6, 8}) {
            panels = {2, 3, walked * 2, 5, 16, walked, panel, {}};
            panels.besides = ColumnPanels::Reflected{};
            expect_tiles(panels, 128);
            panels.row_elems = 2 * walked - 2;
            expect_tiles(panels, 0);
        }
    }
}

TEST(Panels, TileHalfSpectra) {
    for (index_t n1 : {1, 2, 5, 6, 600}) {
        for (index_t n2 : {2, 3, 8, 9}) {
            const index_t half = n1 * n2 / 2 + 1, rows = ceil_div(half, n1);
            for (index_t panel : {1, 2, 300}) {
                expect_tiles({2, rows, n1, half - (rows - 1) * n1, 16, n1 / 2 + 1, panel, ColumnPanels::Mirrored{n1}},
                             128);
            }
        }
    }
}

// Of whole sections and their mirror images the first half and one of each are computed, as c2r of many sweeps has
// them.
TEST(Panels, ComputeEachColumnOfHalvedSectionsOnce) {
    Random random(2);
    for (int round = 0; round < 500; ++round) {
        const index_t section = random.between(2, 20), sections = random.between(1, 12), step = random.between(1, 30);
        ColumnPanels panels;
        panels.outer = random.between(1, 3);
        panels.row_elems = section * sections;
        panels.besides = ColumnPanels::Mirrored{panels.row_elems, false, 0, 0, section};
        panels.columns = panels.row_elems / 2 + 1;
        panels.panel = section * random.between(1, sections);
        std::vector<int> seen(static_cast<size_t>(sections * (section / 2 + 1)));
        index_t tiles = 0;
        for (index_t p = 0; p < panels.panels_per_matrix(); ++p) {
            for (const int which : {0, 1}) {
                const auto all = panels.group(p, which), computed = panels.computed(p, which);
                for (index_t i = computed.first; i < computed.first + computed.width; ++i) {
                    ++seen[static_cast<size_t>(i)];
                    EXPECT_GE(panels.column_of(i), all.first) << "round " << round;
                    EXPECT_LT(panels.column_of(i), all.first + all.width) << "round " << round;
                    EXPECT_LE(panels.column_of(i) % section, section / 2) << "round " << round;
                }
                tiles += ceil_div(computed.width, step);
            }
        }
        EXPECT_EQ(seen, std::vector<int>(seen.size(), 1)) << "round " << round;
        EXPECT_EQ(panels.own_computed(), std::ssize(seen)) << "round " << round;
        EXPECT_EQ(panels.over_tiles(step, [](index_t) { return 1; }), panels.outer * tiles) << "round " << round;
    }
}

TEST(Panels, SplitLongRuns) {
    const index_t elems = 7 * kPieceBytes / 16 + 5;
    ColumnPanels panels{1, 1, elems, elems, 16, elems, elems, {}};
    EXPECT_EQ(panels.requests(0), 8);
    index_t at = 128;
    for (index_t i = 0; i < 8; ++i) {
        const DiskRun run = panels.run(0, i, 128, nullptr);
        EXPECT_EQ(run.offset_bytes, at);
        if (i > 0) {
            EXPECT_EQ(at % kDirectBytes, 0);
        }
        at += run.bytes;
    }
    EXPECT_EQ(at, 128 + elems * 16);
}

TEST(BlockGrid, CountsTheWritesOfTilesThatSectionsCutOff) {
    for (index_t section : {0, 1, 7, 65}) {
        for (index_t tile_columns : {1, 4, 65}) {
            BlockGrid grid{2, section > 0 ? 3 * section : 65, 70000, tile_columns, 70000, 16, true};
            grid.section = section;
            index_t writes = 0;
            for (index_t c = 0; c < grid.column_tiles(); ++c) writes += grid.write_requests(c);
            EXPECT_EQ(grid.total_writes(), 2 * writes) << section << ", " << tile_columns;
        }
    }
}

// Of every 10 columns, in tiles of 4, a rank has some: tiles end where those of all columns do.
TEST(BlockGrid, TilesOfAShareOfEachSectionEndWhereThoseOfAllDo) {
    const BlockGrid all{1, 30, 5, 4, 5, 16, true, 10};
    for (index_t skipped = 0; skipped < 10; ++skipped) {
        for (index_t section = 1; skipped + section <= 10; ++section) {
            BlockGrid grid = all;
            grid.shared_section = 10;
            grid.skipped = skipped;
            grid.section = section;
            grid.columns = 3 * section;
            index_t column = 0, writes = 0;
            for (index_t tile = 0; tile < grid.column_tiles(); ++tile) {
                EXPECT_EQ(grid.first_column(tile), column);
                ASSERT_GT(grid.columns_in(tile), 0);
                const index_t of_all = all.tile_at(grid.column_of_all(column));
                for (index_t i = 0; i < grid.columns_in(tile); ++i, ++column) {
                    EXPECT_EQ(grid.tile_at(column), tile);
                    EXPECT_EQ(grid.column_of_all(column), column / section * 10 + skipped + column % section);
                    EXPECT_EQ(all.tile_at(grid.column_of_all(column)), of_all);
                }
                const bool last = column == grid.columns;
                EXPECT_TRUE(last || all.tile_at(grid.column_of_all(column)) != of_all);
                writes += grid.write_requests(tile);
            }
            EXPECT_EQ(column, grid.columns);
            EXPECT_EQ(grid.total_writes(), writes);
        }
    }
}

// Else the tiles of an array behind a file's header go through the page cache.
TEST(BlockGrid, NaturalTilesLieAsFarPastABlockInMemoryAsInTheFile) {
    const BlockGrid grid{2, 70, 1000, 4, 1000, 16, true};
    const auto address = [](const void* data) { return static_cast<index_t>(reinterpret_cast<uintptr_t>(data)); };
    std::vector<char> memory(static_cast<size_t>(grid.write_slot_bytes() + kDirectBytes));
    char* const slot = memory.data() + kDirectBytes - address(memory.data()) % kDirectBytes;
    for (const index_t header : {0, 128, 4096, 5000}) {
        for (index_t m = 0; m < grid.outer; ++m) {
            for (index_t c = 0; c < grid.column_tiles(); ++c) {
                const DiskRun run = grid.write_run(m, c, 0, header, slot);
                EXPECT_EQ(address(run.data) % kDirectBytes, run.offset_bytes % kDirectBytes) << header << ", " << c;
                EXPECT_LE(static_cast<char*>(run.data) + run.bytes, slot + grid.write_slot_bytes());
            }
        }
    }
}

TEST(BlockGrid, WritesAndReadsTheSameBytes) {
    for (const BlockGrid& grid : {BlockGrid{2, 13, 11, 4, 3, 16, false}, BlockGrid{1, 100, 90, 32, 16, 16, false},
                                  BlockGrid{1, 64, 64, 64, 64, 8, false}}) {
        std::map<index_t, int> written, read;
        std::vector<char> slot(static_cast<size_t>(std::max(grid.write_slot_bytes(), grid.read_slot_bytes())));
        for (index_t m = 0; m < grid.outer; ++m) {
            for (index_t c = 0; c < grid.column_tiles(); ++c) {
                for (index_t i = 0; i < grid.write_requests(c); ++i) {
                    const DiskRun run = grid.write_run(m, c, i, 0, slot.data());
                    for (index_t b = 0; b < run.bytes; b += grid.elem_bytes) ++written[run.offset_bytes + b];
                }
                for (index_t r = 0; r < grid.row_tiles(); ++r) {
                    const DiskRun run = grid.read_run(m, r, c, slot.data());
                    for (index_t b = 0; b < run.bytes; b += grid.elem_bytes) ++read[run.offset_bytes + b];
                }
            }
        }
        EXPECT_EQ(written, read);
        EXPECT_EQ(static_cast<index_t>(written.size()) * grid.elem_bytes, grid.payload_bytes());
        EXPECT_LE(written.rbegin()->first + grid.elem_bytes, grid.scratch_bytes());
    }
}

TEST(FileStore, ReadsWhatWasWritten) {
    TemporaryFolder folder;
    const std::string path = folder.file("data");
    std::string content(100000, '\0');
    std::iota(content.begin(), content.end(), '\0');
    write_file(path, content);
    auto store = FileStore::open_input(path).value();
    Buffer buffer = Buffer::allocate(20480).value();
    for (index_t offset : {0, 1, 128, 511, 512, 4096, 99000}) {
        for (index_t bytes : {1, 100, 512, 1000}) {
            for (bool slack : {false, true}) {
                char* data = buffer.as<char>() + 4096 + (slack ? offset % kSlackBytes : 3);
                ASSERT_TRUE(store->read({offset, data, bytes, slack}).ok());
                EXPECT_EQ(std::memcmp(data, content.data() + offset, static_cast<size_t>(bytes)), 0);
            }
        }
    }
    EXPECT_EQ(store->counts().reads, 56);
    const Status past = store->read({99999, buffer.data(), 2, false});
    EXPECT_EQ(past.code(), Code::corrupt_data);
    EXPECT_NE(past.message().find(path), std::string::npos);
    EXPECT_EQ(store->counts().reads, 56);
    EXPECT_EQ(FileStore::open_input(folder.file("none")).status().code(), Code::io_error);
    EXPECT_EQ(FileStore::open_input(folder.path()).status().code(), Code::io_error);
}

TEST(FileStore, WritesNoByteBesideItsRange) {
    TemporaryFolder folder;
    const std::string path = folder.file("data");
    write_file(path, std::string(20000, 'x'));
    auto store = FileStore::open_output(path).value();
    Buffer buffer = Buffer::allocate(16384).value();
    std::memset(buffer.data(), 'y', 16384);
    std::string expected(20000, 'x');
    for (const auto& [offset, bytes] : {std::pair<index_t, index_t>{4096, 4096}, {100, 7}, {9000, 5000}, {19999, 1}}) {
        ASSERT_TRUE(store->write({offset, buffer.data(), bytes, false}).ok());
        expected.replace(static_cast<size_t>(offset), static_cast<size_t>(bytes), static_cast<size_t>(bytes), 'y');
    }
    ASSERT_TRUE(store->sync().ok());
    EXPECT_EQ(read_file(path), expected);
    const StoreCounts counts = store->counts();
    EXPECT_EQ(counts.writes, 4);
    EXPECT_EQ(counts.written_bytes, 4096 + 7 + 5000 + 1);
}

// What is read ahead may be what a sweep writes directly beside: the page cache would keep what was there before.
TEST(FileStore, ShortReadsBringNothingElseIntoThePageCache) {
    constexpr index_t kBytes = index_t{4} << 20, kRead = index_t{1} << 20, kStep = 1000;
    const TemporaryFolder folder;
    auto store = make_scratch_file(folder.path(), "ahead", kBytes);
    ASSERT_TRUE(store.ok()) << store.status().message();
    FileStore& file = *store.value();
    if (!file.direct()) GTEST_SKIP() << "needs a file system with direct I/O";
    const Buffer memory = Buffer::allocate(static_cast<size_t>(kBytes)).value();
    std::memset(memory.data(), 1, memory.bytes());
    ASSERT_TRUE(file.write({0, memory.data(), kBytes, false}).ok());  // directly: nothing of it is in the cache
    ASSERT_TRUE(file.sync().ok());
    for (index_t at = 0; at + kStep <= kRead; at += kStep)
        ASSERT_TRUE(file.read({at, memory.as<char>() + 1, kStep, false}).ok());

    void* const map = mmap(nullptr, static_cast<size_t>(kBytes), PROT_READ, MAP_SHARED, file.descriptor(), 0);
    ASSERT_NE(map, MAP_FAILED);
    const auto page = static_cast<index_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> cached(static_cast<size_t>(kBytes / page));
    ASSERT_EQ(mincore(map, static_cast<size_t>(kBytes), cached.data()), 0);
    munmap(map, static_cast<size_t>(kBytes));
    const auto in_cache = [&](index_t begin, index_t end) {
        return std::count_if(cached.begin() + begin / page, cached.begin() + end / page,
                             [](unsigned char known) { return (known & 1) != 0; });
    };
    EXPECT_GT(in_cache(0, kRead), 0);
    EXPECT_EQ(in_cache(kRead, kBytes), 0);
}

TEST(AsyncIo, EndsABatchAtItsFirstError) {
    MemoryStore memory(1 << 16);
    FaultPlan faults;
    faults.fail_at = 100;
    FaultyStore store(memory, faults);
    AsyncIo io(AsyncIo::Kind::read, 1);  // of several, others may end the batch before the one that failed can say so
    std::vector<char> target(1 << 16);
    const std::function<DiskRun(index_t, index_t, index_t)> run = [&](index_t, index_t, index_t i) {
        return DiskRun{i * 16, target.data() + i * 16, 16, false};
    };
    IoBatch batch;
    batch.store = &store;
    batch.count = 4096;
    batch.run = &run;
    io.start(batch);
    EXPECT_EQ(io.wait(batch).code(), Code::io_error);
    EXPECT_EQ(faults.operations.load(), 100);
    faults.fail_at = 0;
    faults.operations = 0;
    io.start(batch);  // the same batch can run again
    EXPECT_TRUE(io.wait(batch).ok());
    EXPECT_EQ(faults.operations.load(), 4096);
    EXPECT_EQ(io.take_bytes(batch), 1 << 16);
}

TEST(ThreadTeam, RunsOnEveryMember) {
    ThreadTeam team(4);
    for (int round = 0; round < 200; ++round) {
        std::vector<int> hits(static_cast<size_t>(team.size()), 0);
        team.run([&](int member) { ++hits[static_cast<size_t>(member)]; });
        EXPECT_EQ(hits, std::vector<int>(hits.size(), 1));
    }
}

TEST(OutputFile, AppearsOnlyWhenPublished) {
    TemporaryFolder folder;
    OutputRequest request;
    request.path = folder.file("out.bin");
    request.header = "header";
    request.payload_bytes = 10;
    request.scratch_bytes = 5000;
    {
        auto output = OutputFile::create(request);
        ASSERT_TRUE(output.ok()) << output.status().message();
        EXPECT_EQ(folder.names().size(), 1U);  // the partial file; scratch has no name
        EXPECT_NE(folder.names()[0], "out.bin");
    }
    EXPECT_TRUE(folder.names().empty());
    write_file(request.path, "old");
    auto output = OutputFile::create(request).value();
    char payload[] = "0123456789";
    ASSERT_TRUE(output->store().write({output->payload_offset_bytes(), payload, 10, false}).ok());
    ASSERT_TRUE(output->scratch()->write({0, payload, 10, false}).ok());
    EXPECT_EQ(read_file(request.path), "old");
    ASSERT_TRUE(output->publish().ok());
    output.reset();
    EXPECT_EQ(read_file(request.path), "header0123456789");
    EXPECT_EQ(folder.names(), std::vector<std::string>{"out.bin"});
}

// A power cut while it is published, and another while that run goes on: what was cut off grows again, in part.
TEST(OutputFile, OfAnyLengthBetweenTheWholeAndTheMarkedIsGoneOnWithOnceItWasShortened) {
    TemporaryFolder folder;
    OutputRequest request;
    request.path = folder.file("out.bin");
    request.header = "header";
    request.payload_bytes = 10;
    request.extra_bytes = 5000;
    request.kept = kept_files(request.path, {}, "", "key");
    {
        auto output = OutputFile::create(request);
        ASSERT_TRUE(output.ok()) << output.status().message();
        ASSERT_TRUE(output.value()->mark({7, 1, 1}).ok());
        output.value()->keep();
    }
    const std::string kept = request.kept->output;
    struct stat info;
    ASSERT_EQ(stat(kept.c_str(), &info), 0);
    const off_t marked = info.st_size, whole = 16;
    request.reopen = true;
    for (const off_t length : {whole, whole + 1, off_t{4096}, marked - 1, marked}) {
        ASSERT_EQ(truncate(kept.c_str(), length), 0);
        request.published = false;
        const auto refused = OutputFile::create(request);
        EXPECT_EQ(refused.ok(), length == marked) << length;
        if (refused.ok()) refused.value()->keep();
        request.published = true;
        const auto output = OutputFile::create(request);
        ASSERT_TRUE(output.ok()) << length << ": " << output.status().message();
        output.value()->keep();
        ASSERT_EQ(stat(kept.c_str(), &info), 0);
        EXPECT_EQ(info.st_size, marked);
    }
    ASSERT_EQ(truncate(kept.c_str(), whole - 1), 0);
    EXPECT_EQ(OutputFile::create(request).status().code(), Code::corrupt_data);
}

TEST(OutputFile, RefusesWhatWouldDestroyData) {
    TemporaryFolder folder;
    write_file(folder.file("in"), "data");
    ASSERT_EQ(symlink("in", folder.file("link").c_str()), 0);
    OutputRequest request;
    request.payload_bytes = 4;
    request.input_path = folder.file("in");
    for (const std::string& path : {folder.file("in"), folder.file("link"), folder.file("./in")}) {
        request.path = path;
        EXPECT_EQ(OutputFile::create(request).status().code(), Code::invalid_argument);
    }
    request.path = folder.path();
    EXPECT_EQ(OutputFile::create(request).status().code(), Code::invalid_argument);
    request.path = folder.file("none/out");
    EXPECT_EQ(OutputFile::create(request).status().code(), Code::io_error);
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "link"}));
    EXPECT_EQ(read_file(folder.file("in")), "data");
}

TEST(OutputFile, ChecksFreeSpaceBeforeWriting) {
    TemporaryFolder folder;
    OutputRequest request;
    request.path = folder.file("out");
    request.payload_bytes = index_t{1} << 60;
    const Status status = OutputFile::create(request).status();
    EXPECT_EQ(status.code(), Code::no_space);
    EXPECT_NE(status.message().find(std::to_string(request.payload_bytes)), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(folder.path()), std::string::npos) << status.message();
    EXPECT_TRUE(folder.names().empty());
}

TEST(OutputFile, StripesScratchOverItsFolders) {
    TemporaryFolder folder;
    OutputRequest request;
    request.path = folder.file("out");
    request.payload_bytes = 10;
    request.scratch_bytes = 5 * kStripeBlockBytes + 1000;
    for (const char* name : {"a", "b", "c"}) {
        request.scratch_folders.push_back(folder.file(name));
        ASSERT_EQ(mkdir(request.scratch_folders.back().c_str(), 0777), 0);
    }
    auto output = OutputFile::create(request);
    ASSERT_TRUE(output.ok()) << output.status().message();
    Store& scratch = *output.value()->scratch();
    EXPECT_EQ(scratch.disks(), 3);
    EXPECT_EQ(scratch.size_bytes(), request.scratch_bytes);
    index_t bytes = 0;
    for (int disk = 0; disk < 3; ++disk) {
        bytes += scratch.disk(disk).size_bytes();
        const std::string where = scratch.disk(disk).describe();
        EXPECT_EQ(where.find(request.scratch_folders[static_cast<size_t>(disk)]), 0U) << where;
        EXPECT_NE(scratch.describe().find(where), std::string::npos) << scratch.describe();
    }
    EXPECT_EQ(bytes, 5 * kStripeBlockBytes + kDirectBytes);
    std::string data(static_cast<size_t>(request.scratch_bytes), '\0'), back = data;
    std::iota(data.begin(), data.end(), '\0');
    ASSERT_TRUE(scratch.write({0, data.data(), request.scratch_bytes, false}).ok());
    ASSERT_TRUE(scratch.read({0, back.data(), request.scratch_bytes, false}).ok());
    EXPECT_TRUE(data == back);
    for (const std::string& each : request.scratch_folders) EXPECT_EQ(rmdir(each.c_str()), 0) << "scratch has a name";
}

TEST(OutputFile, PlacesBlocksAsP1HasThemWhereAPlanAsksForIt) {
    TemporaryFolder folder;
    OutputRequest request;
    request.path = folder.file("out");
    request.scratch_block_bytes = 8192;
    request.scratch_bytes = 8 * request.scratch_block_bytes;
    request.scratch_disks = 2;
    for (const char* name : {"a", "b"}) {
        request.scratch_folders.push_back(folder.file(name));
        ASSERT_EQ(mkdir(request.scratch_folders.back().c_str(), 0777), 0);
    }
    {
        auto output = OutputFile::create(request);
        ASSERT_TRUE(output.ok()) << output.status().message();
        Store& scratch = *output.value()->scratch();
        for (index_t block = 0; block < 8; ++block) {
            const std::string mark(8192, static_cast<char>('0' + block));
            std::string found(8192, '\0');
            ASSERT_TRUE(scratch.write({block * 8192, const_cast<char*>(mark.data()), 8192, false}).ok());
            ASSERT_TRUE(
                scratch.disk(static_cast<int>(block % 2)).read({block / 2 * 8192, found.data(), 8192, false}).ok());
            EXPECT_EQ(found, mark);
        }
    }
    request.scratch_disks = 4;
    const auto refused = OutputFile::create(request);
    EXPECT_EQ(refused.status().code(), Code::invalid_argument);
    EXPECT_NE(refused.status().message().find("2 scratch folders are given to a plan for 4 disks; plan with disks=2"),
              std::string::npos)
        << refused.status().message();
    request.scratch_folders.resize(1);  // one folder does for any plan
    EXPECT_TRUE(OutputFile::create(request).ok());
}

TEST(OutputFile, RefusesScratchFoldersThatWontDo) {
    TemporaryFolder folder;
    OutputRequest request;
    request.path = folder.file("out");
    request.payload_bytes = 10;  // no scratch is needed, but what was named must do
    ASSERT_EQ(mkdir(folder.file("a").c_str(), 0777), 0);
    ASSERT_EQ(symlink("a", folder.file("link").c_str()), 0);
    write_file(folder.file("file"), "");
    const auto refused = [&](const std::vector<std::string>& names, Code code, const std::string& sentence) {
        request.scratch_folders.clear();
        for (const std::string& name : names) request.scratch_folders.push_back(name.empty() ? "" : folder.file(name));
        const Status status = OutputFile::create(request).status();
        EXPECT_EQ(status.code(), code) << status.message();
        EXPECT_NE(status.message().find(sentence), std::string::npos) << status.message();
        EXPECT_EQ(folder.names(), (std::vector<std::string>{"a", "file", "link"}));
    };
    refused({"a", "none"}, Code::io_error, folder.file("none") + ": No such file");
    refused({"a", "none"}, Code::io_error, "make it, or name another");
    refused({"file"}, Code::io_error, folder.file("file") + " is not a folder");
    refused({"a", "a"}, Code::invalid_argument, "are the same folder; name each once");
    refused({"a", "link"}, Code::invalid_argument, folder.file("link"));
    refused({"a", ""}, Code::invalid_argument, "empty name");
    refused(std::vector<std::string>(17, "a"), Code::invalid_argument, "use at most 16");
}

// Two folders on one file system share its space; each file system is asked for what it has to hold.
TEST(OutputFile, AsksEachFileSystemForItsShare) {
    TemporaryFolder folder;
    std::vector<std::string> mounts;
    struct Unmount {
        std::vector<std::string>& paths;
        ~Unmount() {
            for (const std::string& path : paths) (void)umount2(path.c_str(), MNT_DETACH);
        }
    } unmount{mounts};
    for (const char* name : {"small", "large"}) {
        ASSERT_EQ(mkdir(folder.file(name).c_str(), 0777), 0);
        const char* size = name[0] == 's' ? "size=4m" : "size=16m";
        if (geteuid() != 0 || mount("tmpfs", folder.file(name).c_str(), "tmpfs", 0, size) != 0) {
            GTEST_SKIP() << "needs the right to mount a tmpfs";
        }
        mounts.push_back(folder.file(name));
    }
    for (const char* name : {"small/a", "small/b"}) ASSERT_EQ(mkdir(folder.file(name).c_str(), 0777), 0);
    OutputRequest request;
    request.path = folder.file("out");
    request.payload_bytes = 10;
    request.scratch_bytes = index_t{9} << 20;
    request.scratch_folders = {folder.file("large"), folder.file("small/a")};
    Status status = OutputFile::create(request).status();
    EXPECT_EQ(status.code(), Code::no_space);
    EXPECT_NE(status.message().find(folder.file("small/a")), std::string::npos) << status.message();
    request.scratch_bytes = index_t{7} << 20;  // 3.5 MiB each
    status = OutputFile::create(request).status();
    EXPECT_TRUE(status.ok()) << status.message();
    request.scratch_folders = {folder.file("small/a"), folder.file("small/b")};
    status = OutputFile::create(request).status();
    EXPECT_EQ(status.code(), Code::no_space);
    EXPECT_NE(status.message().find(std::to_string(request.scratch_bytes)), std::string::npos) << status.message();
    request.scratch_folders = {folder.file("large"), folder.file("small")};
    ASSERT_EQ(mount(nullptr, folder.file("small").c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
    status = OutputFile::create(request).status();
    EXPECT_EQ(status.code(), Code::io_error);
    EXPECT_NE(status.message().find(folder.file("small") + "; allow it or name another: Read-only"), std::string::npos)
        << status.message();
}

TEST(OutputFile, LeavesLivingRunsAndRemovesDeadOnes) {
    TemporaryFolder folder;
    OutputRequest request;
    request.path = folder.file("a");
    request.payload_bytes = 10;
    auto living = OutputFile::create(request).value();
    write_file(folder.file(".b.12345678.spanfft-partial"), "dead");
    write_file(folder.file(".b.12345678.spanfft-scratch"), "dead");
    write_file(folder.file("not-hidden.spanfft-partial"), "someone's");
    EXPECT_EQ(remove_stale_files(folder.path()), 2);
    EXPECT_EQ(folder.names().size(), 2U);
    EXPECT_TRUE(living->publish().ok());
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"a", "not-hidden.spanfft-partial"}));
}

TEST(OutputFile, TwoRunsAtOnceDoNotDisturbEachOther) {
    TemporaryFolder folder;
    std::vector<pid_t> children;
    for (int child = 0; child < 4; ++child) {
        const pid_t pid = fork();
        if (pid == 0) {
            for (int round = 0; round < 50; ++round) {
                OutputRequest request;
                request.path = folder.file("out");
                request.payload_bytes = 8;
                auto output = OutputFile::create(request);
                char payload[] = "abcdefgh";
                if (!output.ok() || !output.value()->store().write({0, payload, 8, false}).ok() ||
                    !output.value()->publish().ok())
                    _exit(1);
            }
            _exit(0);
        }
        children.push_back(pid);
    }
    for (pid_t pid : children) {
        int status = 0;
        ASSERT_EQ(waitpid(pid, &status, 0), pid);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(folder.names(), std::vector<std::string>{"out"});
    EXPECT_EQ(read_file(folder.file("out")), "abcdefgh");
}

}  // namespace
}  // namespace spanfft::test
