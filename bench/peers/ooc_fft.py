"""The package out_of_core_fft: one axis, a power of two, from HDF5 to HDF5 in five reads and writes.

    python ooc_fft.py INPUT.h5 OUTPUT.h5 SCRATCH MEMORY_BYTES

It holds two chunk caches of `mem_limit` at a time and arrays besides, so it is told an eighth of its memory. Its
temporary files are put on the disk of the others' by TMPDIR. Its h5py_cache (2016) names types that NumPy has dropped
since; they are put back.
"""

from __future__ import annotations

import json
import os
import sys
import time

import numpy as np


def main() -> None:
    source, target, scratch, memory_bytes = *sys.argv[1:4], int(sys.argv[4])
    start = time.perf_counter()
    os.environ["TMPDIR"] = os.path.dirname(scratch)
    for name, type_ in (("int", int), ("float", float), ("complex", complex), ("bool", bool)):
        if not hasattr(np, name):
            setattr(np, name, type_)
    import out_of_core_fft

    out_of_core_fft.fft(source, "x", target, "x", mem_limit=memory_bytes // 8)
    json.dump({"seconds": time.perf_counter() - start}, sys.stdout)


if __name__ == "__main__":
    main()
