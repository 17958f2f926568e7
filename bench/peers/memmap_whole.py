"""What one tries first: scipy.fft.fft of a numpy.memmap, saved. It needs the result and a work array in memory.

python memmap_whole.py INPUT.npy OUTPUT.npy SCRATCH MEMORY_BYTES
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from scipy import fft


def main() -> None:
    start = time.perf_counter()
    x = np.load(sys.argv[1], mmap_mode="r")
    np.save(sys.argv[2], fft.fft(x, workers=-1))
    json.dump({"seconds": time.perf_counter() - start}, sys.stdout)


if __name__ == "__main__":
    main()
