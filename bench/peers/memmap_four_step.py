"""What a careful user writes today: numpy.memmap and scipy.fft, four-step, two passes over the data.

    python memmap_four_step.py INPUT.npy OUTPUT.npy SCRATCH MEMORY_BYTES

n = n1 * n2, x[j1 n2 + j2]: columns j2 in panels are transformed along j1 and multiplied by exp(-2 pi i j2 k1 / n) into
the scratch file; rows k1 in panels are transformed along j2, and X[k1 + n1 k2] is written in natural order. A panel is
a quarter of the memory: scipy's result, the strided copy and the page cache's dirty pages take the rest.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from scipy import fft


def main() -> None:
    source, target, scratch, memory_bytes = *sys.argv[1:4], int(sys.argv[4])
    start = time.perf_counter()
    x = np.load(source, mmap_mode="r")
    n = x.size
    n1 = 1 << (n.bit_length() // 2)
    n2 = n // n1
    assert n1 * n2 == n, "for powers of two"
    middle = np.memmap(scratch, np.complex128, "w+", shape=(n1, n2))
    columns = max(1, min(n2, memory_bytes // 4 // (16 * n1)))
    k1 = np.arange(n1)[:, None]
    for first in range(0, n2, columns):
        panel = fft.fft(np.array(x.reshape(n1, n2)[:, first : first + columns]), axis=0, overwrite_x=True, workers=-1)
        for part in range(0, n1, 1024):  # the twiddles in pieces
            rows = slice(part, part + 1024)
            panel[rows] *= np.exp(-2j * np.pi / n * (k1[rows] * np.arange(first, first + panel.shape[1])[None, :]))
        middle[:, first : first + columns] = panel
    out = np.lib.format.open_memmap(target, "w+", np.complex128, (n,))
    rows_at_once = max(1, min(n1, memory_bytes // 4 // (16 * n2)))
    natural = out.reshape(n2, n1)
    for first in range(0, n1, rows_at_once):
        panel = fft.fft(np.array(middle[first : first + rows_at_once]), axis=1, overwrite_x=True, workers=-1)
        natural[:, first : first + rows_at_once] = panel.T
    out.flush()
    json.dump({"seconds": time.perf_counter() - start}, sys.stdout)


if __name__ == "__main__":
    main()
