// Columns: the first half of a transform of n1 n2 points in one sweep of memory: the columns of n1 x n2 are
// transformed, multiplied by w_n^(k1 j2), and left where the exchange after it needs no packing. Backward is the same
// undone.
//
// Method: some neighbouring columns at a time become rows of a tile in cache (engine/line_tile.hpp), the engine
// transforms these, each is multiplied by its factors and by the normalisation, and leaves the tile. It leaves either
// to the column where it came from, or, turned, as a row cut in `parts` pieces: the array is then parts x n2 x
// (n1/parts), and all that a part has of this rank's columns is contiguous. Piece q has rows k1 of q's block, or every
// parts-th from q on (`dealt`). So an exchange that gives rank q part q sends pieces as they lie and receives them as
// they are to lie.
// Source: P2, section 2.1; the tile and the factors are those of a long line in one process.
// Worked numbers: 4 x 3 on 2 ranks, 2 parts: rank 0 has columns 0 1, which leave as {k1 = 0 1 of column 0, of column
// 1}, for rank 0, and {k1 = 2 3 of column 0, of column 1}, for rank 1; dealt, as {0 2} and {1 3}.
#pragma once

#include "engine/engine.hpp"
#include "plan/machine.hpp"
#include "plan/problem.hpp"
#include "plan/step.hpp"
#include "steps/row_work.hpp"

namespace spanfft {

// Forward leads from the matrix, backward to it: the array whose axes `axis` and `axis` + 1, the last, are the n1 x n2.
// The other side has the same layout, or the pieces' (one axis more). Ranks divide the columns.
struct ColumnsSpec {
    ArrayState from, to;
    int axis = 0;
    Kernel kernel = Kernel::c2c_forward;  // or c2c_backward
    bool dealt = false;                   // of pieces: every parts-th row, not a block of them
    long double scale = 1;
    Slot source = Slot::work0, target = Slot::work0;  // the same only where the layouts are
    std::string engine;                               // forced, or ""
    RateTable rates;                                  // of the machine that is planned for
    Caches caches;                                    // of it, a rank's share
    double memory_bytes_per_second = 19e9;            // of it, copied by a thread
    int threads = 1;
    bool measure = false;
};

Result<std::unique_ptr<Step>> make_columns_step(ColumnsSpec spec, std::vector<std::string>& notes);

// The same for some columns a call.
std::unique_ptr<RowWork> columns_in_rows(ColumnsSpec spec);

}  // namespace spanfft
