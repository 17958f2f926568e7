// Arrays by address, extents and strides, for Plan::execute: std::mdspan, Kokkos' and others of its interface, or a
// View that is made by hand. spanfft.hpp includes this.
//
//     plan.execute(std::mdspan(in.data(), 4, 5, 6), spanfft::View(out.data(), {4, 5, 6}, {1, 4, 20}));
//
// Method: nothing of <mdspan> is named; what has data_handle(), extent(r), stride(r) and rank() is one. An array that
// is contiguous in C order is handed on as it is; another, such as one of layout_left, is copied to or from a buffer.
// Invariant: extents are those of this rank's part, slowest axis first, with the batch before them where there is one.
// Source: ISO/IEC 14882:2024, [views.multidim].
#ifndef SPANFFT_VIEWS_HPP
#define SPANFFT_VIEWS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace spanfft {
inline namespace api {

// Strides count elements, from one index to the next; they may be negative. Left out: C order.
template <class T>
struct View {
    T* data;
    std::vector<std::int64_t> extents, strides;

    View(T* address, std::vector<std::int64_t> of_axes, std::vector<std::int64_t> between = {})
        : data(address), extents(std::move(of_axes)), strides(std::move(between)) {
        if (strides.empty()) strides = in_c_order();
        strides.resize(extents.size());
    }

    std::vector<std::int64_t> in_c_order() const {
        std::vector<std::int64_t> found(extents.size());
        std::int64_t elems = 1;
        for (std::size_t i = extents.size(); i-- > 0; elems *= extents[i]) found[i] = elems;
        return found;
    }
    std::size_t size() const {
        std::size_t elems = 1;
        for (const std::int64_t n : extents) elems *= static_cast<std::size_t>(n);
        return elems;
    }
    // An axis of one index may have any stride.
    bool contiguous() const {
        const std::vector<std::int64_t> expected = in_c_order();
        for (std::size_t i = 0; i < extents.size(); ++i)
            if (extents[i] > 1 && strides[i] != expected[i] && size() > 0) return false;
        return true;
    }
    // Calls visit(element) for all elements in C order.
    template <class Visit>
    void each(const Visit& visit) const {
        if (size() == 0) return;
        std::vector<std::int64_t> index(extents.size());
        std::int64_t offset = 0;
        for (;;) {
            visit(data[offset]);
            std::size_t axis = extents.size();
            for (; axis-- > 0;) {
                offset += strides[axis];
                if (++index[axis] < extents[axis]) break;
                offset -= strides[axis] * extents[axis];
                index[axis] = 0;
            }
            if (axis == static_cast<std::size_t>(-1)) return;
        }
    }
};

namespace detail {

template <class Array, class = void>
struct IsMdspan : std::false_type {};
template <class Array>
struct IsMdspan<Array, std::void_t<decltype(std::declval<const Array&>().data_handle()),
                                   decltype(std::declval<const Array&>().stride(0)),
                                   decltype(std::declval<const Array&>().extent(0))>> : std::true_type {};
template <class Array>
struct IsView : std::false_type {};
template <class T>
struct IsView<View<T>> : std::true_type {};
// What execute() takes by extents and strides.
template <class Array>
inline constexpr bool by_strides = IsMdspan<std::decay_t<Array>>::value || IsView<std::decay_t<Array>>::value;

template <class T>
View<T> as_view(const View<T>& view) {
    return view;
}
template <class Mdspan, std::enable_if_t<IsMdspan<Mdspan>::value, int> = 0>
auto as_view(const Mdspan& array) {
    std::vector<std::int64_t> extents, strides;
    for (std::size_t r = 0; r < static_cast<std::size_t>(array.rank()); ++r) {
        extents.push_back(static_cast<std::int64_t>(array.extent(r)));
        strides.push_back(static_cast<std::int64_t>(array.stride(r)));
    }
    return View(array.data_handle(), std::move(extents), std::move(strides));
}

inline std::string by_x(const std::vector<std::int64_t>& numbers) {
    std::string text;
    for (const std::int64_t n : numbers) text += (text.empty() ? "" : "x") + std::to_string(n);
    return text;
}

}  // namespace detail
}  // namespace api
}  // namespace spanfft

#endif  // SPANFFT_VIEWS_HPP
