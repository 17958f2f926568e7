// Strided copies as runs of memcpy; see strided_copy.hpp.
#include "comm/strided_copy.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace spanfft {

namespace {

// Runs below this are copied by the compiler's inline moves instead of a memcpy call.
template <index_t Bytes>
void copy_fixed(char* to, index_t to_stride, const char* from, index_t from_stride, index_t count) {
    for (index_t i = 0; i < count; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, Bytes);
}

void copy_runs(char* to, index_t to_stride, const char* from, index_t from_stride, index_t count, index_t run_bytes) {
    switch (run_bytes) {
        case 4:
            return copy_fixed<4>(to, to_stride, from, from_stride, count);
        case 8:
            return copy_fixed<8>(to, to_stride, from, from_stride, count);
        case 16:
            return copy_fixed<16>(to, to_stride, from, from_stride, count);
        case 32:
            return copy_fixed<32>(to, to_stride, from, from_stride, count);
        default:
            for (index_t i = 0; i < count; ++i) {
                std::memcpy(to + i * to_stride, from + i * from_stride, static_cast<size_t>(run_bytes));
            }
    }
}

// Walks the outer loops of both sides together; the innermost loop is copy_runs.
void copy_loops(const std::vector<StridedDim>& from_dims, const std::vector<StridedDim>& to_dims, size_t level,
                const char* from, char* to, index_t run_bytes) {
    if (level == from_dims.size()) {
        std::memcpy(to, from, static_cast<size_t>(run_bytes));
    } else if (level + 1 == from_dims.size()) {
        copy_runs(to, to_dims[level].stride_bytes, from, from_dims[level].stride_bytes, from_dims[level].count,
                  run_bytes);
    } else {
        for (index_t i = 0; i < from_dims[level].count; ++i) {
            copy_loops(from_dims, to_dims, level + 1, from + i * from_dims[level].stride_bytes,
                       to + i * to_dims[level].stride_bytes, run_bytes);
        }
    }
}

// Dims of a contiguous part that is walked in the order of `like`.
std::vector<StridedDim> contiguous_like(const StridedPart& like) {
    auto dims = like.dims;
    index_t stride = like.elem_bytes;
    for (size_t i = dims.size(); i-- > 0;) {
        dims[i].stride_bytes = stride;
        stride *= dims[i].count;
    }
    return dims;
}

bool is_contiguous(const StridedPart& part) {
    index_t stride = part.elem_bytes;
    for (size_t i = part.dims.size(); i-- > 0;) {
        if (part.dims[i].count != 1 && part.dims[i].stride_bytes != stride) return false;
        stride *= part.dims[i].count;
    }
    return true;
}

// Joins loops that are contiguous on both sides, so that the innermost run is as long as it can be.
void join(std::vector<StridedDim>& a, std::vector<StridedDim>& b, index_t& run_bytes) {
    for (size_t i = a.size(); i-- > 0;) {
        if (a[i].count == 1) {
            a.erase(a.begin() + static_cast<std::ptrdiff_t>(i));
            b.erase(b.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    while (!a.empty() && a.back().stride_bytes == run_bytes && b.back().stride_bytes == run_bytes) {
        run_bytes *= a.back().count;
        a.pop_back();
        b.pop_back();
    }
    for (size_t i = a.size(); i-- > 1;) {
        if (a[i - 1].stride_bytes == a[i].stride_bytes * a[i].count &&
            b[i - 1].stride_bytes == b[i].stride_bytes * b[i].count) {
            a[i - 1] = {a[i - 1].count * a[i].count, a[i].stride_bytes};
            b[i - 1] = {b[i - 1].count * b[i].count, b[i].stride_bytes};
            a.erase(a.begin() + static_cast<std::ptrdiff_t>(i));
            b.erase(b.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
}

}  // namespace

void copy_strided(const StridedPart& source_part, const void* source, const StridedPart& target_part, void* target) {
    assert(source_part.bytes() == target_part.bytes());
    if (source_part.bytes() == 0) return;
    index_t run_bytes = source_part.elem_bytes;
    auto from_dims = source_part.dims;
    auto to_dims = target_part.dims;
    const bool same_shape = from_dims.size() == to_dims.size() && source_part.elem_bytes == target_part.elem_bytes &&
                            std::equal(from_dims.begin(), from_dims.end(), to_dims.begin(),
                                       [](const StridedDim& a, const StridedDim& b) { return a.count == b.count; });
    if (!same_shape) {
        if (is_contiguous(target_part)) {
            to_dims = contiguous_like(source_part);
        } else {
            assert(is_contiguous(source_part));
            from_dims = contiguous_like(target_part);
            run_bytes = target_part.elem_bytes;
        }
    }
    join(from_dims, to_dims, run_bytes);
    copy_loops(from_dims, to_dims, 0, static_cast<const char*>(source) + source_part.offset_bytes,
               static_cast<char*>(target) + target_part.offset_bytes, run_bytes);
}

StridedPart merged(const StridedPart& part) {
    StridedPart result = part;
    auto twin = result.dims;
    join(result.dims, twin, result.elem_bytes);
    return result;
}

}  // namespace spanfft
