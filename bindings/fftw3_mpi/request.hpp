// What a client asked FFTW's MPI interface for, and the same in spanfft's terms.
//
// FFTW divides the first axis of an array, or with TRANSPOSED the second, into blocks of ceil(n / ranks) indices or of
// a length that the client gives. A transposed array is stored with its first two axes swapped. Real rows of r2c and
// c2r are padded to twice the length of the complex ones. The `howmany` numbers of a point lie together. (FFTW 3.3's
// manual, sections 6.4 and 6.5.) spanfft takes boxes in C order, so each side has a box, and the steps in bytes by
// which FFTW goes through it.
#pragma once
#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "fftw_abi.hpp"
#include "strided_copy.hpp"

namespace fftw3_mpi {

enum class Kind { c2c, r2c, c2r, r2r, transpose };

struct Request {
    Kind kind;
    int precision;
    std::size_t real_bytes;
    std::vector<std::int64_t> n;
    std::int64_t howmany;
    std::int64_t input_block, output_block;  // 0: FFTW's default
    const int* r2r_kinds = nullptr;
    int sign = forward_sign;
    unsigned flags;
    bool in_place;
    int threads;
    MPI_Comm comm;
};

// A rank's share of an axis.
struct Block {
    std::int64_t start, count;
};
// FFTW's: block 0 stands for ceil(n / ranks). Nothing where the blocks are too short for so few ranks.
std::optional<Block> block_of(std::int64_t n, std::int64_t block, int rank, int ranks);

// One side of a transform on this rank. Axes are in spanfft's order.
struct Side {
    spanfft_box box{};
    std::vector<std::int64_t> steps;  // bytes from one index of an axis to the next in the client's array
    std::size_t element_bytes = 0;
    std::size_t divided = 0;  // the axis that the ranks divide
    bool balanced = false;    // this rank's block is the one that spanfft would give it
    bool in_c_order = true;   // the client's array is as spanfft takes it

    std::size_t bytes() const;  // as spanfft takes it
    StridedCopy to_spanfft() const;
    StridedCopy to_client() const;
};

struct Translation {
    spanfft_problem problem;
    Side input, output;
};
// Or the reason why spanfft can't do it, which is the same on all ranks. The problem has no pointers to boxes yet.
std::optional<Translation> translate(const Request& request, int rank, int ranks, std::string& reason);

}  // namespace fftw3_mpi
