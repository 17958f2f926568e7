// The middle mode and the gap; see kept_modes.hpp.
#include "steps/kept_modes.hpp"

#include <algorithm>

#include "core/root_of_unity.hpp"

namespace spanfft {

namespace {

// Whether lines are shorter than modes are apart: then one mode of all lines is a run of bytes.
bool modes_are_runs(const ModeLines& lines) { return lines.mode_bytes > lines.line_bytes; }

template <class T>
Pair<T>& mode_at(const ModeLines& lines, index_t mode, index_t line) {
    return *reinterpret_cast<Pair<T>*>(lines.at(mode, line));
}

template <class T>
void fold_middle(const KeptModes& kept, const ModeLines& lines) {
    const index_t middle = kept.modes / 2;
    for (index_t j = 0; j < lines.lines; ++j) {
        Pair<T>& above = mode_at<T>(lines, middle, j);
        if (kept.halved) {
            above = {2 * above.re, 0};
        } else {
            Pair<T>& below = mode_at<T>(lines, kept.points - middle, j);
            below = {below.re + above.re, below.im + above.im};
        }
    }
}

template <class T>
void spread_middle(const KeptModes& kept, const ModeLines& lines) {
    const index_t middle = kept.modes / 2;
    for (index_t j = 0; j < lines.lines; ++j) {
        Pair<T>& above = mode_at<T>(lines, middle, j);
        if (kept.halved) {
            above = {above.re / 2, 0};
        } else {
            Pair<T>& below = mode_at<T>(lines, kept.points - middle, j);
            above = below = {below.re / 2, below.im / 2};
        }
    }
}

}  // namespace

void KeptModes::fold(const ModeLines& lines) const {
    if (modes % 2 != 0) return;
    with_real(lines.precision, [&](auto real) { fold_middle<decltype(real)>(*this, lines); });
}

void KeptModes::pad(const ModeLines& lines) const {
    const auto elem_bytes = static_cast<index_t>(ElemType{lines.precision, true}.bytes());
    if (modes_are_runs(lines)) {
        for (index_t mode = low(); mode < low() + gap(); ++mode)
            std::fill_n(lines.at(mode), static_cast<size_t>(lines.lines * elem_bytes), '\0');
    } else {
        for (index_t j = 0; j < lines.lines; ++j)
            std::fill_n(lines.at(low(), j), static_cast<size_t>(gap() * elem_bytes), '\0');
    }
    if (modes % 2 != 0) return;
    with_real(lines.precision, [&](auto real) { spread_middle<decltype(real)>(*this, lines); });
}

}  // namespace spanfft
