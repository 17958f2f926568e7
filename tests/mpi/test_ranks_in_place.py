"""spanfft.transform in place on ranks: all write over one file, which a stopped run leaves half overwritten, and the
same command makes whole."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import spanfft
from mpi4py import MPI
from ranks_support import agrees, assert_rule, numbers, oracle
from test_ranks_disk import COUNTED, assert_nothing_else

# Shape, type, kind, axes, method, memory of each rank.
CASES = {
    "scratch of each": ((3**4 * 5**2 * 7 * 11,), "complex64", "c2c", None, "two_sweeps", 1 << 20),
    "the copy": ((45, 63, 65), "complex128", "c2c", None, "axis_sweeps", 1 << 20),
    "three sweeps": ((2, 13860, 3), "complex128", "c2c", (1,), "many_sweeps", 1 << 20),
    "cosines": ((1 << 18,), "float32", "dct2", None, "two_sweeps", 1 << 20),
    "prime": ((131071,), "complex64", "c2c", None, "chirp_sweeps", 2 << 20),
    "in memory": ((40, 30, 7), "complex128", "c2c", None, None, 32 << 20),
}
HEAD = b"before" * 11


def save(comm: MPI.Comm, path: Path, x: np.ndarray) -> None:
    """A raw array behind other bytes."""
    if comm.rank == 0:
        path.write_bytes(HEAD + x.tobytes())
    comm.barrier()


def load(path: Path, x: np.ndarray) -> np.ndarray:
    whole = path.read_bytes()
    assert whole.startswith(HEAD)
    assert len(whole) == len(HEAD) + x.nbytes
    return np.frombuffer(whole[len(HEAD) :], x.dtype).reshape(x.shape)


def run(
    comm: MPI.Comm, folder: Path, scratch: object, x: np.ndarray, case: str, **more: object
) -> spanfft.TransformResult:
    _, _, kind, axes, method, memory_bytes = CASES[case]
    name = more.pop("name", "a.raw")
    return spanfft.transform(
        folder / str(name), in_place=True, dtype=x.dtype, shape=x.shape, offset=len(HEAD), kind=kind, axes=axes,
        method=method, memory=memory_bytes, comm=comm, scratch=scratch, **more,
    )  # fmt: skip


def oracle_axes(case: str) -> tuple[int, ...]:
    shape, _, _, axes, *_ = CASES[case]
    return tuple(range(len(shape))) if axes is None else axes


def assert_whole(comm: MPI.Comm, folder: Path, x: np.ndarray, case: str) -> None:
    kind, axes = CASES[case][2], oracle_axes(case)
    pairs = [(load(folder / "a.raw", x), oracle.forward(x, kind, axes))] if comm.rank == 0 else []
    assert_rule(comm, pairs, oracle.limit(kind, axes, x.shape, x.dtype))
    assert_nothing_else(comm, folder, ["a.raw"])


@pytest.mark.parametrize("case", CASES)
def test_over_its_input(case, comm, rng, folder, scratch):
    x = numbers(rng, *CASES[case][:2])
    save(comm, folder / "a.raw", x)
    inode = os.stat(folder / "a.raw").st_ino
    comm.barrier()
    done = []
    result = run(comm, folder, scratch, x, case, progress=lambda *bytes_: done.append(bytes_))
    assert done[-1][0] == done[-1][1]
    assert os.stat(folder / "a.raw").st_ino == inode
    counted, predicted = result.report["counted"], result.report["predicted"]
    for key in COUNTED:
        assert counted[key] == predicted[key], key
    copied = case == "in memory"
    assert any(("copied over" if copied else "overwrites the input") in note for note in result.report["notes"])
    assert_whole(comm, folder, x, case)


@pytest.mark.parametrize("share", [0.1, 0.8])
@pytest.mark.parametrize("case", ["scratch of each", "the copy", "in memory"])
def test_a_stopped_run_goes_on_to_the_same_bits(case, share, comm, rng, folder, scratch):
    x = numbers(rng, *CASES[case][:2])
    save(comm, folder / "b.raw", x)
    run(comm, folder, scratch, x, case, name="b.raw")
    whole = load(folder / "b.raw", x)
    comm.barrier()
    if comm.rank == 0:
        os.unlink(folder / "b.raw")
    save(comm, folder / "a.raw", x)
    with pytest.raises(spanfft.Interrupted) as stopped:  # rank 0 says so, which copies alone
        run(comm, folder, scratch, x, case, progress=lambda done, total: comm.rank > 0 or done < share * total)
    half = "half overwritten" in str(stopped.value)
    assert half == (share > 0.5)
    assert len(set(comm.allgather(str(stopped.value)))) == 1
    if half:
        agrees(
            comm, lambda: spanfft.transform(
                folder / "a.raw", folder / "o.npy", dtype=x.dtype, shape=x.shape, offset=len(HEAD), memory="32MiB",
                comm=comm,
            ), spanfft.CorruptData, "half overwritten",
        )  # fmt: skip
        agrees(
            comm, lambda: run(comm, folder, scratch, x, case, resume=False), spanfft.InvalidArgument, "can't begin anew"
        )
    else:
        assert np.array_equal(load(folder / "a.raw", x), x)
    comm.barrier()
    run(comm, folder, scratch, x, case)
    assert np.array_equal(load(folder / "a.raw", x), whole)
    assert_nothing_else(comm, folder, ["a.raw"])
    with pytest.raises(spanfft.InvalidArgument, match="to resume"):
        run(comm, folder, scratch, x, case, resume=True)
    assert_nothing_else(comm, folder, ["a.raw"])


def test_an_original_that_is_put_back_is_overwritten_from_the_beginning(comm, rng, folder, scratch):
    case = "scratch of each"
    x = numbers(rng, *CASES[case][:2])
    save(comm, folder / "a.raw", x)
    with pytest.raises(spanfft.Interrupted, match="half overwritten"):
        run(comm, folder, scratch, x, case, progress=lambda done, total: done < 0.9 * total)
    comm.barrier()
    if comm.rank == 0:
        with open(folder / "a.raw", "r+b") as file:  # as cp does
            file.write(HEAD + x.tobytes())
    comm.barrier()
    run(comm, folder, scratch, x, case)
    assert_whole(comm, folder, x, case)


def test_what_cannot_take_its_place_is_refused_on_all(comm, rng, folder):
    x = rng.standard_normal((30, 20))
    if comm.rank == 0:
        np.save(folder / "a.npy", x)
    comm.barrier()
    for more, kind, words in [
        ({}, spanfft.InvalidArgument, "as large as the input"),
        ({"kind": "dct2", "journal": False}, spanfft.InvalidArgument, "with a journal only"),
    ]:
        agrees(
            comm, lambda more=more: spanfft.transform(
                folder / "a.npy", in_place=True, memory="32MiB", comm=comm, **more
            ), kind, words,
        )  # fmt: skip
    assert np.array_equal(np.load(folder / "a.npy"), x)
    comm.barrier()
    assert os.listdir(folder) == ["a.npy"]
    comm.barrier()
