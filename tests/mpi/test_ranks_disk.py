"""spanfft.transform on ranks of arrays that the memories of all ranks together do not hold: each sweeps panels of its
own, and keeps what lies between the sweeps in scratch of its own, or in the output, which all of them see."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
import spanfft
from mpi4py import MPI
from ranks_support import agrees, assert_rule, numbers, oracle

COUNTED = (
    "messages", "sent_bytes", "calls", "disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes",
    "memory_bytes",
)  # fmt: skip


def save(comm: MPI.Comm, path: Path, x: np.ndarray) -> None:
    if comm.rank == 0:
        np.save(path, x)
    comm.barrier()


def assert_nothing_else(comm: MPI.Comm, folder: Path, files: list[str]) -> None:
    """In the folder; nor anything in what each rank had for itself."""
    comm.barrier()
    own = [f"s{rank}" for rank in range(comm.size)]
    assert sorted(os.listdir(folder)) == sorted(files + own)
    assert os.listdir(folder / own[comm.rank]) == []
    comm.barrier()


def assert_as_predicted(result: spanfft.TransformResult) -> None:
    """On this rank."""
    for key in COUNTED:
        assert result.report["counted"][key] == result.report["predicted"][key], key


def assert_counted(
    comm: MPI.Comm, result: spanfft.TransformResult, x: np.ndarray, out: np.ndarray, twice: bool = False
) -> None:
    """As predicted, on this rank; all together they read the input (`twice`: some of it twice), write the output, and
    what lies between."""
    assert_as_predicted(result)
    counted, predicted = result.report["counted"], result.report["predicted"]
    assert counted["flops"] == pytest.approx(predicted["flops"], rel=1e-12)
    read, written = (comm.allreduce(counted[f"disk_{way}_bytes"]) for way in ("read", "written"))
    assert written >= out.nbytes
    of_input = read - (written - out.nbytes)  # what sweeps hand on is written once and read once
    assert of_input == x.nbytes or (twice and x.nbytes < of_input < 2 * x.nbytes)


def assert_exact(comm: MPI.Comm, path: Path, exact: np.ndarray | None, bound: float) -> None:
    """Rank 0 has what the file should hold; all have the verdict."""
    pairs = [] if exact is None else [(np.load(path), exact)]
    assert_rule(comm, pairs, bound)


# Each with 1 MiB a rank; input and output are more than seven of these together hold.
CASES = {
    "c2c": ((1 << 20,), "complex128", "c2c", None),
    "r2c": ((1 << 21,), "float64", "r2c", None),
    "odd": ((3**5 * 5**2 * 7 * 11,), "complex64", "c2c", None),
    "long dct2": ((1 << 21,), "float32", "dct2", None),
    "rows": ((6720, 36), "complex128", "c2c", (0,)),
    "an image in rows": ((4480, 200), "float64", "r2c", (0, 1)),
    "batch": ((3, 98280), "complex128", "c2c", (1,)),
    "3-D c2c": ((60, 63, 65), "complex128", "c2c", None),
    "3-D r2c": ((90, 77, 130), "float64", "r2c", None),
    "3-D dct2": ((90, 77, 130), "float64", "dct2", None),
    "2-D dct3": ((1000, 1080), "float32", "dct3", None),
}


@pytest.mark.parametrize("name", CASES)
def test_there(name, comm, rng, folder, scratch):
    shape, dtype, kind, axes = CASES[name]
    x = numbers(rng, shape, dtype)
    save(comm, folder / "in.npy", x)
    done = []
    method = "two_sweeps" if len(shape) == 1 or axes else "axis_sweeps"
    result = spanfft.transform(
        folder / "in.npy", folder / "out.npy", kind=kind, axes=axes, memory="1MiB", method=method, comm=comm,
        scratch=scratch, progress=lambda *bytes_: done.append(bytes_),
    )  # fmt: skip
    assert result.report["ranks"] == comm.size
    out = np.load(folder / "out.npy", mmap_mode="r")
    assert x.nbytes + out.nbytes > comm.size << 20, "all memories together were to be too little"
    assert result.report["sweeps"] == 2
    assert result.report["peak_memory_bytes"] <= 1 << 20
    assert done[-1][0] == done[-1][1]
    assert done == sorted(done)
    axes = range(x.ndim) if axes is None else axes
    assert_counted(comm, result, x, out)
    exact = oracle.forward(x, kind, axes) if comm.rank == 0 else None
    assert_exact(comm, folder / "out.npy", exact, oracle.limit(kind, axes, shape, dtype))
    assert_nothing_else(comm, folder, ["in.npy", "out.npy"])


THREE_SWEEPS = {
    "power of two": ((1 << 20,), "complex128", "c2c", (0,)),
    "odd": ((3**5 * 5**2 * 7 * 11,), "complex64", "c2c", (0,)),
    "rows": ((2, 13860, 3), "complex128", "c2c", (1,)),
    "real": ((1 << 20,), "float64", "r2c", (0,)),
    "odd real": ((3**5 * 5**2 * 7 * 11,), "float32", "r2c", (0,)),
    "parts": ((5**4 * 7**4,), "complex128", "c2c", (0,)),
    "parts, real": ((1 << 21,), "float64", "r2c", (0,)),
}


def in_three_sweeps(comm, rng, folder, scratch, case, method, memory_bytes, *, or_four=False):
    """Transforms random numbers there, holds them to the rule, and gives numbers and result."""
    shape, dtype, kind, axes = case
    x = numbers(rng, shape, dtype)
    save(comm, folder / "in.npy", x)
    result = spanfft.transform(
        folder / "in.npy", folder / "out.npy", kind=kind, axes=axes, memory=memory_bytes, method=method, comm=comm,
        scratch=scratch,
    )  # fmt: skip
    assert result.report["ranks"] == comm.size
    assert result.report["sweeps"] in ((3, 4) if or_four else (3,))
    assert result.report["peak_memory_bytes"] <= memory_bytes
    exact = oracle.forward(x, kind, axes) if comm.rank == 0 else None
    assert_exact(comm, folder / "out.npy", exact, oracle.limit(kind, axes, shape, dtype))
    assert_nothing_else(comm, folder, ["in.npy", "out.npy"])
    return x, result


@pytest.mark.parametrize("name", THREE_SWEEPS)
def test_there_in_three_sweeps(name, comm, rng, folder, scratch):
    """Each rank keeps parts of sections in its scratch after the first sweep, and after the second; or, after the first
    alone, part of the first factor's results."""
    x, result = in_three_sweeps(comm, rng, folder, scratch, THREE_SWEEPS[name], "many_sweeps", 1 << 20)
    assert_counted(comm, result, x, np.load(folder / "out.npy", mmap_mode="r"))


LONG_LINES = {
    "c2c": ((2, 1 << 19), "complex128", "c2c", (0, 1)),
    "r2c": ((3, 1 << 19), "float64", "r2c", (0, 1)),
    "halved before": ((6, 1 << 18), "float64", "r2c", (1, 0)),
    "an image": ((9000, 128), "float64", "r2c", (0, 1)),
}


@pytest.mark.parametrize("name", LONG_LINES)
def test_there_with_an_axis_of_which_no_memory_holds_a_line(name, comm, rng, folder, scratch):
    """By a solver of that axis alone, and in the other one behind it, where the output lies, or before."""
    case = LONG_LINES[name]
    x, result = in_three_sweeps(comm, rng, folder, scratch, case, "axis_sweeps", 1 << 20, or_four=True)
    assert_counted(comm, result, x, np.load(folder / "out.npy", mmap_mode="r"))


def test_there_with_a_prime_axis_of_which_no_memory_holds_a_line(comm, rng, folder, scratch):
    case = ((2, 524287), "complex128", "c2c", (0, 1))
    _, result = in_three_sweeps(comm, rng, folder, scratch, case, "axis_sweeps", 2 << 20, or_four=True)
    assert_as_predicted(result)


PRIMES = {
    "prime": ((524287,), "complex128", "c2c", (0,)),
    "prime, real": ((1048573,), "float64", "r2c", (0,)),
    "batch": ((2, 262139), "complex64", "c2c", (1,)),
    "rows": ((174763, 3), "complex128", "c2c", (0,)),
    "dct2": ((524287,), "float32", "dct2", (0,)),
}


@pytest.mark.parametrize("name", PRIMES)
def test_there_by_convolution(name, comm, rng, folder, scratch):
    """Each rank keeps rows of the convolution and of its filter in its scratch."""
    _, result = in_three_sweeps(comm, rng, folder, scratch, PRIMES[name], "chirp_sweeps", 2 << 20)
    assert_as_predicted(result)
    assert (comm.allreduce(result.report["counted"]["sent_bytes"]) > 0) == (comm.size > 1)


def test_an_output_that_stays_exchanged(comm, rng, folder, scratch):
    """Element k1*n2 + k2 of the file is X[k1 + n1*k2], with the n1 and n2 that a note names."""
    x = numbers(rng, (1 << 20,), "complex64")
    save(comm, folder / "in.npy", x)
    result = spanfft.transform(
        folder / "in.npy", folder / "out.npy", memory="1MiB", method="two_sweeps", order="exchanged", comm=comm,
        scratch=scratch,
    )  # fmt: skip
    assert_counted(comm, result, x, np.load(folder / "out.npy", mmap_mode="r"))
    (note,) = (note for note in result.report["notes"] if "exchanged order" in note)
    n1, n2 = (int(note.split(f"n{i} = ")[1].split(",")[0]) for i in (1, 2))
    assert n1 * n2 == x.size
    exact = oracle.forward(x, "c2c", (0,)).reshape(n2, n1).T.reshape(-1) if comm.rank == 0 else None
    assert_exact(comm, folder / "out.npy", exact, oracle.limit("c2c", (0,), x.shape, "complex64"))
    assert_nothing_else(comm, folder, ["in.npy", "out.npy"])


@pytest.mark.parametrize("method", ["two_sweeps", "many_sweeps"])
@pytest.mark.parametrize("kind", ["c2c", "c2r"])
def test_back(kind, method, comm, rng, folder, scratch):
    """The way back alone, of a spectrum that no transform of ours has made."""
    n = 3 * 5 * 7 * 11 * 13 * 17
    spectrum = numbers(rng, (n // 2 + 1 if kind == "c2r" else n,), "complex64")
    if kind == "c2r":
        spectrum[0] = spectrum[0].real
    save(comm, folder / "in.npy", spectrum)
    options = dict(kind="c2r", real_length=n) if kind == "c2r" else dict(backward=True)
    result = spanfft.transform(
        folder / "in.npy", folder / "out.npy", memory="1MiB", method=method, comm=comm, scratch=scratch, **options
    )
    out = np.load(folder / "out.npy", mmap_mode="r")
    assert_counted(comm, result, spectrum, out, twice=kind == "c2r" and method == "many_sweeps")
    forward = "r2c" if kind == "c2r" else "c2c"
    exact = oracle.backward(spectrum, forward, (0,), (n,)) if comm.rank == 0 else None
    assert_exact(comm, folder / "out.npy", exact, oracle.limit(forward, (0,), (n,), "complex64"))
    assert_nothing_else(comm, folder, ["in.npy", "out.npy"])


# In two sweeps and in three, of a batch, with an axis in between or behind that is not transformed, and with the halved
# axis before another. After the first sweep each rank has rows of its columns, or columns of its slabs, in scratch.
BACK = {
    "3-D": ((90, 77, 130), (0, 1, 2), "complex128", 2),
    "2-D": ((600, 1155), (0, 1), "complex128", 2),
    "one axis a sweep": ((13, 997, 97), (0, 1, 2), "complex128", 3),
    "a batch": ((2, 7, 1000, 98), (1, 2, 3), "complex64", 2),
    "an axis in between": ((150, 11, 170), (0, 2), "complex128", 2),
    "rows behind": ((150, 160, 30), (0, 1), "complex128", 2),
    "columns of slabs": ((1200, 3, 131), (2, 0), "complex128", 2),
    "an image": ((9000, 128), (0, 1), "complex128", 3),
    "long": ((3, 1 << 17), (0, 1), "complex128", 4),
    "long, before halved": ((5, 1 << 17), (1, 0), "complex128", 4),
    "an image in rows": ((4480, 200), (0, 1), "complex128", 2),
}


@pytest.mark.parametrize("name", BACK)
def test_several_axes_back(name, comm, rng, folder, scratch):
    """c2r, whose array between the sweeps is larger than its output and is in scratch of each rank's own."""
    shape, axes, dtype, sweeps = BACK[name]
    method = "two_sweeps" if name == "an image in rows" else "axis_sweeps"
    spectrum = np.fft.rfftn(rng.standard_normal(shape), axes=axes).astype(dtype)
    save(comm, folder / "in.npy", spectrum)
    result = spanfft.transform(
        folder / "in.npy", folder / "out.npy", kind="c2r", axes=axes, real_length=shape[axes[-1]], memory="1MiB",
        comm=comm, method=method, scratch=scratch,
    )  # fmt: skip
    assert result.report["sweeps"] == sweeps
    assert result.report["peak_memory_bytes"] <= 1 << 20
    out, twice = np.load(folder / "out.npy", mmap_mode="r"), name.startswith("long")
    assert_counted(comm, result, spectrum, out, twice=twice)
    exact = oracle.backward(spectrum, "r2c", axes, shape) if comm.rank == 0 else None
    assert_exact(comm, folder / "out.npy", exact, oracle.limit("r2c", axes, shape, dtype))
    assert_nothing_else(comm, folder, ["in.npy", "out.npy"])


@pytest.mark.parametrize("descr", [">i2", "float32"])
def test_what_is_loaded_otherwise(descr, comm, rng, folder, scratch):
    x = (1000 * rng.standard_normal(45045)).astype(descr)
    save(comm, folder / "in.npy", x)
    done = []
    result = spanfft.transform(
        folder / "in.npy", folder / "out.npy", memory="1MiB", method="two_sweeps", precision="double", comm=comm,
        scratch=scratch, progress=lambda *bytes_: done.append(bytes_),
    )  # fmt: skip
    assert done[-1][0] == done[-1][1], "progress does not come to its end"
    assert_counted(comm, result, x, np.load(folder / "out.npy", mmap_mode="r"))
    exact = oracle.forward(x.astype("float64"), "r2c", (0,)) if comm.rank == 0 else None
    assert_exact(comm, folder / "out.npy", exact, oracle.limit("r2c", (0,), x.shape, np.float64))
    assert_nothing_else(comm, folder, ["in.npy", "out.npy"])


@pytest.mark.parametrize("options", [dict(power=True), dict(output_dtype="complex64")], ids=str)
def test_what_is_stored_otherwise(options, comm, rng, folder, scratch):
    x = numbers(rng, (45045,), "complex128")
    save(comm, folder / "in.npy", x)
    done = []
    result = spanfft.transform(
        folder / "in.npy", folder / "out.npy", memory="1MiB", method="two_sweeps", comm=comm, scratch=scratch,
        progress=lambda *bytes_: done.append(bytes_), **options,
    )  # fmt: skip
    assert_as_predicted(result)
    assert done[-1][0] == done[-1][1], "progress does not come to its end"
    out, exact = np.load(folder / "out.npy"), oracle.forward(x, "c2c", (0,))
    if "power" in options:
        exact = exact.real**2 + exact.imag**2
    assert np.linalg.norm(out - exact) <= 2 * np.finfo(out.dtype).eps * 8 * np.linalg.norm(exact)
    assert_nothing_else(comm, folder, ["in.npy", "out.npy"])


def run_in(scratch: object, comm: MPI.Comm, folder: Path, **more: object) -> spanfft.TransformResult:
    """A small run that exchanges, or goes through scratch on one rank."""
    options = dict(memory="1MiB", method="two_sweeps") | more
    return spanfft.transform(folder / "in.npy", folder / "out.npy", comm=comm, scratch=scratch, **options)


def save_small(comm: MPI.Comm, rng: np.random.Generator, folder: Path) -> np.ndarray:
    x = numbers(rng, (45045,), "complex128")
    save(comm, folder / "in.npy", x)
    return x


def test_scratch_is_where_each_rank_is_told(comm, rng, folder, scratch):
    """By its own number, its node's, in several folders, without braces, and beside the output."""
    exact = oracle.forward(save_small(comm, rng, folder), "c2c", (0,))
    bound = oracle.limit("c2c", (0,), (45045,), "complex128")
    if comm.rank == 0:
        (folder / "n0").mkdir()
        for rank in range(comm.size):
            (folder / f"t{rank}n0").mkdir()
    comm.barrier()
    several = [scratch, str(folder / "t{rank}n{node}")]
    for name in [scratch, str(folder / "n{node}"), several, scratch.format(rank=comm.rank), None]:
        run_in(name, comm, folder)
        assert_exact(comm, folder / "out.npy", exact if comm.rank == 0 else None, bound)
        comm.barrier()
        assert all(os.listdir(folder / f) == [] for f in os.listdir(folder) if (folder / f).is_dir())
        comm.barrier()


def test_scratch_of_others_need_not_be_there_for_this_one(comm, rng, folder):
    """As on local disks of nodes: each rank names a folder of which the others know nothing."""
    exact = oracle.forward(save_small(comm, rng, folder), "c2c", (0,))
    own = tempfile.mkdtemp(prefix="spanfft-test-")
    try:
        run_in(own, comm, folder)
        assert_exact(
            comm, folder / "out.npy", exact if comm.rank == 0 else None,
            oracle.limit("c2c", (0,), (45045,), "complex128"),
        )  # fmt: skip
        assert os.listdir(own) == []
    finally:
        shutil.rmtree(own)
    comm.barrier()
    assert sorted(os.listdir(folder)) == ["in.npy", "out.npy"]
    comm.barrier()


def test_a_folder_that_one_rank_lacks_is_one_sentence_on_all(comm, rng, folder, scratch):
    save_small(comm, rng, folder)
    for missing in range(comm.size):
        if comm.rank == 0:
            (folder / f"s{missing}").rmdir()
        comm.barrier()
        named = f"rank {missing}.*s{missing}" if comm.size > 1 else "s0"
        agrees(comm, lambda: run_in(scratch, comm, folder), OSError, named)
        if comm.rank == 0:
            (folder / f"s{missing}").mkdir()
        assert_nothing_else(comm, folder, ["in.npy"])


@pytest.mark.parametrize("name", ["checksums", "journal"])
def test_what_one_rank_alone_turns_off_is_one_sentence_on_all(name, comm, rng, folder, scratch):
    if comm.size == 1:
        pytest.skip("nobody to differ from")
    save_small(comm, rng, folder)
    for other in range(comm.size):
        agrees(comm, lambda other=other: run_in(scratch, comm, folder, **{name: comm.rank != other}),
               spanfft.MPIError, name)  # fmt: skip
        assert_nothing_else(comm, folder, ["in.npy"])
    run_in(scratch, comm, folder)
    assert_nothing_else(comm, folder, ["in.npy", "out.npy"])


def test_stopping_and_failing_on_one_rank(comm, rng, folder, scratch):
    save_small(comm, rng, folder)
    last = comm.size - 1
    for after in (0, 2):
        calls = []

        def stop(done, total, after=after, calls=calls):
            calls.append(done)
            return comm.rank != last or len(calls) <= after

        with pytest.raises(spanfft.Interrupted):
            run_in(scratch, comm, folder, progress=stop, journal=False)
        assert_nothing_else(comm, folder, ["in.npy"])

        def fail(done, total, after=after, calls=calls):
            calls.append(done)
            if comm.rank == last and len(calls) > after:
                raise ValueError("progress of the last rank")

        calls.clear()
        with pytest.raises(ValueError if comm.rank == last else spanfft.Interrupted):
            run_in(scratch, comm, folder, progress=fail, journal=False)
        assert_nothing_else(comm, folder, ["in.npy"])
    run_in(scratch, comm, folder)  # nobody is left where the others are not
    assert_nothing_else(comm, folder, ["in.npy", "out.npy"])
