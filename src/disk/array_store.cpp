// Boxes of an array and where they lie; see array_store.hpp.
#include "disk/array_store.hpp"

#include <algorithm>

namespace spanfft {

index_t ArrayBoxes::count() const {
    index_t boxes = 1;
    for (size_t axis = 0; axis < shape.size(); ++axis) boxes *= ceil_div(shape[axis], box[axis]);
    return boxes;
}

// Before a box lie the planes of earlier boxes along the first axis, whole; then, within its own extent along that
// axis, the earlier boxes along the second; and so on.
ArrayBoxes::Box ArrayBoxes::at(index_t index) const {
    Box found;
    BoxExtents place{};
    for (size_t axis = shape.size(); axis-- > 0;) {
        const index_t boxes = ceil_div(shape[axis], box[axis]);
        place[axis] = index % boxes;
        index /= boxes;
    }
    index_t rest = product(shape), mine = elem_bytes;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
        rest /= shape[axis];
        found.first[axis] = place[axis] * box[axis];
        found.extent[axis] = std::min(box[axis], shape[axis] - found.first[axis]);
        found.offset_bytes += mine * found.first[axis] * rest;
        mine *= found.extent[axis];
    }
    found.bytes = mine;
    return found;
}

ArrayBoxes::Box ArrayBoxes::at_offset(index_t offset_bytes) const {
    index_t rest = product(shape), mine = 1, left = offset_bytes / elem_bytes, index = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
        rest /= shape[axis];
        const index_t place = left / (mine * box[axis] * rest);
        const index_t first = place * box[axis];
        left -= mine * first * rest;
        mine *= std::min(box[axis], shape[axis] - first);
        index = index * ceil_div(shape[axis], box[axis]) + place;
    }
    return at(index);
}

index_t ArrayBoxes::flat_run_bytes(const Box& one) const {
    index_t bytes = elem_bytes;
    for (size_t axis = shape.size(); axis-- > 0;) {
        bytes *= one.extent[axis];
        if (one.extent[axis] < shape[axis]) break;
    }
    return bytes;
}

index_t ArrayBoxes::flat_offset_bytes(const Box& one, index_t i) const {
    // Axes that the run does not cover are walked over; it begins at the box's first index along the others.
    index_t covered = flat_run_bytes(one) / elem_bytes, stride = 1, elems = 0;
    for (size_t axis = shape.size(); axis-- > 0;) {
        index_t at = one.first[axis];
        if (covered > 1) {
            covered /= one.extent[axis];
        } else if (one.extent[axis] > 1) {
            at += i % one.extent[axis];
            i /= one.extent[axis];
        }
        elems += at * stride;
        stride *= shape[axis];
    }
    return elems * elem_bytes;
}

Status ArrayStore::transfer(const BoxTransfer& move, const Run& run, const char* what) {
    SPANFFT_TRY(check_range(run));
    const ArrayBoxes::Box box = boxes_.at_offset(run.offset_bytes);
    if (box.offset_bytes != run.offset_bytes || box.bytes != run.bytes) {
        return error(Code::internal, what, " of ", run.bytes, " bytes at ", run.offset_bytes, " of ", name_,
                     " is no whole box");
    }
    if (!move) return error(Code::internal, name_, " has no function to ", what, " it");
    const std::scoped_lock lock(mutex_);
    return move(box.first.data(), box.extent.data(), run.data);
}

}  // namespace spanfft
