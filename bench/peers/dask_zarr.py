"""dask.array: slabs, rechunked to columns, into Zarr. Chunks are 1/32 of the array; two threads work on them.

python dask_zarr.py INPUT.npy OUTPUT.zarr SCRATCH MEMORY_BYTES
"""

from __future__ import annotations

import json
import sys
import time

import dask.array as da
import numpy as np
import zarr


def main() -> None:
    start = time.perf_counter()
    x = np.load(sys.argv[1], mmap_mode="r")
    others = tuple(range(1, x.ndim))
    slabs = da.from_array(x, chunks=(max(1, x.shape[0] // 32), *x.shape[1:]))
    inner = (da.fft.fftn if x.dtype.kind == "c" else da.fft.rfftn)(slabs, axes=others)
    columns = inner.rechunk((x.shape[0], max(1, inner.shape[1] // 32), *inner.shape[2:]))
    result = da.fft.fft(columns, axis=0)
    target = zarr.create_array(sys.argv[2], shape=result.shape, chunks=columns.chunksize, dtype=inner.dtype,
                               compressors=None)  # fmt: skip
    da.store(result, target, lock=False)
    json.dump({"seconds": time.perf_counter() - start}, sys.stdout)


if __name__ == "__main__":
    main()
