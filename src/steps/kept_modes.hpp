// KeptModes: an axis whose spectrum has fewer modes than the line has points, as the 3/2 rule against aliasing wants
// it.
//
// Method: of a line of M points only N modes are kept (N < M), those of a line of N points in numpy's order: the
// frequencies 0 ... (N-1)/2, then -N/2 ... -1; of a real line the first N/2+1. Forward leaves the others out, backward
// takes them for zero. Of an even N the frequencies N/2 and -N/2 are one coefficient, as on a grid of N points: forward
// adds the two up, backward gives each a half; of a real line they are conjugates of one another, so their sum is twice
// the real part. So backward interpolates: where M is a multiple of N, the points of the coarse grid have the values
// that the unpadded transform would give them; and forward undoes backward.
// Source: S. A. Orszag, J. Atmos. Sci. 28, 1971 (the rule); mpi4py-fft's libfft.py has the same sums along complex
// axes. Worked numbers: 6 of 9: modes 0 1 2 | -3 -2 -1 lie at 0 1 2 | 6 7 8 of the line's spectrum, with a gap of 3
// between; mode -3 is the sum of places 6 and 3.
#pragma once

#include "core/dtype.hpp"

namespace spanfft {

// Spectra of some lines in memory: mode m of line j is at data + m * mode_bytes + j * line_bytes.
struct ModeLines {
    Precision precision = Precision::dbl;
    char* data = nullptr;
    index_t mode_bytes = 0, line_bytes = 0, lines = 0;
    char* at(index_t mode, index_t line = 0) const { return data + mode * mode_bytes + line * line_bytes; }
};

struct KeptModes {
    index_t points = 1, modes = 1;  // M and N
    bool halved = false;            // of real lines, whose spectra have M/2+1 modes

    index_t all() const { return halved ? points / 2 + 1 : points; }     // modes of the line's spectrum
    index_t kept() const { return halved ? modes / 2 + 1 : modes; }      // of them
    index_t low() const { return halved ? kept() : modes - modes / 2; }  // of those, before the gap
    index_t gap() const { return all() - kept(); }
    index_t place(index_t mode) const { return mode < low() ? mode : mode + gap(); }

    // Forward, before the kept ones are copied out: N/2 and -N/2 become one.
    void fold(const ModeLines& lines) const;
    // Backward, when they have been copied in: zeros in the gap, and N/2 and -N/2 get their halves.
    void pad(const ModeLines& lines) const;
};

}  // namespace spanfft
