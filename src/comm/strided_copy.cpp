// Strided copies as runs of memcpy; see strided_copy.hpp.
#include "comm/strided_copy.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

namespace spanfft {

namespace {

// Runs below this are copied by the compiler's inline moves instead of a memcpy call.
template <index_t Bytes>
void copy_fixed(char* to, index_t to_stride, const char* from, index_t from_stride, index_t count) {
    for (index_t i = 0; i < count; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, Bytes);
}

index_t copy_runs(char* to, index_t to_stride, const char* from, index_t from_stride, index_t count,
                  index_t run_bytes) {
    switch (run_bytes) {
        case 4:
            copy_fixed<4>(to, to_stride, from, from_stride, count);
            break;
        case 8:
            copy_fixed<8>(to, to_stride, from, from_stride, count);
            break;
        case 16:
            copy_fixed<16>(to, to_stride, from, from_stride, count);
            break;
        case 32:
            copy_fixed<32>(to, to_stride, from, from_stride, count);
            break;
        default:
            for (index_t i = 0; i < count; ++i) {
                std::memcpy(to + i * to_stride, from + i * from_stride, static_cast<size_t>(run_bytes));
            }
    }
    return count * run_bytes;
}

// The loops of a copy, both sides walked together, innermost first. Of a fixed size, as copies are made while a plan
// runs and nothing is allocated then.
class Loops {
  public:
    explicit Loops(index_t elem_bytes) : run_bytes_(elem_bytes) {}

    // The next one outwards. Joined with those inside it where both sides are contiguous, so that the innermost run is
    // as long as it can be.
    void add(index_t count, index_t from_stride, index_t to_stride) {
        if (count == 1) return;
        if (size_ == 0 && from_stride == run_bytes_ && to_stride == run_bytes_) {
            run_bytes_ *= count;
            return;
        }
        if (size_ > 0) {
            Loop& last = loops_[size_ - 1];
            if (from_stride == last.from_stride * last.count && to_stride == last.to_stride * last.count) {
                last.count *= count;
                return;
            }
        }
        assert(size_ < loops_.size());
        loops_[size_++] = {count, from_stride, to_stride};
    }

    index_t copy(const char* from, char* to) const { return copy_level(size_, from, to); }

    StridedPart as_part(index_t offset_bytes) const {
        StridedPart part{offset_bytes, {}, run_bytes_};
        for (size_t i = size_; i-- > 0;) part.dims.push_back({loops_[i].count, loops_[i].from_stride});
        return part;
    }

  private:
    struct Loop {
        index_t count, from_stride, to_stride;
    };
    index_t copy_level(size_t level, const char* from, char* to) const {
        if (level == 0) {
            std::memcpy(to, from, static_cast<size_t>(run_bytes_));
            return run_bytes_;
        }
        const Loop& loop = loops_[level - 1];
        if (level == 1) return copy_runs(to, loop.to_stride, from, loop.from_stride, loop.count, run_bytes_);
        index_t copied_bytes = 0;
        for (index_t i = 0; i < loop.count; ++i) {
            copied_bytes += copy_level(level - 1, from, to);
            from += loop.from_stride;
            to += loop.to_stride;
        }
        return copied_bytes;
    }

    std::array<Loop, kMaxStridedDims> loops_;
    size_t size_ = 0;
    index_t run_bytes_;
};

bool have_one_shape(const StridedPart& a, const StridedPart& b) {
    return a.elem_bytes == b.elem_bytes &&
           std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                      [](const StridedDim& x, const StridedDim& y) { return x.count == y.count; });
}

// The loops of `part`; the other side is contiguous, so it is walked in the same order in steps of its own.
Loops loops_beside_a_run(const StridedPart& part, bool part_is_source) {
    Loops loops(part.elem_bytes);
    index_t run = part.elem_bytes;
    for (size_t i = part.dims.size(); i-- > 0;) {
        const StridedDim& dim = part.dims[i];
        loops.add(dim.count, part_is_source ? dim.stride_bytes : run, part_is_source ? run : dim.stride_bytes);
        run *= dim.count;
    }
    return loops;
}

Loops loops_of(const StridedPart& source, const StridedPart& target) {
    if (!have_one_shape(source, target)) {
        const bool to_run = is_contiguous(target);
        assert(to_run || is_contiguous(source));
        return loops_beside_a_run(to_run ? source : target, to_run);
    }
    Loops loops(source.elem_bytes);
    for (size_t i = source.dims.size(); i-- > 0;)
        loops.add(source.dims[i].count, source.dims[i].stride_bytes, target.dims[i].stride_bytes);
    return loops;
}

}  // namespace

index_t copy_strided(const StridedPart& source_part, const void* source, const StridedPart& target_part, void* target) {
    assert(source_part.bytes() == target_part.bytes());
    if (source_part.bytes() == 0) return 0;
    return loops_of(source_part, target_part)
        .copy(static_cast<const char*>(source) + source_part.offset_bytes,
              static_cast<char*>(target) + target_part.offset_bytes);
}

index_t gather_strided(const StridedPart& source_part, const void* source, void* run) {
    if (source_part.bytes() == 0) return 0;
    return loops_beside_a_run(source_part, true)
        .copy(static_cast<const char*>(source) + source_part.offset_bytes, static_cast<char*>(run));
}

index_t scatter_strided(const void* run, const StridedPart& target_part, void* target) {
    if (target_part.bytes() == 0) return 0;
    return loops_beside_a_run(target_part, false)
        .copy(static_cast<const char*>(run), static_cast<char*>(target) + target_part.offset_bytes);
}

bool is_contiguous(const StridedPart& part) {
    if (part.bytes() == 0) return true;
    index_t stride = part.elem_bytes;
    for (size_t i = part.dims.size(); i-- > 0;) {
        if (part.dims[i].count != 1 && part.dims[i].stride_bytes != stride) return false;
        stride *= part.dims[i].count;
    }
    return true;
}

StridedPart merged(const StridedPart& part) { return loops_of(part, part).as_part(part.offset_bytes); }

}  // namespace spanfft
