// The journal's file, and stores and sums beneath it: what is torn is dropped, what is spoiled is refused.
#include <gtest/gtest.h>

#include <unistd.h>

#include <random>

#include "disk/checksum.hpp"
#include "disk/displaced_store.hpp"
#include "disk/journal.hpp"
#include "disk/panel_sums.hpp"
#include "exec/unfinished_run.hpp"
#include "support/simulated_store.hpp"

namespace spanfft::test {
namespace {

using Lines = std::vector<std::string>;

TEST(Checksum, IsTheXxh3OfTheReference) {
    // As the Python module xxhash 4.1.0 has them: xxh3_64_intdigest.
    EXPECT_EQ(checksum("", 0), 0x2d06800538d394c2ULL);
    EXPECT_EQ(checksum("abc", 3), 0x78af5f94892f3950ULL);
}

TEST(Checksum, DependsOnThePlace) {
    const std::string bytes(100, 'x');
    EXPECT_EQ(placed_checksum(bytes.data(), 100, 4096), placed_checksum(bytes.data(), 100, 4096));
    EXPECT_NE(placed_checksum(bytes.data(), 100, 4096), placed_checksum(bytes.data(), 100, 8192));
}

TEST(Checksum, HexGoesThereAndBack) {
    for (const uint64_t value : {uint64_t{0}, uint64_t{0x123456789abcdef0}, ~uint64_t{0}}) {
        uint64_t back = 1;
        EXPECT_TRUE(parse_hex(hex_of(value), back));
        EXPECT_EQ(back, value);
    }
    uint64_t back = 0;
    for (const char* bad : {"", "123", "0123456789abcdeg", "0123456789ABCDEF", "00123456789abcdef"})
        EXPECT_FALSE(parse_hex(bad, back)) << bad;
}

class JournalFile : public testing::Test {
  protected:
    Lines reopened() const {
        auto journal = Journal::open(path);
        EXPECT_TRUE(journal.ok()) << journal.status().message();
        return journal.ok() ? journal.value()->lines() : Lines{"refused"};
    }
    TemporaryFolder folder;
    const std::string path = folder.file("journal");
};

TEST_F(JournalFile, GivesBackItsLines) {
    {
        auto journal = Journal::open(path).value();
        EXPECT_TRUE(journal->lines().empty());
        ASSERT_TRUE(journal->append("problem c2c 12").ok());
        ASSERT_TRUE(journal->append_all({"run 12 now", "run 13 later", ""}).ok());
    }
    EXPECT_EQ(reopened(), (Lines{"problem c2c 12", "run 12 now", "run 13 later", ""}));
    EXPECT_EQ(journal_value(reopened(), "run"), "13 later");
    EXPECT_EQ(journal_value(reopened(), "ru"), "");
}

// Cut off anywhere: the lines that are whole, and the next append makes a good file again.
TEST_F(JournalFile, IgnoresATornLastLine) {
    const Lines lines = {"first", "second line", "third"};
    std::string whole;
    std::vector<size_t> ends;
    for (const std::string& line : lines) {
        whole += journal_line(line);
        ends.push_back(whole.size());
    }
    for (size_t bytes = 0; bytes <= whole.size(); ++bytes) {
        write_file(path, whole.substr(0, bytes));
        Lines expected;
        for (size_t i = 0; i < lines.size(); ++i)
            if (ends[i] <= bytes) expected.push_back(lines[i]);
        ASSERT_EQ(reopened(), expected) << bytes << " bytes";
        write_file(path, whole.substr(0, bytes));
        ASSERT_TRUE(Journal::open(path).value()->append("x").ok());
        expected.emplace_back("x");
        ASSERT_EQ(reopened(), expected) << bytes << " bytes";
    }
}

// A bit of the last line: as torn. Of one before: refused, whichever bit.
TEST_F(JournalFile, RefusesASpoiledLineThatOthersFollow) {
    const std::string first = journal_line("first"), whole = first + journal_line("second");
    for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
        std::string spoiled = whole;
        spoiled[bit / 8] = static_cast<char>(static_cast<unsigned char>(spoiled[bit / 8]) ^ (1U << bit % 8));
        write_file(path, spoiled);
        const auto journal = Journal::open(path);
        if (bit / 8 >= first.size()) {
            ASSERT_TRUE(journal.ok()) << "bit " << bit << ": " << journal.status().message();
            ASSERT_EQ(journal.value()->lines(), Lines{"first"}) << "bit " << bit;
        } else if (bit / 8 + 1 < first.size() || spoiled.find('\n') != std::string::npos) {
            // Without the newline between them the two are one line, the last, and both are dropped.
            if (journal.ok()) {
                ASSERT_TRUE(journal.value()->lines().empty()) << "bit " << bit;
            } else {
                ASSERT_EQ(journal.status().code(), Code::corrupt_data);
                ASSERT_NE(journal.status().message().find(path), std::string::npos);
            }
        }
    }
}

TEST_F(JournalFile, IsLockedWhileARunHoldsIt) {
    auto journal = Journal::open(path).value();
    ASSERT_TRUE(journal->append("run 4711 now").ok());
    const auto other = Journal::open(path);
    ASSERT_EQ(other.status().code(), Code::io_error);
    EXPECT_NE(other.status().message().find("process 4711"), std::string::npos) << other.status().message();
    EXPECT_EQ(Journal::peek(path).value(), Lines{"run 4711 now"});
    journal.reset();
    EXPECT_EQ(reopened(), Lines{"run 4711 now"});
}

TEST_F(JournalFile, ThatIsNotThereIsEmptyToLookAt) { EXPECT_TRUE(Journal::peek(path).value().empty()); }

// Every byte of the array has a place of its own below, and comes back.
TEST(DisplacedStore, KeepsEveryByte) {
    std::mt19937 random(3);
    for (int round = 0; round < 400; ++round) {
        const auto upto = [&](index_t most) { return static_cast<index_t>(random() % static_cast<uint64_t>(most)); };
        Displacement displacement;
        displacement.begin_bytes = upto(100);
        displacement.row_bytes = 1 + upto(60);
        displacement.shift_bytes = upto(displacement.row_bytes + 1);
        displacement.total_bytes = displacement.row_bytes * (1 + upto(9));
        const index_t behind = upto(50), size = displacement.begin_bytes + displacement.total_bytes + behind;
        MemoryStore below(size + displacement.extra_bytes());
        DisplacedStore store(below, displacement);
        ASSERT_EQ(store.size_bytes(), size);
        std::string all(static_cast<size_t>(size), '\0'), back = all;
        for (char& c : all) c = static_cast<char>(random());
        for (index_t at = 0; at < size;) {  // in pieces that end anywhere
            const index_t bytes = std::min<index_t>(1 + upto(40), size - at);
            ASSERT_TRUE(store.write({at, all.data() + at, bytes}).ok());
            at += bytes;
        }
        for (index_t byte = 0; byte < below.size_bytes(); ++byte) ASSERT_LE(below.writes_of(byte), 1);
        ASSERT_TRUE(store.read({0, back.data(), size}).ok());
        ASSERT_EQ(back, all);
        // The same in the pieces that an io_uring would be given.
        back.assign(back.size(), '\0');
        const spanfft::Run run{0, back.data(), size};
        index_t from = 0, bytes = 0;
        for (spanfft::Run piece; store.next_piece(run, 0, from, piece); bytes += piece.bytes) {
            ASSERT_TRUE(below.read(piece).ok());
        }
        ASSERT_EQ(bytes, size);
        ASSERT_EQ(back, all);
    }
}

// 1 to `most`, the same numbers in every run.
class UpTo {
  public:
    explicit UpTo(uint32_t seed) : random_(seed) {}
    index_t operator()(index_t most) { return 1 + static_cast<index_t>(random_() % static_cast<uint64_t>(most)); }

  private:
    std::mt19937 random_;
};

// Of every element the panel that moves it, and how far the run goes on, held against the panels' own runs.
TEST(Partition, OfMirroredPanelsIsWhatTheyMove) {
    UpTo upto(9);
    int images = 0;
    for (int round = 0; round < 300; ++round) {
        ColumnPanels panels;
        const index_t pitch = 1 + upto(9), sections = upto(4);
        panels.row_elems = pitch * sections;
        panels.rows = upto(4);
        panels.last_row_elems = upto(panels.row_elems);
        panels.outer = upto(3);
        panels.elem_bytes = 8;
        panels.besides = ColumnPanels::Mirrored{pitch, round % 2 == 1};
        panels.columns = sections * (pitch / 2 + 1);
        panels.panel = upto(panels.section_columns());
        const Partition partition{Partition::Kind::columns, panels, {}, 16};
        const PanelFinder finder(partition);
        std::vector<index_t> moved(static_cast<size_t>(panels.outer * panels.matrix_elems()), -1);
        for (index_t panel = 0; panel < panels.panels(); ++panel) {
            for (index_t i = 0; i < panels.requests(panel); ++i) {
                const spanfft::Run run = panels.run(panel, i, 16, nullptr);
                for (index_t at = run.offset_bytes; at < run.offset_bytes + run.bytes; at += 8) {
                    const Partition::Part part = finder.at(at);
                    ASSERT_GT(part.end_bytes, at);
                    const Partition::Part last = finder.at(part.end_bytes - 8);
                    ASSERT_EQ(last.id, part.id) << "byte " << at << ", round " << round;
                    ASSERT_EQ(last.image, part.image) << "byte " << at << ", round " << round;
                    if (!partition.has(panel, i, part)) continue;
                    ASSERT_EQ(part.id, panel) << "byte " << at << ", round " << round;
                    ASSERT_LE(part.end_bytes, run.offset_bytes + run.bytes) << "byte " << at << ", round " << round;
                    index_t& mine = moved[static_cast<size_t>(at - 16) / 8];
                    ASSERT_EQ(mine, -1) << "byte " << at << " is summed up twice, round " << round;
                    mine = panel;
                    images += part.image;
                }
            }
        }
        for (const index_t panel : moved) ASSERT_GE(panel, 0) << "round " << round;
    }
    EXPECT_GT(images, 1000);
}

// What panels of whole sections and their mirror images write: tile by tile of the halves that they compute.
TEST(Partition, OfHalvedSectionsIsWhatTheirPanelsCompute) {
    UpTo upto(10);
    for (int round = 0; round < 200; ++round) {
        const index_t section = 1 + upto(9), sections = upto(9);
        ColumnPanels panels;
        panels.outer = upto(3);
        panels.row_elems = section * sections;
        panels.besides = ColumnPanels::Mirrored{panels.row_elems, false, 0, 0, section};
        panels.columns = panels.row_elems / 2 + 1;
        panels.panel = section * upto(sections);
        BlockGrid grid;
        grid.outer = panels.outer;
        grid.columns = sections * (section / 2 + 1);
        grid.rows = grid.tile_rows = upto(5);
        grid.tile_columns = upto(section / 2 + 1);
        grid.elem_bytes = 8;
        grid.natural = true;
        const PanelFinder finder({Partition::Kind::column_tiles, panels, grid, 16});
        index_t bytes = 0;
        for (index_t panel = 0; panel < panels.panels(); ++panel) {
            for (const int which : {0, 1}) {
                const ColumnPanels::Group all = panels.computed(panel, which);
                for (index_t i = 0; i < all.width; i += grid.tile_columns) {
                    const BlockGrid::Columns tile{all.first + i, std::min(grid.tile_columns, all.width - i)};
                    const spanfft::Run run = grid.write_run(panel / panels.panels_per_matrix(), tile, 0, 16, nullptr);
                    for (index_t at = run.offset_bytes; at < run.offset_bytes + run.bytes; at += 8) {
                        ASSERT_EQ(finder.at(at).id, panel) << "byte " << at << ", round " << round;
                        ASSERT_EQ(finder.at(at).end_bytes, run.offset_bytes + run.bytes) << "round " << round;
                    }
                    bytes += run.bytes;
                }
            }
        }
        ASSERT_EQ(bytes, grid.payload_bytes()) << "round " << round;
    }
}

// The same of ranks that share panels out: what each of them has bears its own number, among those of all.
TEST(Partition, OfPanelsOfAllRanksIsWhatTheyMove) {
    UpTo upto(11);
    int moved_by_others = 0;
    for (int round = 0; round < 400; ++round) {
        ColumnPanels panels;
        const index_t section = upto(12), sections = round % 4 == 1 ? upto(4) : 1;
        panels.columns = panels.row_elems = panels.last_row_elems = section * sections;
        if (round % 4 == 1) panels.besides = ColumnPanels::Plain{section};
        if (round % 4 == 2) {
            panels.besides = ColumnPanels::Reflected{};
            panels.columns = ceil_div(panels.row_elems, 2);
        }
        panels.rows = upto(4);
        panels.outer = upto(3);
        panels.elem_bytes = 8;
        panels.panel = upto(panels.section_columns());
        panels.ranks = static_cast<int>(upto(4));
        panels.share = round % 3 == 0 ? ColumnPanels::Share::in_blocks : ColumnPanels::Share::by_turns;
        Partition partition{Partition::Kind::columns, panels, {}, 16};
        partition.first_of_all = 0;
        const PanelFinder finder(partition);
        std::vector<index_t> moved(static_cast<size_t>(panels.outer * panels.matrix_elems()), -1);
        for (panels.rank = 0; panels.rank < panels.ranks; ++panels.rank) {
            for (index_t panel = 0; panel < panels.panels(); ++panel) {
                const index_t id = panels.rank * panels.panels() + panel;
                for (index_t i = 0; i < panels.requests(panel); ++i) {
                    const spanfft::Run run = panels.run(panel, i, 16, nullptr);
                    for (index_t at = run.offset_bytes; at < run.offset_bytes + run.bytes; at += 8) {
                        const Partition::Part part = finder.at(at);
                        ASSERT_EQ(part.id, id) << "byte " << at << ", round " << round;
                        ASSERT_GT(part.end_bytes, at);
                        ASSERT_LE(part.end_bytes, run.offset_bytes + run.bytes) << "round " << round;
                        index_t& mine = moved[static_cast<size_t>(at - 16) / 8];
                        ASSERT_EQ(mine, -1) << "byte " << at << ", round " << round;
                        mine = id;
                        moved_by_others += panels.rank > 0 ? 1 : 0;
                    }
                }
            }
        }
        for (const index_t panel : moved) ASSERT_GE(panel, 0) << "round " << round;
    }
    EXPECT_GT(moved_by_others, 1000);
}

// A matrix in blocks, natural or not: a column tile is its panel's that writes it, a row of blocks its panel's that
// reads it.
TEST(Partition, OfBlocksIsWhatTheirPanelsMove) {
    UpTo upto(12);
    for (int round = 0; round < 300; ++round) {
        BlockGrid grid;
        grid.outer = upto(3);
        grid.columns = upto(20);
        grid.rows = upto(9);
        grid.tile_columns = upto(grid.columns);
        grid.natural = round % 3 == 0;
        grid.tile_rows = grid.natural ? grid.rows : upto(grid.rows);
        grid.elem_bytes = 8;
        const auto walked = [&](index_t columns, index_t panel) {
            ColumnPanels panels;
            panels.outer = grid.outer;
            panels.row_elems = panels.last_row_elems = panels.columns = columns;
            panels.panel = panel;
            return panels;
        };
        const ColumnPanels writers = walked(grid.columns, grid.tile_columns * upto(3)),
                           readers = walked(grid.rows, grid.tile_rows);
        const PanelFinder written({Partition::Kind::column_tiles, writers, grid, 16}),
            read({Partition::Kind::row_tiles, readers, grid, 16});
        for (index_t matrix = 0; matrix < grid.outer; ++matrix) {
            for (index_t tile = 0; tile < grid.column_tiles(); ++tile) {
                const spanfft::Run run = grid.write_run(matrix, tile, 0, 16, nullptr);
                const index_t first = grid.first_column(tile);
                const index_t panel = matrix * writers.panels_per_matrix() + first / writers.panel;
                for (index_t at = run.offset_bytes; at < run.offset_bytes + run.bytes; at += 8) {
                    ASSERT_EQ(written.at(at).id, panel) << "byte " << at << ", round " << round;
                    ASSERT_EQ(written.at(at).end_bytes, run.offset_bytes + run.bytes) << "round " << round;
                }
                if (grid.natural) continue;  // no row of blocks is read there
                for (index_t row = 0; row < grid.row_tiles(); ++row) {
                    const spanfft::Run block = grid.read_run(matrix, row, tile, nullptr);
                    const index_t begin = 16 + block.offset_bytes;
                    for (index_t at = begin; at < begin + block.bytes; at += 8) {
                        ASSERT_EQ(read.at(at).id, matrix * grid.row_tiles() + row) << "byte " << at;
                        ASSERT_EQ(read.at(at).end_bytes, begin + block.bytes) << "round " << round;
                    }
                }
            }
        }
    }
}

TEST(Partition, OfBoxesIsWhatTheyHold) {
    for (const auto& [shape, box] : std::vector<std::pair<Extents, Extents>>{{{5, 7}, {2, 3}},
                                                                             {{7}, {7}},
                                                                             {{7}, {2}},
                                                                             {{4, 1, 6}, {3, 1, 4}},
                                                                             {{3, 4, 5, 2}, {1, 3, 5, 1}},
                                                                             {{9, 4}, {2, 4}}}) {
        const ArrayBoxes boxes{shape, box, 4};
        Partition partition = Partition::of_boxes(boxes);
        partition.offset_bytes = 12;
        const PanelFinder finder(partition);
        EXPECT_EQ(partition.ids(), boxes.count());
        for (index_t i = 0; i < boxes.count(); ++i) {
            const ArrayBoxes::Box one = boxes.at(i);
            const index_t bytes = boxes.flat_run_bytes(one);
            for (index_t run = 0; run < boxes.flat_runs(one); ++run) {
                const index_t begin = 12 + boxes.flat_offset_bytes(one, run);
                for (index_t at = begin; at < begin + bytes; ++at) {
                    ASSERT_EQ(finder.at(at).id, i) << shape_string(shape) << ", byte " << at;
                    ASSERT_GT(finder.at(at).end_bytes, at);
                    ASSERT_LE(finder.at(at).end_bytes, begin + bytes) << shape_string(shape) << ", byte " << at;
                }
            }
        }
    }
}

// A writer in columns and a reader in rows, each byte in turn spoiled: the panel that reads it, and no other, says so.
TEST(PanelSums, FindEverySpoiledByteAndName) {
    ColumnPanels columns, rows;
    columns.rows = 6;
    columns.row_elems = columns.last_row_elems = columns.columns = 10;
    columns.elem_bytes = 8;
    columns.panel = 4;
    rows.row_elems = rows.last_row_elems = rows.columns = 60;
    rows.elem_bytes = 8;
    rows.panel = 25;
    const Partition writer{Partition::Kind::columns, columns, {}, 128}, reader{Partition::Kind::columns, rows, {}, 128};
    MemoryStore store(128 + 480);
    std::string array(480, '\0');
    std::mt19937 random(5);
    for (char& c : array) c = static_cast<char>(random());
    for (const index_t cells : {1, 6, 100}) {
        PanelSums sums(writer, reader, cells, 2);
        const auto run_of = [&](const ColumnPanels& panels, index_t panel, index_t i) {
            spanfft::Run run = panels.run(panel, i, 128, nullptr);
            run.data = array.data() + (run.offset_bytes - 128);
            return run;
        };
        for (index_t panel = 0; panel < columns.panels(); ++panel) {
            for (index_t i = 0; i < columns.requests(panel); ++i)
                sums.add_written(static_cast<int>(i % 2), run_of(columns, panel, i));
            sums.end_written(panel);
            sums.settle(panel);
        }
        PanelSums again(writer, reader, cells, 2);  // as a run that goes on has them
        ASSERT_TRUE(again.restore(sums.snapshot(0, columns.panels())).ok());
        for (index_t spoiled = -1; spoiled < 480; ++spoiled) {
            if (spoiled >= 0) array[static_cast<size_t>(spoiled)] ^= 8;
            for (index_t panel = 0; panel < rows.panels(); ++panel) {
                const auto each = [&](const auto& found) {
                    for (index_t i = 0; i < rows.requests(panel); ++i) found(run_of(rows, panel, i));
                };
                each([&](const spanfft::Run& run) { again.add_read(static_cast<int>(panel % 2), panel, 0, run); });
                const Status status = again.check(panel, store, each);
                const bool mine = spoiled >= 0 && spoiled / 8 / rows.panel == panel;
                ASSERT_EQ(status.ok(), !mine) << "byte " << spoiled << ", panel " << panel;
                if (mine) {
                    ASSERT_NE(status.message().find(cat("panel ", panel, " of 3")), std::string::npos);
                    ASSERT_NE(status.message().find("memory"), std::string::npos);  // the store's name
                }
            }
            if (spoiled >= 0) array[static_cast<size_t>(spoiled)] ^= 8;
        }
    }
}

// What each of three ranks knows: the run's number, whether panels are done, whether all of all ranks are.
TEST(RunsOnRanks, GoOnTogetherBeginTogetherOrRefuse) {
    using Known = std::vector<KnownRun>;
    const auto decide = [](const Known& known) { return decide_on_run(known); };
    EXPECT_EQ(decide(Known{{}, {}, {}}), RunDecision::begin);
    EXPECT_EQ(decide(Known{{7, 0, 0}, {}, {7, 0, 0}}), RunDecision::begin);  // killed while they began
    EXPECT_EQ(decide(Known{{7, 1, 0}, {7, 1, 0}, {7, 1, 0}}), RunDecision::go_on);
    EXPECT_EQ(decide(Known{{7, 1, 0}, {7, 0, 0}, {7, 1, 0}}), RunDecision::go_on);  // one had done nothing yet
    // Rank 0 makes the output anew, and with it goes what others wrote there.
    EXPECT_EQ(decide(Known{{7, 0, 0}, {7, 1, 0}, {7, 1, 0}}), RunDecision::begin);
    EXPECT_EQ(decide(Known{{7, 1, 0}, {7, 1, 1}, {7, 1, 0}}), RunDecision::go_on);  // before the output had its name
    EXPECT_EQ(decide(Known{{7, 1, 1}, {7, 1, 1}, {7, 1, 1}}), RunDecision::go_on);
    EXPECT_EQ(decide(Known{{7, 0, 1}, {7, 1, 1}, {7, 1, 1}}), RunDecision::begin);  // it has its name
    EXPECT_EQ(decide(Known{{}, {7, 1, 1}, {7, 1, 1}}), RunDecision::begin);         // and rank 0's journal is gone
    EXPECT_EQ(decide(Known{{}, {}, {7, 1, 1}}), RunDecision::begin);
    EXPECT_EQ(decide(Known{{}, {7, 1, 1}, {7, 1, 0}}), RunDecision::refuse);  // rank 0's folder is missing
    EXPECT_EQ(decide(Known{{}, {7, 1, 0}, {7, 1, 0}}), RunDecision::refuse);
    EXPECT_EQ(decide(Known{{7, 1, 0}, {}, {7, 1, 0}}), RunDecision::refuse);  // another's
    EXPECT_EQ(decide(Known{{7, 1, 0}, {7, 1, 0}, {8, 1, 0}}), RunDecision::refuse);
    EXPECT_EQ(decide(Known{{8, 0, 0}, {7, 1, 0}, {7, 1, 0}}), RunDecision::refuse);
}

}  // namespace
}  // namespace spanfft::test
