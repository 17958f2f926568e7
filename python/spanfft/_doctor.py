"""Whether spanfft and what it stands on work here: what `spanfft doctor` does.

Each check is run by all ranks and yields findings; the worst of any rank is the one that is told. A finding that is bad
says whose fault it is (an error class of the package, whose code becomes the exit code) and what to do. Numbers are
held against exact ones: a few impulses, whose spectrum is known at every frequency from roots of unity in long double,
so that neither a wrong number nor a right one in a wrong place passes.
Invariant: checks of MPI alone call nothing of spanfft, so that a fault of MPI is told from one of spanfft.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import AnyArray
from ._errors import EngineError, Error, InternalError, IOFailure, MPIError, OutOfMemory
from ._native import core
from ._plan import Plan

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

__all__ = ["EXCHANGES", "Finding", "Job", "examine"]

STATES = ("ok", "skipped", "warning", "bad")  # from the best to the worst
EXCHANGES = (
    "alltoallv", "alltoallw", "oneplane", "overlap", "standard", "replace", "blockvector", "phased", "persistent",
    "hierarchical", "shared", "compressed",
)  # fmt: skip
_LENGTHS = (1, 2, 3, 7, 16, 97, 210, 512, 1009, 1024, 4096, 5929, 16381, 65536)
_TURN = 2 * np.longdouble("3.14159265358979323846264338327950288")
_COMPRESSED_TOLERANCE = 2.0**-20


@dataclass
class Finding:
    """One line of the report. `remedy` is a sentence, empty if all is well; `fault` is the class of whose fault it is."""

    check: str
    state: str
    text: str
    remedy: str = ""
    fault: type[Error] = field(default=InternalError, repr=False)

    def as_dict(self) -> dict[str, str]:
        return {name: value for name, value in asdict(self).items() if name != "fault"}


@dataclass(frozen=True)
class Job:
    """What is examined: the ranks, a folder whose disk to try, and whether messages above 2^31 bytes are sent."""

    comm: Comm | None
    disk: str | None = None
    large: bool = False

    @property
    def rank(self) -> int:
        return 0 if self.comm is None else self.comm.Get_rank()

    @property
    def size(self) -> int:
        return 1 if self.comm is None else self.comm.Get_size()

    def everywhere(self, value: Any) -> list[Any]:
        """The values of all ranks. Collective."""
        return [value] if self.comm is None else self.comm.allgather(value)


_Check = Callable[[Job], Iterator[Finding]]


# --- exact numbers -------------------------------------------------------------------------------------------------


def _roots(places: AnyArray, frequencies: AnyArray, n: int) -> AnyArray:
    """exp(-2 pi i places frequencies / n), for all pairs, in long double; products stay below 2^63 for n < 2^31."""
    turn = _TURN * (np.multiply.outer(places, frequencies) % n).astype(np.longdouble) / n
    return np.asarray(np.cos(turn) - 1j * np.sin(turn))


class _Impulses:
    """Three impulses in an array of a shape, and their exact spectrum, any part of either."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = tuple(shape)
        random = np.random.default_rng(shape)
        self.places = [[int(random.integers(0, n)) for n in shape] for _ in range(3)]
        self.heights = [1.0, -0.75, 0.5]

    def real_space(self, part: tuple[slice, ...], dtype: Any) -> AnyArray:
        """The part as an array, of impulses that lie on one place as their sum."""
        indices = [np.arange(n)[s] for n, s in zip(self.shape, part, strict=True)]
        found = np.zeros([len(index) for index in indices], dtype)
        for place, height in zip(self.places, self.heights, strict=True):
            where = [np.flatnonzero(index == at) for index, at in zip(indices, place, strict=True)]
            if all(len(hits) for hits in where):
                found[tuple(int(hits[0]) for hits in where)] += height
        return found

    def spectrum(self, part: tuple[slice, ...], spectrum_shape: Sequence[int]) -> AnyArray:
        indices = [np.arange(n)[s] for n, s in zip(spectrum_shape, part, strict=True)]
        found = np.zeros([len(index) for index in indices], np.clongdouble)
        for place, height in zip(self.places, self.heights, strict=True):
            wave: AnyArray = np.array(np.longdouble(height))
            for at, index, n in zip(place, indices, self.shape, strict=True):
                wave = np.multiply.outer(wave, _roots(np.array([at]), index, n)[0])
            found += wave
        return found


def _norm(a: AnyArray) -> float:
    return float((np.abs(a) ** 2).sum())


def _exact_pair(plan: Plan) -> tuple[AnyArray, AnyArray]:
    """This rank's part of impulses, and of their spectrum in long double."""
    exact = _Impulses(plan.shape)
    return exact.real_space(plan.input_slices, plan.dtype), exact.spectrum(plan.output_slices, plan.spectrum_shape)


def _errors(plan: Plan, job: Job, given: AnyArray, asked: AnyArray) -> tuple[float, float]:
    """Relative error of a forward transform, and of the way back, over all ranks."""
    found = plan.forward(given)
    sums = [_norm(found - asked), _norm(asked), _norm(plan.backward(found) - given), _norm(given)]
    difference, norm, back, norm_back = np.sum(job.everywhere(sums), axis=0)
    return math.sqrt(difference / norm), math.sqrt(back / norm_back)


def _limit(dtype: Any, points: int) -> float:
    """What docs/accuracy.md allows at any length, twice: there and back; at least two roundings."""
    return 2 * 1.5 * float(np.finfo(dtype).eps) * math.sqrt(max(1.0, math.log2(max(points, 2))))


# --- what is installed ---------------------------------------------------------------------------------------------


def _versions(job: Job) -> Iterator[Finding]:
    mine = f"spanfft {core.version()}, Python {sys.version.split()[0]}, NumPy {np.__version__}"
    every = job.everywhere(mine)
    if len(set(every)) == 1:
        yield Finding("versions", "ok", mine + ("" if job.size == 1 else f", on all {job.size} ranks"))
    else:
        other = next(rank for rank, text in enumerate(every) if text != every[0])
        yield Finding("versions", "bad", f"rank 0 has {every[0]}, rank {other} has {every[other]}",
                      "use one environment on all nodes, such as a folder that all of them see", MPIError)  # fmt: skip


def _mpi(job: Job) -> Iterator[Finding]:
    if job.comm is None:
        yield Finding("MPI", "skipped", "one process, without MPI; start it as mpiexec -n 2 spanfft doctor")
        return
    from mpi4py import MPI

    from ._mpi import library

    theirs = [text.strip("\0 \n").splitlines()[0] for text in job.everywhere(MPI.Get_library_version())]
    if len(set(theirs)) > 1:
        other = next(rank for rank, text in enumerate(theirs) if text != theirs[0])
        yield Finding("MPI", "bad", f"rank 0 runs {theirs[0]}, rank {other} runs {theirs[other]}",
                      "load one MPI on all nodes", MPIError)  # fmt: skip
        return
    failed = next((text for text in job.everywhere(_sentence(library)) if text), "")
    if failed:
        yield Finding("MPI", "bad", failed, "build spanfft with the MPI that mpi4py runs on", MPIError)
        return
    names = {MPI.THREAD_SINGLE: "single", MPI.THREAD_FUNNELED: "funneled", MPI.THREAD_SERIALIZED: "serialized",
             MPI.THREAD_MULTIPLE: "multiple"}  # fmt: skip
    level = MPI.Query_thread()
    text = f"{theirs[0]}, {job.size} ranks, threads {names[level]}"
    if level < MPI.THREAD_SERIALIZED:
        yield Finding("MPI", "warning", f"{text}: exchanges can't be moved on by a thread of their own",
                      'set mpi4py.rc.thread_level = "multiple", or MPI\'s own variable for it')  # fmt: skip
    else:
        yield Finding("MPI", "ok", text)


def _sentence(call: Callable[[], object]) -> str:
    """What it fails with, or nothing."""
    try:
        call()
    except Error as error:
        return str(error)
    return ""


# --- the machine ---------------------------------------------------------------------------------------------------


def _nodes(job: Job) -> Iterator[Finding]:
    """Ranks per node and their pinning."""
    mine = (os.uname().nodename, sorted(os.sched_getaffinity(0)))
    nodes: dict[str, list[list[int]]] = {}
    for name, processors in job.everywhere(mine):
        nodes.setdefault(name, []).append(processors)
    counts = sorted({len(ranks) for ranks in nodes.values()})
    yield Finding("nodes", "ok", f"{len(nodes)} node(s) with {' or '.join(map(str, counts))} rank(s) each")
    for name, ranks in nodes.items():
        processors = {processor for rank in ranks for processor in rank}
        if len(processors) < len(ranks):
            yield Finding("pinning", "warning", f"{name} has {len(ranks)} ranks on {len(processors)} processor(s)",
                          "start fewer ranks on a node, or give the job more processors: ranks that wait take turns "
                          "with those that work")  # fmt: skip
            return
        pinned = len(ranks) > 1 and all(len(rank) < len(processors) for rank in ranks)
        if pinned and sum(map(len, ranks)) > len(processors):
            yield Finding("pinning", "warning", f"ranks of {name} share processors that they are bound to",
                          "bind each rank to its own: mpiexec --bind-to core, srun --cpu-bind=cores")  # fmt: skip
            return
    sizes = sorted({len(rank) for ranks in nodes.values() for rank in ranks})
    yield Finding("pinning", "ok", f"each rank may use {' or '.join(map(str, sizes))} processor(s)")


def _memory(job: Job) -> Iterator[Finding]:
    from ._memory import available_bytes, bytes_string, total_bytes

    free, total = min(job.everywhere((available_bytes(), total_bytes())))
    text = f"{bytes_string(free)} of {bytes_string(total)} are free on the fullest node"
    if free < 1 << 30:
        yield Finding("memory", "warning", text, "end other programs, or raise the job's limit (ulimit -v, the control "
                      "group)")  # fmt: skip
    else:
        yield Finding("memory", "ok", text)
    windows = job.everywhere(core.windows())
    try:
        found = os.statvfs("/dev/shm")
        shared = found.f_bavail * found.f_frsize
    except OSError:
        shared = 0
    least = min(job.everywhere(shared))
    text = f"spanfft's windows: {windows[0]}; /dev/shm, which MPI uses, has {bytes_string(least)} free"
    if least < 64 << 20:
        yield Finding("shared memory", "warning", text, "make /dev/shm larger: mount -o remount,size=50% /dev/shm, or "
                      "docker run --shm-size=2g; a full one ends MPI with a bus error")  # fmt: skip
    else:
        yield Finding("shared memory", "ok", text)
    yield _huge_pages(job)


def _huge_pages(job: Job) -> Finding:
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled") as file:
            mine = file.read()
    except OSError:
        mine = "[absent]"
    modes = {text[text.find("[") + 1 : text.find("]")] for text in job.everywhere(mine)}
    bad = sorted(modes - {"always", "madvise"})
    if bad:
        return Finding("huge pages", "warning", f"transparent huge pages are {bad[0]}",
                       "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled; large arrays are read "
                       "and written faster then")  # fmt: skip
    return Finding("huge pages", "ok", f"transparent huge pages: {', '.join(sorted(modes))}")


# --- engines -------------------------------------------------------------------------------------------------------


def _engines(job: Job) -> Iterator[Finding]:
    """Every engine in each precision, at good and bad lengths, on each rank by itself."""
    from ._problem import PRECISIONS

    alone = Job(None)
    exact: dict[int, tuple[AnyArray, AnyArray]] = {}
    dtypes = dict(zip(PRECISIONS, ("complex64", "complex128", "clongdouble"), strict=True))
    mine = {engine["name"]: engine for engine in core.engines()}
    every = job.everywhere(sorted(mine))
    names = sorted(set().union(*every))
    if not names:
        yield Finding("engines", "bad", "no engine was found", "install FFTW or MKL, or build spanfft with ducc0",
                      EngineError)  # fmt: skip
    for name in names:
        if any(name not in found for found in every):
            rank = next(rank for rank, found in enumerate(every) if name not in found)
            yield Finding("engines", "warning", f"{name} is not on rank {rank}, whose results may differ in rounding",
                          "install the same engines on all nodes")  # fmt: skip
        wrong: list[str] = []
        refused: list[int] = []
        for precision in mine[name]["precisions"] if name in mine else ():
            for n in _LENGTHS:
                try:
                    with Plan((n,), dtypes[precision], engine=name, threads=1, effort="estimate") as plan:
                        if n not in exact:
                            exact[n] = _exact_pair(plan)
                        given, asked = exact[n]
                        worst = max(_errors(plan, alone, given.astype(plan.dtype), asked))
                except EngineError:  # the library's own check passes it over there
                    refused.append(n)
                    continue
                if not worst <= _limit(dtypes[precision], n):
                    wrong.append(f"{precision}, {n} points: relative error {worst:.1e}")
        told = next((f"rank {rank}: {list_[0]}" for rank, list_ in enumerate(job.everywhere(wrong)) if list_), "")
        about = f"{name} {mine[name]['version']}" if name in mine else name
        if told:
            yield Finding("engines", "bad", f"{about}: {told}", f"leave it out: SPANFFT_{name.upper()}_LIBRARY=none, or "
                          "another version", EngineError)  # fmt: skip
        else:
            passed = f" (passed over at {', '.join(map(str, sorted(set(refused))))})" if refused else ""
            yield Finding(
                "engines", "ok", f"{about} is right at {len(_LENGTHS)} lengths from 1 to {_LENGTHS[-1]}{passed}"
            )


# --- MPI without spanfft -------------------------------------------------------------------------------------------


def _datatypes(job: Job) -> Iterator[Finding]:
    """Subarrays by MPI_Alltoallw, and places beyond 2^31: nothing of spanfft is called."""
    if job.comm is None:
        return
    wrong = _alltoallw(job)
    remedy = "it is MPI's fault: use another version of it, or exchange=alltoallv, which needs no datatypes"
    if any(job.everywhere(wrong)):
        yield Finding("MPI datatypes", "bad", f"{wrong or 'another rank got wrong'} of an MPI_Alltoallw of subarrays",
                      remedy, MPIError)  # fmt: skip
    else:
        yield Finding("MPI datatypes", "ok", "an MPI_Alltoallw of subarrays is right")
    wrong = _far_places(job)
    if any(job.everywhere(wrong)):
        yield Finding("2^31 in MPI", "bad", f"{wrong or 'another rank got wrong'} from a datatype that reaches beyond "
                      "2^31 bytes", remedy, MPIError)  # fmt: skip
    else:
        yield Finding("2^31 in MPI", "ok", "a datatype that reaches beyond 2^31 bytes and 2^31 numbers is right")


def _alltoallw(job: Job) -> str:
    from mpi4py import MPI

    comm, ranks = job.comm, job.size
    assert comm is not None
    rows, columns = 3, 2
    sent = np.arange(rows * columns * ranks, dtype="float64").reshape(rows, columns * ranks) + 1000 * job.rank
    received = np.full((rows * ranks, columns), -1.0)
    types = []
    for rank in range(ranks):
        types.append(MPI.DOUBLE.Create_subarray(sent.shape, (rows, columns), (0, columns * rank)).Commit())
    for rank in range(ranks):
        types.append(MPI.DOUBLE.Create_subarray(received.shape, (rows, columns), (rows * rank, 0)).Commit())
    one, zero = [1] * ranks, [0] * ranks
    comm.Alltoallw([sent, (one, zero), types[:ranks]], [received, (one, zero), types[ranks:]])  # type: ignore[list-item]
    for made in types:
        made.Free()
    first = np.arange(rows * columns * ranks, dtype="float64").reshape(rows, columns * ranks)
    first = first[:, columns * job.rank : columns * (job.rank + 1)]
    expected = np.concatenate([first + 1000 * rank for rank in range(ranks)])
    return "" if np.array_equal(received, expected) else "wrong numbers"


def _far_places(job: Job) -> str:
    """The last column of 2^17 columns in a few rows, and a row 2^31 numbers away, of memory that is never touched."""
    import mmap

    from mpi4py import MPI

    comm = job.comm
    assert comm is not None
    stride, rows = 1 << 31, 3  # numbers of 8 bytes: 16 GiB from one to the next
    size = 8 * (stride * (rows - 1) + 1)
    try:
        memory = mmap.mmap(
            -1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
        )
    except (OSError, ValueError, OverflowError):
        memory = None
    if not all(job.everywhere(memory is not None)):
        return ""  # address space is limited; nothing can lie so far away then
    far = np.frombuffer(memory, "float64")
    far[::stride] = np.arange(rows) + 10.0 * job.rank
    places = MPI.DOUBLE.Create_hvector(rows, 1, 8 * stride).Commit()
    got = np.full(rows, -1.0)
    left, right = (job.rank - 1) % job.size, (job.rank + 1) % job.size
    comm.Sendrecv([far, 1, places], right, 7, got, left, 7)
    back = np.zeros(0)
    far[::stride] = -1.0
    comm.Sendrecv(got, left, 8, [far, 1, places], right, 8)
    back = far[::stride].copy()
    places.Free()
    right_ones = np.arange(rows) + 10.0 * left
    if not np.array_equal(got, right_ones) or not np.array_equal(back, np.arange(rows) + 10.0 * job.rank):
        return f"{got.tolist()} and {back.tolist()}"
    return ""


# --- spanfft -------------------------------------------------------------------------------------------------------


def _ways(ranks: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What to transform and how: each exchange, then the other divisions. Lengths divide by nothing."""
    shape = (2 * ranks + 1, ranks + 3, 11)
    for name in EXCHANGES if ranks > 1 else ():
        yield f"exchange {name}", {"shape": shape, "exchange": name, "grid": (ranks, 1, 1)}
    if ranks > 3 and (p := next((d for d in range(2, math.isqrt(ranks) + 1) if ranks % d == 0), 0)):
        yield "pencils", {"shape": shape, "grid": (p, ranks // p, 1)}
    yield "r2c", {"shape": shape, "kind": "r2c"}
    yield "the planner's choice", {"shape": (64, 60, 62)}
    yield "one axis", {"shape": (997 * 60,)}
    if ranks > 1:
        yield "one axis, exchanged order", {"shape": (ranks * ranks * 144,), "output": "exchanged"}
        yield "cyclic", {"shape": (ranks * ranks * 12, 10), "layout": "cyclic"}


def _transforms(job: Job) -> Iterator[Finding]:
    """An exact spectrum and a round trip by each way to exchange and to divide."""
    right = []
    for name, options in _ways(job.size):
        shape = options.pop("shape")
        limit = _limit("float64", math.prod(shape))
        if options.get("exchange") == "compressed":
            limit = _COMPRESSED_TOLERANCE
        try:
            with Plan(shape, comm=job.comm, **options) as plan:
                forward, back = _errors(plan, job, *_exact_pair(plan))
        except Error as error:  # the same on all ranks
            yield Finding(
                "transforms", "bad", f"{name}: {error}", "if the lines above are green, report it", type(error)
            )
            continue
        if max(forward, back) <= limit:
            right.append(name)
        else:
            yield Finding("transforms", "bad", f"{name}: relative error {forward:.1e}, there and back {back:.1e}, of "
                          f"{limit:.1e} allowed", "if MPI's lines above are green, report it", InternalError)  # fmt: skip
    yield Finding("transforms", "ok", f"exact spectrum and round trip: {', '.join(right)}")


def _boundaries(job: Job) -> Iterator[Finding]:
    """Counts beyond 2^31, which a plan of two imagined ranks has, and real messages of such a size if asked for."""
    n = 3 << 30
    sent = core.imagine(f"c2c {n // 1024}x1024 double ranks=2 exchange=alltoallv output=exchanged").predicted(-1, 0)
    expected = n // 4 * 16  # half of what a rank has
    if sent["sent_bytes"] == expected:
        yield Finding("2^31 in spanfft", "ok", f"a plan of {n} points counts {expected} bytes a message")
    else:
        yield Finding("2^31 in spanfft", "bad", f"a plan of {n} points counts {sent['sent_bytes']} bytes a message, not "
                      f"{expected}", "report it", InternalError)  # fmt: skip
    if job.comm is None or job.size < 2:
        return
    from ._memory import available_bytes, bytes_string

    # Between two ranks a message of 2^31 bytes and more is a quarter of the array; four arrays, with room for copies.
    shape = (2 * 8209, 32768)
    need = 8 * 16 * math.prod(shape) // 4 * 3
    free = min(job.everywhere(available_bytes()))
    if not job.large:
        yield Finding("2^31 on the wire", "skipped", f"--large sends such messages between two ranks, in "
                      f"{bytes_string(need)}")  # fmt: skip
        return
    if free < need:
        yield Finding("2^31 on the wire", "warning", f"{bytes_string(free)} are free, {bytes_string(need)} are needed",
                      "run it on nodes with more memory", OutOfMemory)  # fmt: skip
        return
    pair = job.comm.Split(0 if job.rank < 2 else 1, job.rank)
    try:
        error = 0.0
        if job.rank < 2:
            with Plan(shape, "complex128", comm=pair, exchange="alltoallv", output="exchanged", threads=1) as plan:
                error = max(_line_error(plan, pair))
    finally:
        pair.Free()
    error = max(job.everywhere(error))
    if error <= _limit("float64", math.prod(shape)):
        yield Finding("2^31 on the wire", "ok", "messages above 2^31 bytes between two ranks are right")
    else:
        yield Finding("2^31 on the wire", "bad", f"messages above 2^31 bytes: relative error {error:.1e}",
                      "try exchange=oneplane, whose messages are small, and report it", InternalError)  # fmt: skip


def _line_error(plan: Plan, comm: Comm) -> tuple[float, float]:
    """As `_errors` for one impulse, in place of long doubles for the whole array: exp(-2 pi i (j k / n + ...))."""
    place = [n // 3 for n in plan.shape]
    given = plan.input_array()
    inside = [p - s.start for p, s in zip(place, plan.input_slices, strict=True)]
    if all(0 <= i < n for i, n in zip(inside, given.shape, strict=True)):
        given[tuple(inside)] = 1
    found = plan.forward(given)
    factors = [_roots(np.array([p]), np.arange(s.start, s.stop), n)[0].astype(complex)
               for p, s, n in zip(place, plan.output_slices, plan.shape, strict=True)]  # fmt: skip
    squares = sum(_norm(row - factor * factors[1]) for row, factor in zip(found, factors[0], strict=True))
    squares, points = np.sum(comm.allgather((squares, found.size)), axis=0)
    back = plan.backward(found)
    worst = float(np.abs(back - given).max()) if back.size else 0.0
    return math.sqrt(squares / points), max(comm.allgather(worst))


def _mismatch(job: Job) -> Iterator[Finding]:
    """What is wrong on purpose must be refused, on all ranks."""

    def ask() -> None:
        if job.comm is None:  # as the command line has it for one rank too
            with Plan((8, 8)) as plan:
                plan.forward(np.zeros((8, 9), complex))
        else:
            Plan((8, 8 + (job.rank == job.size - 1)), comm=job.comm).free()

    said = job.everywhere(_sentence(ask))
    what = "an array of a wrong shape" if job.comm is None else "another shape on one rank"
    if all(said):
        yield Finding("refusals", "ok", f"{what} is refused on every rank")
    else:
        yield Finding("refusals", "bad", f"{what} is accepted on rank {said.index('')}", "report it", InternalError)


# --- disk ----------------------------------------------------------------------------------------------------------


def _disk(job: Job) -> Iterator[Finding]:
    """Speed, direct I/O, and a transform through the disk."""
    from ._memory import bytes_string

    if job.disk is None:
        yield Finding("disk", "skipped", "name a folder: --disk DIR")
        return
    folder = os.path.join(job.disk, f"spanfft-doctor-{os.getpid()}-{job.rank}")
    try:
        os.makedirs(folder)
        found = os.statvfs(folder)
        trouble = ""
    except OSError as error:
        trouble = f"{job.disk}: {error.strerror}"
    try:
        every = job.everywhere(trouble)
        if any(every):
            rank = next(rank for rank, text in enumerate(every) if text)
            yield Finding("disk", "bad", f"rank {rank}: {every[rank]}", "name a folder that every node has and may be "
                          "written", IOFailure)  # fmt: skip
            return
        free = min(job.everywhere(found.f_bavail * found.f_frsize))
        if free < 1 << 30:
            yield Finding("disk", "warning", f"{bytes_string(free)} are free in {job.disk}", "make room, or name another "
                          "folder; nothing was measured")  # fmt: skip
            return
        yield _direct(job, folder)
        yield _disk_speed(job)
        yield _through_disk(job, folder)
    finally:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _direct(job: Job, folder: str) -> Finding:
    path = os.path.join(folder, "direct")
    mine = "ok"
    try:
        handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_DIRECT, 0o600)
        try:
            import mmap

            with mmap.mmap(-1, 1 << 16) as block:
                os.pwrite(handle, block, 0)
        finally:
            os.close(handle)
    except OSError as error:
        mine = error.strerror or "fails"
    worst = next((text for text in job.everywhere(mine) if text != "ok"), "ok")
    if worst == "ok":
        return Finding("direct I/O", "ok", f"{job.disk} takes direct I/O; {core.disk_io()}")
    return Finding("direct I/O", "warning", f"{job.disk} does not take direct I/O ({worst}): bytes go through the page "
                   "cache", "use a folder on a local disk (ext4, xfs) for scratch files")  # fmt: skip


def _disk_speed(job: Job) -> Finding:
    from ._tune import probe, read_machine

    assert job.disk is not None
    numbers = read_machine(probe(comm=job.comm, quick=True, store=False, disk=job.disk))["numbers"]
    read, write = (numbers[f"disk_{way}_bytes_per_second"] for way in ("read", "write"))
    text = f"{read / 1e9:.2f} GB/s read, {write / 1e9:.2f} written"
    if min(read, write) < 50e6:
        return Finding("disk speed", "warning", text, "use a local or a parallel file system; a transform through this "
                       "disk takes minutes a GB")  # fmt: skip
    return Finding("disk speed", "ok", text)


def _through_disk(job: Job, folder: str) -> Finding:
    """A line of 2^18 points in 1 MiB of memory, on each rank by itself."""
    from ._transform import transform

    exact = _Impulses((1 << 18,))
    whole = (slice(None),)
    source, target = os.path.join(folder, "in.npy"), os.path.join(folder, "out.npy")
    trouble = ""
    try:
        np.save(source, exact.real_space(whole, "complex128"))
        transform(source, target, memory="1MiB", scratch=folder)
        asked = exact.spectrum(whole, exact.shape)
        error = math.sqrt(_norm(np.load(target) - asked) / _norm(asked))
        if not error <= _limit("float64", 1 << 18):
            trouble = f"relative error {error:.1e}"
    except Error as error:
        trouble = str(error)
    every = job.everywhere(trouble)
    if any(every):
        rank = next(rank for rank, text in enumerate(every) if text)
        return Finding("transform of a file", "bad", f"rank {rank}: {every[rank]}", "try another folder; if it is wrong "
                       "there too, report it", IOFailure)  # fmt: skip
    return Finding("transform of a file", "ok", "4 MiB through 1 MiB of memory: an exact spectrum")


# --- all of it -----------------------------------------------------------------------------------------------------

_CHECKS: tuple[_Check, ...] = (
    _versions, _mpi, _nodes, _memory, _engines, _datatypes, _mismatch, _boundaries, _transforms, _disk,
)  # fmt: skip


@contextmanager
def _limited(name: str, seconds: float, job: Job, told: Callable[[Finding], None]) -> Iterator[None]:
    """Ends all ranks if a check does not end: what hangs can't be interrupted otherwise."""

    rank = job.rank

    def end() -> None:
        told(Finding(name, "bad", f"rank {rank} did not end this check within {seconds:g} s",
                     "a network that drops messages, a firewall between nodes, or a rank that has died; see MPI's own "
                     "variables for its network", MPIError))  # fmt: skip
        sys.stdout.flush()
        os._exit(MPIError.code + 1)

    timer = threading.Timer(seconds + (2 if rank else 0), end)  # rank 0 first, which prints
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def examine(job: Job, seconds: float = 120, told: Callable[[Finding], None] = lambda finding: None) -> list[Finding]:
    """Runs every check. Collective over the job's ranks.

    Parameters
    ----------
    job
        What is examined.
    seconds
        How long one check may take; then the process ends with MPI's exit code.
    told
        Called with each finding as soon as it is there, on every rank.

    Returns
    -------
    list of Finding
        The same on all ranks.
    """
    found: list[Finding] = []
    for check in _CHECKS:
        name = check.__name__.strip("_")
        with _limited(name, seconds, job, told):
            try:
                for finding in check(job):
                    found.append(finding)
                    told(finding)
            except Exception as error:  # on this rank alone, maybe: the others end when their time is up
                found.append(Finding(name, "bad", f"rank {job.rank}: {type(error).__name__}: {error}", "report it"))
                told(found[-1])
    return found
