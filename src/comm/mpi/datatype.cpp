// Nested vectors that describe a strided part; see datatype.hpp.
//
// Worked numbers: rows 2..3, columns 4..8 of a 10 x 10 array of 16-byte elements is the part
// {offset 2*160 + 4*16 = 384, dims {2 x 160 B, 5 x 16 B}}: 80 contiguous bytes, twice, 160 bytes apart, from 384.
// A run or loop of more than 2^31 - 1 is cut into chunks of 2^30 and a remainder.
#include "comm/mpi/datatype.hpp"

#include <cassert>
#include <utility>

#include "comm/strided_copy.hpp"

namespace spanfft {

namespace {

constexpr index_t kChunk = index_t{1} << 30;

// `count` copies of `base`, `stride_bytes` apart. Consumes (frees) base unless it is a basic type.
int repeat(index_t count, index_t stride_bytes, bool base_is_basic, MPI_Datatype base, MPI_Datatype* made) {
    int code = MPI_SUCCESS;
    if (count <= kChunk) {
        code = MPI_Type_create_hvector(static_cast<int>(count), 1, static_cast<MPI_Aint>(stride_bytes), base, made);
    } else {
        MPI_Datatype chunk = MPI_DATATYPE_NULL, chunks = MPI_DATATYPE_NULL, rest = MPI_DATATYPE_NULL;
        const index_t full = count / kChunk, left = count % kChunk;
        code = MPI_Type_create_hvector(static_cast<int>(kChunk), 1, static_cast<MPI_Aint>(stride_bytes), base, &chunk);
        if (code == MPI_SUCCESS) {
            code = MPI_Type_create_hvector(static_cast<int>(full), 1, static_cast<MPI_Aint>(kChunk * stride_bytes),
                                           chunk, &chunks);
        }
        if (code == MPI_SUCCESS && left == 0) {  // an empty rest would still count in the true extent
            *made = std::exchange(chunks, MPI_DATATYPE_NULL);
        } else if (code == MPI_SUCCESS) {
            code = MPI_Type_create_hvector(static_cast<int>(left), 1, static_cast<MPI_Aint>(stride_bytes), base, &rest);
        }
        if (code == MPI_SUCCESS && left > 0) {
            const int lengths[2] = {1, 1};
            const MPI_Aint offsets[2] = {0, static_cast<MPI_Aint>(full * kChunk * stride_bytes)};
            const MPI_Datatype types[2] = {chunks, rest};
            code = MPI_Type_create_struct(2, lengths, offsets, types, made);
        }
        for (MPI_Datatype* type : {&chunk, &chunks, &rest}) {
            if (*type != MPI_DATATYPE_NULL) MPI_Type_free(type);
        }
    }
    if (!base_is_basic) MPI_Type_free(&base);
    return code;
}

}  // namespace

int make_datatype(const StridedPart& part, MPI_Datatype* type) {
    assert(part.bytes() > 0);
    const StridedPart simple = merged(part);
    // Basic type: the widest that divides the run, since MPI libraries copy 8-byte units faster than bytes.
    const bool wide = simple.elem_bytes % 8 == 0;
    const index_t unit_bytes = wide ? 8 : 1;
    MPI_Datatype next = MPI_DATATYPE_NULL;
    int code = repeat(simple.elem_bytes / unit_bytes, unit_bytes, true, wide ? MPI_DOUBLE : MPI_BYTE, &next);
    for (size_t i = simple.dims.size(); i-- > 0 && code == MPI_SUCCESS;) {
        const MPI_Datatype inner = std::exchange(next, MPI_DATATYPE_NULL);
        code = repeat(simple.dims[i].count, simple.dims[i].stride_bytes, false, inner, &next);
    }
    if (code != MPI_SUCCESS) return code;
    const int one = 1;
    const MPI_Aint offset = static_cast<MPI_Aint>(simple.offset_bytes);
    code = MPI_Type_create_hindexed(1, &one, &offset, next, type);
    MPI_Type_free(&next);
    return code == MPI_SUCCESS ? MPI_Type_commit(type) : code;
}

}  // namespace spanfft
