// Tiles whose lines are rows (engine/line_tile.hpp) against the definition: pieces of columns from several arrays, at
// any address, come in and go out where they belong, and nothing else is written.
#include "engine/line_tile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/stream_copy.hpp"
#include "engine/tile.hpp"

namespace spanfft {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes numbers(index_t bytes) {
    Bytes made(static_cast<size_t>(bytes));
    for (size_t i = 0; i < made.size(); ++i) made[i] = static_cast<unsigned char>(i * 2654435761u >> 11);
    return made;
}

// Points of the columns in three arrays, whose rows lie further apart than the columns are wide.
struct Columns {
    index_t points, lines, elem, shift, pitch;
    std::vector<index_t> cuts;
    std::vector<Bytes> arrays;

    Columns(index_t points_, index_t lines_, index_t elem_, index_t shift_)
        : points(points_), lines(lines_), elem(elem_), shift(shift_), pitch((lines_ + 3) * elem_) {
        cuts = {0, points / 3, points / 3 + points / 5, points};
        for (size_t i = 0; i < 3; ++i) arrays.push_back(numbers((cuts[i + 1] - cuts[i]) * pitch + shift + 64));
    }
    unsigned char* first(size_t piece) { return arrays[piece].data() + shift; }
    TilePart part(size_t piece, index_t line) const {
        return {line, lines, cuts[piece], cuts[piece + 1] - cuts[piece]};
    }
};

TEST(LineTile, PiecesOfColumnsComeInAndGoOutWhereTheyBelong) {
    for (const index_t elem : {8, 16, 32}) {
        for (const index_t points : {1, 7, 37, 64}) {
            for (const index_t lines : {1, 3, 8, 13}) {
                for (const index_t shift : {0, 8, 24}) {
                    for (const bool stream : {false, true}) {
                        SCOPED_TRACE(testing::Message() << elem << " " << points << " " << lines << " " << shift);
                        const LineTileForm form = line_tile_form({1 << 10, 1 << 20, 1 << 24, 1}, points, elem);
                        const Buffer memory = tile_memory(form.bytes()).value();
                        const LineTile tile(memory, form);
                        const index_t line = form.lines - lines;
                        Columns in(points, lines, elem, shift), out(points, lines, elem, shift);
                        for (size_t i = 0; i < 3; ++i) tile.fetch(in.part(i, line), in.first(i), in.pitch);
                        index_t wrong = 0;
                        for (size_t i = 0; i < 3; ++i) {
                            for (index_t p = in.cuts[i]; p < in.cuts[i + 1]; ++p) {
                                for (index_t l = 0; l < lines; ++l)
                                    wrong += std::memcmp(tile.line(line + l) + p * elem,
                                                         in.first(i) + (p - in.cuts[i]) * in.pitch + l * elem,
                                                         static_cast<size_t>(elem)) != 0;
                            }
                        }
                        EXPECT_EQ(wrong, 0);
                        for (Bytes& array : out.arrays) {
                            for (unsigned char& byte : array) byte = static_cast<unsigned char>(~byte);
                        }
                        std::vector<Bytes> expected = out.arrays;
                        for (size_t i = 0; i < 3; ++i) {
                            for (index_t p = 0; p < in.cuts[i + 1] - in.cuts[i]; ++p)
                                std::memcpy(expected[i].data() + shift + p * in.pitch, in.first(i) + p * in.pitch,
                                            static_cast<size_t>(lines * elem));
                            tile.put(out.part(i, line), out.first(i), out.pitch, stream);
                        }
                        stream_fence();
                        EXPECT_EQ(out.arrays, expected);
                    }
                }
            }
        }
    }
}

TEST(LineTile, RowsWithoutFactorsAreCopied) {
    const LineTileForm form = line_tile_form({1 << 10, 1 << 20, 1 << 24, 1}, 45, 16);
    const Buffer memory = tile_memory(form.bytes()).value();
    const LineTile tile(memory, form);
    const index_t pitch = 47 * 16;
    const Bytes from = numbers(5 * pitch);
    for (const bool stream : {false, true}) {
        Bytes to(from.size(), 0xA5), expected = to;
        for (index_t i = 0; i < 5; ++i) std::copy_n(from.begin() + i * pitch, 45 * 16, expected.begin() + i * pitch);
        tile.take_rows(5, {}, from.data(), pitch);
        tile.leave_rows(5, {}, to.data(), pitch, stream);
        stream_fence();
        EXPECT_EQ(to, expected);
    }
}

// Groups cover the columns once, in order; all but the first begin at cache lines.
TEST(LineTile, GroupsCoverTheColumns) {
    for (const index_t columns : {1, 3, 16, 50}) {
        for (const index_t lead : {0, 1, 3}) {
            const ColumnGroups groups(columns, lead, 8);
            index_t next = 0, sum = 0;
            const auto of = [](index_t n) { return n * n; };
            for (index_t g = 0; g < groups.count(); ++g) {
                sum += of(groups.end(g) - groups.begin(g));
                EXPECT_EQ(groups.begin(g), next);
                EXPECT_GT(groups.end(g), next);
                EXPECT_LE(groups.end(g) - next, 8);
                if (g > 0) {
                    EXPECT_EQ((next - lead) % 4, 0);
                }
                next = groups.end(g);
            }
            EXPECT_EQ(next, columns);
            EXPECT_EQ(groups.sum(of), sum);
        }
    }
}

TEST(LineTile, FewerLinesThanATileWouldTakeAreNotPadded) {
    const Caches caches{1 << 10, 1 << 20, 1 << 24, 1};
    EXPECT_EQ(line_tile_form(caches, 64, 16).lines, 32);
    EXPECT_EQ(line_tile_form(caches, 64, 16, 5).lines, 5);
    EXPECT_EQ(line_tile_form(caches, 64, 16, 5).calls(5), 5);
    EXPECT_EQ(line_tile_form(caches, 64, 16, 8).calls(7), 1);
}

}  // namespace
}  // namespace spanfft
