"""spanfft.transform on ranks of Zarr arrays and chunked HDF5 datasets: each rank copies chunks of its own into, or out
of, a file that all see, and no chunk is read or written twice."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import spanfft
from mpi4py import MPI
from ranks_support import agrees, assert_rule, numbers, oracle
from test_ranks_disk import COUNTED, assert_nothing_else

h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr")


def save(comm: MPI.Comm, path: Path, x: np.ndarray, chunks: tuple[int, ...]) -> None:
    if comm.rank == 0:
        if path.suffix == ".zarr":
            zarr.create_array(store=str(path), data=x, chunks=chunks)
        elif path.suffix == ".h5":
            with h5py.File(path, "w") as file:
                file.create_dataset("data", data=x, chunks=chunks, compression="gzip")
        else:
            np.save(path, x)
    comm.barrier()


def load(path: Path) -> np.ndarray:
    if path.suffix == ".zarr":
        return zarr.open_array(str(path), mode="r")[...]
    if path.suffix == ".h5":
        with h5py.File(path, "r") as file:
            return file["data"][...]
    return np.load(path)


# Input, output, shape, type, kind, axes, chunks of the input and of the output, memory of each rank.
CASES = {
    "chunks": ("in.zarr", "out.zarr", (45, 63, 65), "complex128", "c2c", None, (11, 20, 17), (9, 16, 40), 1 << 20),
    "h5 to npy": ("in.h5", "out.npy", (45, 77, 65), "float64", "r2c", None, (9, 20, 50), None, 1 << 20),
    "npy to h5": ("in.npy", "out.h5", (45, 77, 65), "float64", "dct2", None, None, (9, 20, 50), 1 << 20),
    "long": ("in.zarr", "out.h5", (3**4 * 5**2 * 7 * 11,), "complex64", "c2c", None, (10007,), (9001,), 1 << 20),
    "long r2c": ("in.h5", "out.zarr", (1 << 18,), "float32", "r2c", None, (8192,), (10000,), 1 << 20),
    "in memory": ("in.zarr", "out.h5", (30, 20, 7), "float32", "r2c", None, (7, 6, 7), (4, 9, 3), 32 << 20),
    "one axis": ("in.h5", "out.zarr", (40, 31), "complex64", "c2c", (0,), (40, 31), (40, 31), 32 << 20),
    "one chunk": ("in.zarr", "out.zarr", (300, 200), "complex64", "c2c", None, (300, 200), (300, 200), 4 << 20),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_there(name, comm, rng, folder, scratch):
    source, target, shape, dtype, kind, axes, chunks_in, chunks_out, memory_bytes = CASES[name]
    x = numbers(rng, shape, dtype)
    save(comm, folder / source, x, chunks_in)
    done = []
    result = spanfft.transform(
        folder / source, folder / target, kind=kind, axes=axes, memory=memory_bytes, chunks=chunks_out, comm=comm,
        scratch=scratch, progress=lambda *bytes_: done.append(bytes_),
    )  # fmt: skip
    assert result.report["ranks"] == comm.size
    assert result.report["peak_memory_bytes"] <= memory_bytes
    assert done[-1][0] == done[-1][1]
    counted, predicted = result.report["counted"], result.report["predicted"]
    for key in COUNTED:
        assert counted[key] == predicted[key], key
    axes = range(x.ndim) if axes is None else axes
    exact = oracle.forward(x, kind, axes)
    out = load(folder / target)
    bound = oracle.limit(kind, axes, shape, dtype)
    assert_rule(comm, [(out, exact)] if comm.rank == 0 else [], bound)
    stages = [step for step in result.report["steps"] if step["type"] == "Stage"]
    if comm.size > 1:
        assert len(stages) == (chunks_in is not None) + (chunks_out is not None)
    moved = comm.allreduce(
        np.array([[s["counted"][f"disk_{way}_bytes"] for way in ("read", "written")] for s in stages])
    )
    for (read, written), nbytes in zip(moved, [x.nbytes] * (chunks_in is not None) + [out.nbytes], strict=False):
        assert read == written == nbytes, "every chunk once"
    assert_nothing_else(comm, folder, [source, target])


def test_back_in_zarr(comm, rng, folder, scratch):
    shape = (45, 77, 66)
    spectrum = np.fft.rfftn(rng.standard_normal(shape)).astype("complex128")
    save(comm, folder / "in.zarr", spectrum, (11, 20, 17))
    spanfft.transform(
        folder / "in.zarr", folder / "out.zarr", kind="c2r", real_length=66, memory="2MiB", comm=comm, scratch=scratch
    )
    exact = oracle.backward(spectrum, "r2c", range(3), shape)
    bound = oracle.limit("r2c", range(3), shape, "complex128")
    assert_rule(comm, [(load(folder / "out.zarr"), exact)] if comm.rank == 0 else [], bound)
    assert_nothing_else(comm, folder, ["in.zarr", "out.zarr"])


def test_work_on_the_way(comm, rng, folder, scratch):
    """A window and callbacks on the way in, power and a smaller type on the way out; each element once."""
    x = rng.standard_normal((120, 300))
    save(comm, folder / "in.zarr", x, (50, 70))
    seen = np.zeros(x.shape, int)

    def twice(block, index):
        seen.reshape(-1)[index : index + block.size] += 1
        block *= 2

    spanfft.transform(
        folder / "in.zarr", folder / "out.zarr", axes=(1,), window="hann", power=True, output_dtype="float32",
        on_input=twice, memory="1MiB", comm=comm, scratch=scratch,
    )  # fmt: skip
    assert (comm.allreduce(seen) == 1).all()
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(300) / 300)
    exact = np.abs(np.fft.rfft(2 * x * window)) ** 2
    rounding = float(np.finfo("float32").eps)  # of what is stored; it was computed in doubles
    np.testing.assert_allclose(load(folder / "out.zarr"), exact, rtol=rounding, atol=1e-13 * exact.max())
    assert_nothing_else(comm, folder, ["in.zarr", "out.zarr"])


@pytest.mark.parametrize(("side", "journal"), [("read", False), ("write", True)])
def test_a_rank_that_fails_ends_all(side, journal, comm, rng, folder, scratch, monkeypatch):
    """With one sentence, which names the rank and the array; the next run has nothing of it in its way."""
    x = numbers(rng, (256, 300), "complex128")
    save(comm, folder / "in.zarr", x, (32, 50))
    last, calls = comm.size - 1, []
    if side == "read":
        owner, name = spanfft._formats.zarr._Reader, "__call__"
    else:
        owner, name = spanfft._formats.zarr._ZarrTarget, "_write"
    moves = getattr(owner, name)

    def broken(self, first, extent, memory):
        calls.append(first)
        if comm.rank == last and len(calls) == 1:
            raise spanfft.CorruptData(f"{self.path}: the chunk at {first} is damaged")
        moves(self, first, extent, memory)

    def run(**more):
        return spanfft.transform(
            folder / "in.zarr", folder / "out.zarr", memory="1MiB", comm=comm, scratch=scratch, journal=journal, **more
        )

    monkeypatch.setattr(owner, name, broken)
    named = r"zarr.*damaged" if comm.size == 1 else rf"rank {last}.*zarr.*damaged"
    agrees(comm, run, spanfft.CorruptData, named)
    monkeypatch.undo()
    if not journal:
        assert_nothing_else(comm, folder, ["in.zarr"])
    assert not (folder / "out.zarr").exists()
    comm.barrier()
    run()
    bound = oracle.limit("c2c", (0, 1), x.shape, x.dtype)
    exact = oracle.forward(x, "c2c", (0, 1))
    assert_rule(comm, [(load(folder / "out.zarr"), exact)] if comm.rank == 0 else [], bound)
    assert_nothing_else(comm, folder, ["in.zarr", "out.zarr"])


@pytest.mark.parametrize("stop_after", [0.6, 0.95])
def test_a_stopped_run_goes_on_to_the_same_bits(stop_after, comm, rng, folder, scratch):
    x = rng.standard_normal(1 << 18).astype("float32")
    save(comm, folder / "in.zarr", x, (30000,))

    def run(target, **more):
        return spanfft.transform(
            folder / "in.zarr", folder / target, memory="1MiB", method="two_sweeps", chunks=(20000,), comm=comm,
            scratch=scratch, **more,
        )  # fmt: skip

    run("whole.zarr", journal=False)
    with pytest.raises(spanfft.Interrupted, match="kept"):
        run("out.zarr", progress=lambda done, total: done < stop_after * total)
    comm.barrier()
    assert not (folder / "out.zarr").exists()
    assert comm.allreduce(run("out.zarr").resumed_bytes, MPI.MIN) > 0
    assert np.array_equal(load(folder / "out.zarr"), load(folder / "whole.zarr"))
    assert_nothing_else(comm, folder, ["in.zarr", "whole.zarr", "out.zarr"])


def test_chunks_too_large_are_refused_on_all(comm, rng, folder, scratch):
    save(comm, folder / "in.zarr", rng.standard_normal((400, 400)), (400, 400))
    agrees(
        comm, lambda: spanfft.transform(folder / "in.zarr", folder / "o.npy", memory="1MiB", comm=comm),
        spanfft.OutOfMemory, "four must fit",
    )  # fmt: skip
    assert sorted(n for n in os.listdir(folder) if n.startswith((".", "o"))) == []
    comm.barrier()
