"""spanfft.transform on ranks: each reads and writes its own boxes of the files."""

from __future__ import annotations

import os

import numpy as np
import pytest
import spanfft
from ranks_support import agrees, assert_rule, declined, exchange_names, oracle


@pytest.mark.parametrize("shape", [(30, 16, 9), (3, 50), (1000,), (2, 1, 7)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_there_and_back(shape, dtype, comm, rng, folder):
    x = rng.standard_normal(shape).astype(dtype)
    if comm.rank == 0:
        np.save(folder / "in.npy", x)
    comm.barrier()
    real = x.dtype.kind == "f"
    if declined(comm, len(shape)):
        out = folder / "out.npy"
        agrees(comm, lambda: spanfft.transform(folder / "in.npy", out, comm=comm), spanfft.Unsupported, "1-D")
        assert os.listdir(folder) == ["in.npy"]
        comm.barrier()
        return
    result = spanfft.transform(folder / "in.npy", folder / "out.npy", memory="32MiB", comm=comm)
    for key in ("messages", "sent_bytes", "disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes"):
        assert result.report["counted"][key] == result.report["predicted"][key], key
    read = comm.allreduce(result.report["counted"]["disk_read_bytes"])
    assert read >= x.nbytes
    kind, axes = "r2c" if real else "c2c", range(x.ndim)
    bound = oracle.limit(kind, axes, shape, dtype)
    assert_rule(comm, [(np.load(folder / "out.npy"), oracle.forward(x, kind, axes))], bound)
    comm.barrier()
    options = dict(kind="c2r", real_length=shape[-1]) if real else dict(backward=True)
    spanfft.transform(folder / "out.npy", folder / "back.npy", comm=comm, **options)
    assert_rule(comm, [(np.load(folder / "back.npy"), x)], 2 * bound)
    comm.barrier()
    assert sorted(os.listdir(folder)) == ["back.npy", "in.npy", "out.npy"]
    comm.barrier()


# On more ranks than cores the communicator of a plan over files waits patiently; what exchanges are made of does not.
@pytest.mark.parametrize("exchange", [name for name in exchange_names() if name != "compressed"])
def test_there_by_each_exchange(exchange, comm, rng, folder):
    x = rng.standard_normal((14, 9, 10)) + 1j * rng.standard_normal((14, 9, 10))
    if comm.rank == 0:
        np.save(folder / "in.npy", x)
    comm.barrier()
    for turn in range(4):
        spanfft.transform(folder / "in.npy", folder / f"{turn}.npy", memory="32MiB", exchange=exchange, comm=comm)
    exact, bound = oracle.forward(x, "c2c", (0, 1, 2)), oracle.limit("c2c", (0, 1, 2), x.shape, x.dtype)
    assert_rule(comm, [(np.load(folder / f"{turn}.npy"), exact) for turn in range(4)], bound)
    comm.barrier()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("descr", ["u1", ">i2", ">c16"])
def test_files_of_other_types(descr, order, comm, rng, folder):
    x = np.asarray(rng.integers(0, 200, (24, 15, 10)).astype(descr), order=order)
    if comm.rank == 0:
        np.save(folder / "in.npy", x)
    comm.barrier()
    grid = (comm.size, 1, 1)
    result = spanfft.transform(folder / "in.npy", folder / "out.npy", axes=(0, 1), grid=grid, memory="32MiB", comm=comm)
    for key in ("messages", "sent_bytes", "disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes"):
        assert result.report["counted"][key] == result.report["predicted"][key], key
    assert comm.allreduce(result.report["counted"]["disk_read_bytes"]) == x.nbytes
    kind = "c2c" if x.dtype.kind == "c" else "r2c"
    out = np.load(folder / "out.npy")
    assert out.flags.f_contiguous == (order == "F")
    bound = oracle.limit(kind, (0, 1), x.shape, np.float64)
    assert_rule(comm, [(out, oracle.forward(x.astype(x.dtype.newbyteorder("=")), kind, (0, 1)))], bound)
    comm.barrier()
    if comm.size > 1:
        precision = "single" if comm.rank == 0 else "double"
        agrees(
            comm, lambda: spanfft.transform(folder / "in.npy", folder / "o.npy", precision=precision, comm=comm),
            Exception, "rank",
        )  # fmt: skip
    assert sorted(os.listdir(folder)) == ["in.npy", "out.npy"]
    comm.barrier()


def test_errors(comm, folder):
    if comm.rank == 0:
        np.save(folder / "in.npy", np.ones((8, 6)))
        np.save(folder / "dates.npy", np.zeros((8, 6), "M8[s]"))
    comm.barrier()
    run = spanfft.transform
    agrees(comm, lambda: run(folder / "missing.npy", folder / "o.npy", comm=comm), OSError, "missing")
    agrees(comm, lambda: run(folder / "dates.npy", folder / "o.npy", comm=comm), TypeError, "astype")
    agrees(comm, lambda: run(folder / "in.npy", folder / "no/o.npy", comm=comm), OSError, "no")
    if comm.size > 1:
        odd = comm.rank == comm.size - 1
        agrees(comm, lambda: run(folder / ("x.npy" if odd else "in.npy"), folder / "o.npy", comm=comm), OSError, "rank")
        agrees(
            comm,
            lambda: run(folder / "in.npy", folder / "o.npy", axes=(0,) if odd else None, comm=comm),
            Exception,
            "rank",
        )
    comm.barrier()
    assert sorted(os.listdir(folder)) == ["dates.npy", "in.npy"]
    comm.barrier()


def test_stopping(comm, rng, folder):
    if comm.rank == 0:
        np.save(folder / "in.npy", np.ones((512, 512), "complex64"))
    comm.barrier()

    # One rank asks to stop; all do.
    def progress(done, total):
        return comm.rank != comm.size - 1

    with pytest.raises(spanfft.Interrupted):
        spanfft.transform(folder / "in.npy", folder / "o.npy", comm=comm, progress=progress)
    comm.barrier()
    assert os.listdir(folder) == ["in.npy"]
    comm.barrier()


def test_a_rank_whose_file_is_another_is_found_out(comm, rng, folder):
    h5py = pytest.importorskip("h5py")
    x = rng.standard_normal((30, 20)) + 0j
    if comm.size == 1:
        pytest.skip("one rank has no other")
    if comm.rank == 0:
        np.save(folder / "in.npy", x)
        with h5py.File(folder / "in.h5", "w") as file:
            file.create_dataset("data", data=x, chunks=(7, 6))
    comm.barrier()
    name = folder / ("in.h5" if comm.rank == comm.size - 1 else "in.npy")
    agrees(comm, lambda: spanfft.transform(name, folder / "o.npy", comm=comm), spanfft.MPIError, "rank")
    comm.barrier()
    assert sorted(os.listdir(folder)) == ["in.h5", "in.npy"]
    comm.barrier()
