// RateTable: how fast engines were at a few shapes of work; a value, which belongs to a machine.
//
// Method: rows of GF/s by the convention of spec_flops. What a table lacks, rates.hpp fills from the priors. A rate
// depends on the length and on what the transforms reach together: many short lines stay in a cache, or come from
// memory. Rows of a batch therefore name its size.
#pragma once

#include <compare>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "core/extents.hpp"

namespace spanfft {

enum class RateShape : int {
    line,        // one axis, contiguous; n points a transform, batched while that fits the cache
    strided,     // one axis, whose points are far apart, n points
    several,     // several axes at once, n points together
    plane,       // the same of two axes; where a table has no row of it, several serves
    two_sweeps,  // one long line in two sweeps of memory (long_line.hpp), n points
    tile,        // one axis of lines that lie side by side, in place, n points, in tiles (tile.hpp)
    few_lines,   // as line, of half as many lines as the engine transforms at once, one in each lane of a register
    few_lanes,   // as tile, of as many
};

constexpr bool is_few(RateShape shape) { return shape == RateShape::few_lines || shape == RateShape::few_lanes; }

enum class RateKernel : int { c2c, half, r2r };  // half: r2c and c2r

struct RateRow {
    std::string engine;
    Precision precision = Precision::dbl;
    RateShape shape = RateShape::line;
    int threads = 1;
    double n = 1024;  // points of a transform
    double gflops = 1;
    RateKernel kernel = RateKernel::c2c;
    double batch_points = 0;  // of all transforms of a batch together; 0: of one transform, or as many as suit a tile
    Extents box = {};         // of several axes: their lengths; none: about equal ones
    bool operator==(const RateRow&) const = default;
};

// What rows are found by: an engine's, of one sort of work.
struct RateKey {
    std::string engine;
    Precision precision = Precision::dbl;
    RateShape shape = RateShape::line;
    int threads = 1;
    RateKernel kernel = RateKernel::c2c;
    auto operator<=>(const RateKey&) const = default;
};

// Copies share their rows, of which a probe measures thousands.
class RateTable {
  public:
    RateTable() = default;
    RateTable(std::initializer_list<RateRow> rows);
    void push_back(const RateRow& row);
    void clear() { data_.reset(); }
    bool empty() const { return rows().empty(); }
    size_t size() const { return rows().size(); }
    const RateRow& operator[](size_t i) const { return rows()[i]; }
    auto begin() const { return rows().begin(); }
    auto end() const { return rows().end(); }
    const std::vector<RateRow>& alike(const RateKey& key) const;  // in their order
    bool operator==(const RateTable& other) const { return rows() == other.rows(); }

  private:
    struct Data {
        std::vector<RateRow> rows;
        std::map<RateKey, std::vector<RateRow>> alike;
    };
    const std::vector<RateRow>& rows() const;
    std::shared_ptr<Data> data_;  // nullptr: no rows
};

}  // namespace spanfft
