"""Transforms of files by several ranks, each with scratch of its own, that are killed or stopped, and what goes on.

The ranks are processes that mpiexec starts; one of them kills itself with SIGKILL at a share of its own progress, and
the launcher ends the others. The same command then goes on to the same bits.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import assert_transform, cli_environment, relative_error
from conftest import mpiexec as find_mpiexec
from soak import oracle

# argv: folder, the rank that dies (-1: none), the share at which it does, whether it only stops
PROGRAM = """
import json, os, signal, sys
from mpi4py import MPI
import spanfft
folder, dies, share, stops = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "stop"
comm = MPI.COMM_WORLD

def progress(done, total):
    if comm.rank != dies or done < share * total:
        return True
    if not stops:
        os.kill(os.getpid(), signal.SIGKILL)
    return False

try:
    options = json.loads(os.environ.get("OPTIONS", "{}"))
    source, target = options.pop("source", "in.npy"), options.pop("target", "out.npy")
    options = dict(memory="1MiB", scratch=folder + "/scratch{rank}") | options
    result = spanfft.transform(folder + "/" + source, target and folder + "/" + target, comm=comm, progress=progress,
                               **options)
    resumed = comm.allgather(result.resumed_bytes)
    said = {"resumed": resumed, "notes": result.report["notes"]}
except spanfft.Error as error:
    said = {"error": type(error).__name__, "text": str(error)}
said = comm.gather(said)
if comm.rank == 0:
    print(json.dumps(said))
"""


class Ranks:
    def __init__(self, folder: Path, ranks: int, **options: object) -> None:
        self.folder, self.ranks, self.options = folder, ranks, options
        for rank in range(ranks):
            (folder / f"scratch{rank}").mkdir(exist_ok=True)

    def run(self, dies: int = -1, share: float = 0.0, how: str = "kill", ranks: int | None = None, **options: object):
        """What each rank said, or None where they were killed."""
        environment = cli_environment() | {"OPTIONS": json.dumps(self.options | options)}
        done = subprocess.run(
            [find_mpiexec(), "-n", str(ranks or self.ranks), sys.executable, "-c", PROGRAM, str(self.folder), str(dies),
             str(share), how],
            capture_output=True, text=True, timeout=120, env=environment,
        )  # fmt: skip
        lines = [line for line in done.stdout.splitlines() if line.startswith("[{")]
        if not lines:
            assert dies >= 0, done.stderr[-2000:]
            return None
        return json.loads(lines[-1])

    def digest(self) -> str:
        return hashlib.sha256((self.folder / "out.npy").read_bytes()).hexdigest()

    def flip_kept(self, rank: int) -> None:
        """Bits of what a rank kept in its scratch."""
        flip(max((self.folder / f"scratch{rank}").iterdir(), key=lambda path: path.stat().st_size))

    def flip_output(self, begin: float, end: float) -> None:
        """Bits of the unfinished output, between these shares of it."""
        flip(max(self.folder.glob(".out.npy*"), key=lambda path: path.stat().st_size), begin, end)

    def left(self) -> list[str]:
        """What is in the folders besides the arrays."""
        arrays = {"in.npy", "out.npy"}
        return sorted(name for _, _, names in os.walk(self.folder) for name in names if name not in arrays)


def flip(path: Path, begin: float = 0, end: float = 1) -> None:
    """Bits that are found whichever part is read first."""
    kept = bytearray(path.read_bytes())
    # Everywhere but for the mark at the end, as some may have been read already.
    for at in range(2000 + int(begin * len(kept)), int(end * len(kept)) - (64 << 10), 4 << 10):
        kept[at] ^= 8
    path.write_bytes(kept)


@pytest.fixture
def series(rng, tmp_path) -> np.ndarray:
    pytest.importorskip("mpi4py")
    x = rng.standard_normal(1 << 20) + 1j * rng.standard_normal(1 << 20)
    np.save(tmp_path / "in.npy", x)
    return x


def test_a_killed_run_on_three_ranks_goes_on_to_the_same_bits(series, tmp_path):
    job = Ranks(tmp_path, 3)
    assert [each["resumed"] for each in job.run()] == [[0, 0, 0]] * 3
    assert_transform(np.load(tmp_path / "out.npy"), series)
    whole = job.digest()
    assert job.left() == []
    went_on = 0
    for i, share in enumerate([0.05, 0.3, 0.5, 0.7, 0.97]):
        os.unlink(tmp_path / "out.npy")
        assert job.run(dies=i % 3, share=share) is None
        assert not (tmp_path / "out.npy").exists()
        # Another rank, which may have done what it had to before the first one died: then the run ends.
        said = job.run(dies=(i + 1) % 3, share=min(0.98, share + 0.2)) or job.run()
        went_on += max(said[0]["resumed"]) > 0
        assert job.digest() == whole, share
        assert job.left() == []
    assert went_on >= 3


# What else ranks keep in scratch: rows of columns, which may be overwritten, sections, twice sections, and parts of the
# first factor's results, each with its options; and rows of a convolution, which are overwritten, and of its filter.
KEPT = {
    "c2c in three sweeps": ((1 << 20,), dict(kind="c2c", method="many_sweeps")),
    "r2c in parts": ((1 << 21,), dict(kind="r2c", method="many_sweeps")),
    "dct2": ((1 << 20,), dict(kind="dct2", method="two_sweeps")),
    "c2r of two axes": ((600, 1155), dict(kind="c2r", real_length=1155, method="axis_sweeps")),
    "c2r of three axes": ((13, 997, 97), dict(kind="c2r", real_length=97, method="axis_sweeps")),
    "r2c in three sweeps": ((1 << 20,), dict(kind="r2c", method="many_sweeps")),
    "c2r in three sweeps": ((1 << 20,), dict(kind="c2r", real_length=1 << 20, method="many_sweeps")),
    "a prime": ((262139,), dict(kind="c2c", method="chirp_sweeps")),
    # Through the output alone, where a sweep overwrites what all ranks have written: columns, slabs left in exchanged
    # order, columns of many matrices, columns of what r2c halved, and columns twice.
    "c2c in two sweeps": ((1 << 18,), dict(kind="c2c", method="two_sweeps", memory="3MiB")),
    "c2c left exchanged": ((1 << 19,), dict(kind="c2c", method="two_sweeps", order="exchanged")),
    "c2c of two axes of many": ((20, 170, 150), dict(kind="c2c", axes=[1, 2], method="axis_sweeps")),
    "r2c of three axes": ((97, 100, 90), dict(kind="r2c", method="axis_sweeps")),
    "c2c of three axes": ((40, 700, 40), dict(kind="c2c", method="axis_sweeps")),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_killed_run_of_every_other_exchange_goes_on_to_the_same_bits(name, rng, tmp_path):
    pytest.importorskip("mpi4py")
    shape, options = KEPT[name]
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if options["kind"] == "c2c" else 0)
    back = options["kind"] == "c2r"
    source = np.fft.rfftn(x) if back else x
    np.save(tmp_path / "in.npy", source)
    job = Ranks(tmp_path, 3, **options)
    said = job.run()
    assert [each["resumed"] for each in said] == [[0, 0, 0]] * 3
    out = np.load(tmp_path / "out.npy")
    if "order" in options:
        n1 = int(re.search(r"n1 = (\d+)", str(said[0]["notes"]))[1])
        out = out.reshape(n1, -1).T.ravel()
    if back:
        axes = range(len(shape))
        exact = oracle.backward(source, "r2c", axes, shape)
        assert relative_error(out, exact) <= oracle.limit("r2c", axes, shape, "float64")
    else:
        assert_transform(out, x, options["kind"], options.get("axes"))
    whole = job.digest()
    went_on = 0
    for i, share in enumerate([0.25, 0.55, 0.9]):
        os.unlink(tmp_path / "out.npy")
        assert job.run(dies=i % 3, share=share) is None
        said = job.run(dies=(i + 1) % 3, share=min(0.98, share + 0.2)) or job.run()
        went_on += max(said[0]["resumed"]) > 0
        assert job.digest() == whole, share
        assert job.left() == []
    assert went_on >= 2


def test_ranks_that_are_stopped_say_what_is_kept_and_go_on(series, tmp_path):
    job = Ranks(tmp_path, 2)
    job.run()
    whole = job.digest()
    os.unlink(tmp_path / "out.npy")
    said = job.run(dies=1, share=0.6, how="stop")
    assert {each["error"] for each in said} == {"Interrupted"}
    assert len({each["text"] for each in said}) == 1
    assert "rank 1" in said[0]["text"]
    assert "goes on from there" in said[0]["text"]
    assert job.run()[0]["resumed"] != [0, 0]
    assert job.digest() == whole


def test_flipped_bits_of_scratch_are_found_by_the_rank_that_reads_them(series, tmp_path):
    job = Ranks(tmp_path, 2)
    job.run()
    whole = job.digest()
    os.unlink(tmp_path / "out.npy")
    job.run(dies=0, share=0.52)
    job.flip_kept(1)
    said = job.run()
    assert {each["error"] for each in said} == {"CorruptData"}
    for word in ("rank 1", "checksum", "byte"):
        assert word in said[0]["text"]
    assert job.left() == []  # what was done is of no use
    job.run()
    assert job.digest() == whole


def test_flipped_bits_of_the_output_are_found_by_a_rank_that_reads_what_all_have_written(series, tmp_path):
    job = Ranks(tmp_path, 3, method="many_sweeps")
    job.run()
    whole = job.digest()
    os.unlink(tmp_path / "out.npy")
    assert job.run(dies=0, share=0.45) is None  # in the second of three sweeps, which reads the output
    job.flip_output(0.4, 0.6)  # of whose rows rank 1 reads the middle third
    said = job.run()
    assert {each["error"] for each in said} == {"CorruptData"}
    for word in ("rank 1", "checksum", "byte", "out.npy"):
        assert word in said[0]["text"]
    assert job.left() == []
    job.run()
    assert job.digest() == whole


def test_other_ranks_and_other_folders_are_refused_with_what_to_do(series, tmp_path):
    job = Ranks(tmp_path, 2)
    job.run(dies=1, share=0.6)
    kept = job.left()
    (tmp_path / "scratch2").mkdir()
    for said in (job.run(ranks=3), job.run(ranks=1)):
        assert {each["error"] for each in said} == {"InvalidArgument"}
        assert "ranks=2" in said[0]["text"] or "on as many ranks" in said[0]["text"], said
    assert job.left() == kept
    os.rename(tmp_path / "scratch1", tmp_path / "elsewhere")
    (tmp_path / "scratch1").mkdir()
    said = job.run()
    assert {each["error"] for each in said} == {"InvalidArgument"}
    for words in ("ranks 0 of 2 have an unfinished run", "restart"):
        assert words in said[0]["text"]
    os.rmdir(tmp_path / "scratch1")
    os.rename(tmp_path / "elsewhere", tmp_path / "scratch1")
    assert job.run()[0]["resumed"] != [0, 0]
    assert_transform(np.load(tmp_path / "out.npy"), series)


def test_a_rank_that_had_done_nothing_yet_stays_in_a_run_that_could_not_go_on_for_a_moment(series, tmp_path):
    job = Ranks(tmp_path, 2)
    job.run()
    whole = job.digest()
    os.unlink(tmp_path / "out.npy")
    job.run(dies=0, share=0.6)
    (journal,) = (tmp_path / "scratch1").glob(".*-journal")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(line for line in lines if not line.startswith(b"panels ")))
    (kept,) = (tmp_path / "scratch0").glob(".*-kept-scratch*")
    os.rename(kept, tmp_path / "away")
    said = job.run()
    assert "error" in said[0], said
    os.rename(tmp_path / "away", kept)
    assert job.run()[0]["resumed"][0] > 0
    assert job.digest() == whole


def test_restart_on_ranks_begins_anew_and_takes_the_old_run_away(series, tmp_path):
    job = Ranks(tmp_path, 2)
    job.run(dies=1, share=0.6)
    assert job.run(resume=False)[0]["resumed"] == [0, 0]
    assert job.left() == []
    assert_transform(np.load(tmp_path / "out.npy"), series)


@pytest.mark.parametrize(("shape", "share"), [((155925,), 0.4), ((155925,), 0.8), ((40, 700, 40), 0.5)])
def test_a_killed_run_in_place_goes_on_to_the_same_bits(shape, share, rng, tmp_path):
    """Before anything is overwritten, while all ranks overwrite, and in the second of three sweeps."""
    pytest.importorskip("mpi4py")
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    x = x.astype("complex64" if x.ndim == 1 else "complex128")
    np.save(tmp_path / "in.npy", x)
    job = Ranks(tmp_path, 3, kind="c2c", method="two_sweeps" if x.ndim == 1 else "axis_sweeps")
    job.run()
    whole = np.load(tmp_path / "out.npy")
    np.save(tmp_path / "out.npy", x)
    options = dict(source="out.npy", target=None, in_place=True)
    assert job.run(dies=1, share=share, **options) is None
    if share <= 0.5:
        assert np.array_equal(np.load(tmp_path / "out.npy"), x)
    said = job.run(**options)
    assert "resumed" in said[0], said
    assert np.array_equal(np.load(tmp_path / "out.npy"), whole)
    assert job.left() == []


def test_a_killed_run_of_chunked_arrays_goes_on_to_the_same_bits(rng, tmp_path):
    """Killed between the copies into files and out of them, and while chunks are copied out."""
    pytest.importorskip("mpi4py")
    zarr = pytest.importorskip("zarr")
    x = rng.standard_normal(1 << 18).astype("float32")
    zarr.create_array(store=str(tmp_path / "in.zarr"), data=x, chunks=(5000,))
    job = Ranks(tmp_path, 3, method="two_sweeps", source="in.zarr")
    job.run(target="whole.zarr")
    for i, share in enumerate([0.5, 0.9]):
        target = f"out{i}.zarr"
        assert job.run(dies=i, share=share, target=target) is None
        assert not (tmp_path / target).exists()
        said = job.run(target=target)
        assert max(said[0]["resumed"]) > 0
        found, whole = (zarr.open_array(str(tmp_path / name), mode="r")[...] for name in (target, "whole.zarr"))
        assert np.array_equal(found, whole)
        assert [name for name in job.left() if name.startswith(".")] == []


def test_flipped_bits_of_the_file_into_which_chunks_were_copied_are_found(rng, tmp_path):
    pytest.importorskip("mpi4py")
    zarr = pytest.importorskip("zarr")
    x = rng.standard_normal(1 << 18).astype("float32")
    zarr.create_array(store=str(tmp_path / "in.zarr"), data=x, chunks=(5000,))
    job = Ranks(tmp_path, 3, method="two_sweeps", source="in.zarr", target="out.zarr")
    assert job.run(dies=0, share=0.27) is None  # in the first of two sweeps between two copies
    copies = list(tmp_path.rglob("*.spanfft-kept-input"))
    assert len(copies) == 1
    flip(copies[0])
    said = job.run()
    assert {each["error"] for each in said} == {"CorruptData"}
    for word in ("checksum", "byte", "spanfft-kept-input"):
        assert word in said[0]["text"]
    assert max(job.run()[0]["resumed"]) == 0
    found = zarr.open_array(str(tmp_path / "out.zarr"), mode="r")[...]
    assert_transform(found, x, "r2c")
