"""Times the cases whose array is in a file: every peer is a command of its own, in turns with the disk's limits.

A turn is spanfft, then fio, then the other peers. `Session` takes the turns, `Group` is the memory that a command may
use, `run_command` times one.
Each run begins cold: the output of the run before is deleted, what is dirty is written, and the input's pages are
dropped from the page cache. Its time is that of the whole command, with Python's start, plus fsync of the output, so
nothing hides in the page cache. Commands run in a memory control group with the budget and SLACK_BYTES for the
program itself (libraries, Python); page cache counts there too. Where no group can be made the row says so.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import pickle
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import limits
import machine
import numpy as np
import numpy.typing as npt
from cases import Case
from file_peers import FILE_PEERS, Files, Place, Values
from peers import Absent

SLACK_BYTES = 160 << 20
_CHUNK = 1 << 20  # elements
_LIMIT_BYTES = 1 << 30  # the disk's speeds are those of files of at most so many
_CAP_FACTOR, _CAP_LEAST_SECONDS = 10, 120  # a peer may take so many times spanfft's time, where no target says more
_CAP_MARGIN = 1.5  # a target against a peer is decided beyond its own factor; later turns of spanfft may be slower
_CAP_FIRST_SECONDS = 3600.0  # of spanfft's own first run
# Of limits.disk_speeds, in rows: which of the two, and what of it.
_SPEEDS = {"read": (0, "read"), "write": (0, "write"), "both": (0, "both"), "rewrite": (1, "write"),
           "both_again": (1, "both")}  # fmt: skip
TOLERANCES = {"double": 1e-12, "float": 1e-5}  # relative, of a value of the spectrum
_ENGINES = {"presto": "FFTW", "out-of-core-fft": "numpy", "dask": "numpy"}
_PR_SET_PDEATHSIG, _prctl = 1, ctypes.CDLL(None).prctl


@dataclass(frozen=True)
class Sittings:
    """How much of a case one call does."""

    turns: int | None = None  # None: all that are missing; 0: the input is written, so that turns can begin at once
    cap_seconds: float | None = None  # of each peer's run


class Group:
    """A memory control group, version 1 or 2, for one command at a time; or none."""

    def __init__(self, limit_bytes: int):
        self.limit_bytes, self.why_not = limit_bytes, ""
        self.folder: Path | None = None
        root = Path("/sys/fs/cgroup")
        for parent, name in ((root / "memory", "memory.limit_in_bytes"), (root, "memory.max")):
            folder = parent / f"spanfft-bench-{os.getpid()}"
            try:
                if parent.name == "cgroup" and not (parent / "cgroup.controllers").exists():
                    continue
                folder.mkdir()
                (folder / name).write_text(str(limit_bytes))
                self.folder = folder
                for never, value in (("memory.swappiness", "0"), ("memory.swap.max", "0")):
                    if (folder / never).exists():
                        (folder / never).write_text(value)
                return
            except OSError as error:
                self.why_not = f"no memory control group here ({error.strerror}): page cache was not limited"
                with contextlib.suppress(OSError):
                    folder.rmdir()

    def enter(self) -> None:
        """Called in the child before it runs its command, which is to end with us, however we end."""
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if self.folder is not None:
            (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def reset_peak(self) -> None:
        if self.folder is not None:
            with contextlib.suppress(OSError):
                (self.folder / "memory.force_empty").write_text("0")
            with contextlib.suppress(OSError):
                (self.folder / "memory.max_usage_in_bytes").write_text("0")

    def peak(self) -> int | None:
        for name in ("memory.max_usage_in_bytes", "memory.peak"):
            with contextlib.suppress(OSError, AttributeError, ValueError, TypeError):
                return int((self.folder / name).read_text())  # type: ignore[operator]
        return None

    def faults(self) -> dict[str, int]:
        """The kernel's own counts for all that ran in the group: pgfault, pgmajfault and so on."""
        if self.folder is None:
            return {}
        lines = (line.split() for line in (self.folder / "memory.stat").read_text().splitlines())
        return {name: int(count) for name, count in lines if name in ("pgfault", "pgmajfault", "pgpgin", "pgpgout")}

    def close(self) -> None:
        if self.folder is not None:
            with contextlib.suppress(OSError):
                self.folder.rmdir()


@dataclass
class Input:
    """The file, and exact values of its spectrum at a few places, summed while it was written."""

    path: Path
    places: list[Place]
    values: Values
    size: float  # of a spectrum's value

    def error(self, found: Values) -> float:
        return float(np.abs(found - self.values).max() / self.size)


def _places(shape: tuple[int, ...]) -> list[Place]:
    """The first, the last, and three in between, as indices of a spectrum of `shape`."""
    return sorted({tuple(int(n * part) if part < 1 else n - 1 for n in shape) for part in (0, 1e-9, 1 / 3, 0.77, 1)})


def make_input(path: Path, shape: tuple[int, ...], dtype: str, spectrum_shape: tuple[int, ...]) -> Input:
    """A .npy file of uniform random numbers between -1/2 and 1/2, written and summed in rows of one phase each.

    A row is an index of the first axis, or _CHUNK elements of the only one: exp(-2 pi i k j / n) is a factor of the row
    times a factor within it either way. Products k j stay below 2^63 and are reduced before they become an angle."""
    random = np.random.default_rng(2)
    places = _places(spectrum_shape)
    if len(shape) == 1:
        inner = math.gcd(_CHUNK, shape[0])
        rows, steps, extents = shape[0] // inner, (inner,), (inner,)
        lengths: tuple[int, ...] = (shape[0], shape[0])
        wave_numbers = [(place[0], place[0]) for place in places]
    else:
        rows, steps, extents, lengths = shape[0], (1,), shape[1:], shape
        wave_numbers = [tuple(place) for place in places]

    def factors(k: int, n: int, j: npt.NDArray[np.int64]) -> Values:
        return np.asarray(np.exp(-2j * np.pi / n * (k * j % n)), np.complex128)

    outer = [factors(ks[0], lengths[0], steps[0] * np.arange(rows)) for ks in wave_numbers]
    within: list[Values] = []
    for ks in wave_numbers:
        product: Values = np.ones(1, np.complex128)
        for k, n, extent in zip(ks[1:], lengths[1:], extents, strict=True):
            product = np.multiply.outer(product, factors(k, n, np.arange(extent))).reshape(-1)
        within.append(product)
    matrix, values = np.stack(within, axis=1), np.zeros(len(places), np.complex128)
    real = np.dtype(dtype).kind == "f"
    at_once = max(1, _CHUNK // math.prod(extents))
    with open(path, "wb") as file:
        header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_2_0(file, header)
        for first in range(0, rows, at_once):
            count = min(at_once, rows - first)
            numbers = random.random((count, math.prod(extents) * (1 if real else 2))) - 0.5
            chunk = (numbers if real else numbers.view(np.complex128)).astype(dtype)
            chunk.tofile(file)
            sums = chunk.astype(np.float64 if real else np.complex128) @ matrix
            values += [np.dot(outer[i][first : first + count], sums[:, i]) for i in range(len(places))]
        file.flush()
        os.fsync(file.fileno())
    return Input(path, places, values, math.sqrt(math.prod(shape) / (12 if real else 6)))


def drop(path: Path) -> None:
    """Its pages from the page cache, written first; of every file in a folder."""
    for each in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if not each.is_file():
            continue
        file = os.open(each, os.O_RDONLY)
        try:
            os.fsync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


@dataclass
class Outcome:
    seconds: float | None  # None: it did not end well
    reason: str
    said: dict[str, Any]
    resident_bytes: int
    group_bytes: int | None
    read_bytes: int
    written_bytes: int
    at_least_seconds: float | None = None  # of one that was stopped


def run_command(command: list[str], output: Path, group: Group, cap_seconds: float) -> Outcome:
    group.reset_peak()
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, preexec_fn=group.enter, start_new_session=True)
        timer = signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, cap_seconds)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, timer)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        if code == 0:
            drop(output)  # fsync, in the time
        seconds = time.perf_counter() - start
        out.seek(0)
        err.seek(0)
        text, errors = out.read(), err.read().strip().splitlines()
    reason = ""
    if seconds >= cap_seconds and code == -signal.SIGKILL:
        reason = f"stopped after {cap_seconds:.0f} s"
    elif code == -signal.SIGKILL:
        reason = f"killed for memory after {seconds:.1f} s"
    elif code:
        reason = f"exit code {code} after {seconds:.1f} s: {errors[-1][:200] if errors else 'no message'}"
    said = json.loads(text) if not reason and text.startswith("{") else {}
    block, stopped = 512, reason.startswith("stopped")
    return Outcome(None if reason else seconds, reason, said, usage.ru_maxrss * 1024, group.peak(),
                   usage.ru_inblock * block, usage.ru_oublock * block, seconds if stopped else None)  # fmt: skip


@dataclass(frozen=True)
class Sweep:
    """One of spanfft's: how many bytes it read and wrote, and whether it wrote a new file."""

    read_bytes: int
    written_bytes: int
    fresh: bool


def own_sweeps(said: dict[str, Any], output_bytes: int) -> list[Sweep]:
    """From what spanfft counted in a run. What is written is in new files (scratch and the output, once each) before it
    is in old ones."""
    report = said["ranks"][0]
    sweeps, room = [], report["scratch_bytes"] + output_bytes
    for step in report["steps"]:
        counted = step["counted"]
        read, written = counted["disk_read_bytes"], counted["disk_written_bytes"]
        if step["depth"] or not read + written:
            continue
        sweeps.append(Sweep(read, written, room >= written))
        room -= written
    return sweeps


class Session:
    """The turns of one case, which may be taken in several sittings: what was seen so far stays in its folder.

    `turn` takes one; `found` is what rows are made of, once there are enough. No turn warms up: every run begins cold.
    """

    def __init__(self, case: Case, names: tuple[str, ...], parent: Path, cap_seconds: float | None = None):
        self.case, self.cap_seconds = case, cap_seconds
        self.folder = parent / f"turns-{case.name}{'-small' if case.is_small else ''}"
        # spanfft goes first in each turn, as its times say when the others are stopped.
        names = tuple(sorted(names, key=lambda name: name != "spanfft"))
        self.outcomes: dict[str, list[Outcome]] = {name: [] for name in names}
        self.absent: dict[str, str] = {}
        self.at_least: dict[str, float] = {}
        self.errors: dict[str, float] = {}
        self.speeds: list[tuple[limits.DiskSpeeds, limits.DiskSpeeds]] = []  # a turn
        self.turns = 0
        if not self._restore():
            shutil.rmtree(self.folder, ignore_errors=True)
            need, free = 5 * case.input_bytes, shutil.disk_usage(parent).free if parent.exists() else None
            if free is not None and free < need:
                raise SystemExit(f"{case.name} needs {need / 2**30:.1f} GiB of disk, {free / 2**30:.1f} are free")
            self.folder.mkdir(parents=True)
            self.source = make_input(self.folder / "in.npy", case.shape, case.real_dtype, case.spectrum_shape)
            for name in names:
                try:
                    FILE_PEERS[name].require()
                except Absent as reason:
                    self.absent[name] = str(reason)
            self.keep()

    def _restore(self) -> bool:
        """Whether there was one to go on with. A session of another case, library or list of peers is not."""
        with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
            with open(self.folder / "session.pickle", "rb") as file:
                key, kept = pickle.load(file)
            if key == self._key():
                self.__dict__.update(kept)
                return True
        return False

    def _key(self) -> tuple[Any, ...]:
        return self.case, machine.library_commit(), tuple(self.outcomes), _LIMIT_BYTES

    def keep(self) -> None:
        names = ("outcomes", "absent", "at_least", "errors", "speeds", "turns", "source")
        with open(self.folder / "session.pickle", "wb") as file:
            pickle.dump((self._key(), {name: self.__dict__[name] for name in names}), file)

    def turn(self) -> None:
        """One run of each peer; every other turn backwards, as what runs first has the faster disk on some machines."""
        here = [name for name in self.outcomes if name not in self.absent]
        # Right beside spanfft, which comes first: the speed of a disk that others use too changes by up to two within
        # minutes, which is what another peer may take.
        order: list[str | None] = [*here[:1], None, *here[1:]]
        for name in order if self.turns % 2 == 0 else reversed(order):
            if name is None:
                self._ask_disk()
            elif name not in self.absent:
                self._run(name)
        self.turns += 1
        self.keep()

    def _ask_disk(self) -> None:
        self.speeds.append(limits.disk_speeds(self.folder, min(self.case.input_bytes, _LIMIT_BYTES)))

    def sweeps(self) -> list[Sweep]:
        """spanfft's, as it counted them; none before it has run."""
        done = [outcome.said for outcome in self.outcomes.get("spanfft", []) if outcome.said]
        return own_sweeps(done[0], self.case.output_bytes) if done else []

    def _two_sweeps_seconds(self, speeds: tuple[limits.DiskSpeeds, limits.DiskSpeeds]) -> float:
        """The least for two sweeps, the first of which writes a new file."""
        return sum(speed.seconds(self.case.input_bytes, self.case.input_bytes) for speed in speeds)

    def _moved_seconds(self, speeds: tuple[limits.DiskSpeeds, limits.DiskSpeeds]) -> float:
        """The least for what spanfft's sweeps moved."""
        fresh, again = speeds
        return sum((fresh if s.fresh else again).seconds(s.read_bytes, s.written_bytes) for s in self.sweeps())

    def cap(self, name: str) -> float:
        """Seconds after which a run of this peer is stopped: once the case's target against it is decided.

        One that has ended before that runs to the end from then on, unless it takes much longer."""
        if self.cap_seconds:
            return self.cap_seconds
        if FILE_PEERS[name].to_its_end:
            return _CAP_FIRST_SECONDS
        its = [o.seconds for o in self.outcomes[name] if o.seconds]
        if its:
            return max(_CAP_LEAST_SECONDS, 2 * max(its))
        ours = [o.seconds for o in self.outcomes.get("spanfft", []) if o.seconds]
        if not ours:
            return _CAP_FIRST_SECONDS
        targets = [t for t in self.case.targets if t.peer == "spanfft" and name in t.rivals and not t.of_case]
        if targets and not self.case.is_small:  # small forms show that peers run, and decide nothing
            return _CAP_MARGIN * max(ours) / min(target.factor for target in targets)
        return max(_CAP_LEAST_SECONDS, _CAP_FACTOR * ours[0])

    def _run(self, name: str) -> None:
        peer, folder = FILE_PEERS[name], self.folder
        memory_bytes = peer.memory_bytes(self.case)
        files = Files(peer.convert(self.source.path, folder), folder / peer.target, folder / "middle.bin", memory_bytes)
        drop(files.source)
        drop(self.source.path)
        group = Group(memory_bytes + peer.processes * SLACK_BYTES)
        outcome = run_command(peer.command(files), files.target, group, self.cap(name))
        group.close()
        if outcome.seconds is not None and name not in self.errors:
            self.errors[name] = error = self.source.error(peer.values(files.target, self.source.places))
            if not error < TOLERANCES[self.case.precision]:
                outcome.reason = f"wrong result: relative error {error:.2g}"
        for path in (files.target, files.scratch, *([files.source] if peer.used_up else [])):
            remove(path)
        self.outcomes[name].append(outcome)
        stops = [o.at_least_seconds for o in self.outcomes[name] if o.at_least_seconds]
        if outcome.reason and (len(stops) != 1 or not outcome.at_least_seconds):  # once may be an accident
            self.absent[name] = outcome.reason
            if stops:
                self.at_least[name] = min(stops)
        took = outcome.reason or f"{outcome.seconds:.2f} s"
        print(f"   turn {self.turns}: {name}: {took}", file=sys.stderr, flush=True)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def found(self) -> dict[str, Any]:
        """Rows' raw material, in the shape of worker.py's, with the disk's speeds in each turn."""
        peers = {name: self._peer(name, done) for name, done in self.outcomes.items() if name not in self.absent}
        return {
            "peers": peers,
            "absent": self.absent,
            "at_least": self.at_least,
            "limit": f"two sweeps of the data by fio ({self.speeds[0][0].engine})",
            "limit_seconds": [self._two_sweeps_seconds(turn) for turn in self.speeds],
            "moved_seconds": [self._moved_seconds(turn) for turn in self.speeds],
            "disk": {name: [getattr(turn[i], of) for turn in self.speeds] for name, (i, of) in _SPEEDS.items()},
            "page_bytes": resource.getpagesize(),
        }

    def _peer(self, name: str, done: list[Outcome]) -> dict[str, Any]:
        peer, said = FILE_PEERS[name], done[-1].said
        report = (said.get("ranks") or [{}])[0]
        limit_bytes = peer.memory_bytes(self.case) + peer.processes * SLACK_BYTES
        group = Group(limit_bytes)  # to know whether there was one
        group.close()
        limit = f"memory control group of {limit_bytes >> 20} MiB, page cache included"
        return {
            "seconds": [o.seconds or o.at_least_seconds for o in done],
            "inside_seconds": [o.said.get("seconds") for o in done],
            "engine": report.get("engines", _ENGINES.get(name, "pocketfft")),
            "effort": "estimate" if name.startswith("spanfft") or name == "presto" else "its only one",
            "threads": peer.threads or len(os.sched_getaffinity(0)),
            "ranks": peer.processes,
            "layout": "natural",
            "forward_error": self.errors[name],
            "notes": [group.why_not or limit, "cold: input dropped from the page cache; output fsynced in the time",
                      *peer.notes],
            "versions": _spanfft_versions() if name.startswith("spanfft") else peer.versions(),
            "memory_bytes": peer.memory_bytes(self.case),
            "resident_bytes": max(o.resident_bytes for o in done),
            "group_peak_bytes": max((o.group_bytes or 0 for o in done), default=0) or None,
            "read_bytes": statistics.median(o.read_bytes for o in done),
            "written_bytes": statistics.median(o.written_bytes for o in done),
            **{key: report[key] for key in ("solver", "sweeps", "peak_memory_bytes", "scratch_bytes") if key in report},
            "planned_problem": report.get("problem"),
            **{key: {"forward": report[key]} for key in ("predicted", "counted") if key in report},
        }  # fmt: skip


def _spanfft_versions() -> dict[str, str]:
    from peers.spanfft_plan import describe

    return describe()


def measure(case: Case, repeats: int, names: tuple[str, ...], parent: Path, options: Sittings) -> dict[str, Any] | None:
    """What rows are made of; None while turns are missing."""
    session = Session(case, names, parent, options.cap_seconds)
    wanted = repeats - session.turns
    for _ in range(wanted if options.turns is None else min(wanted, options.turns)):
        session.turn()
    if session.turns < repeats:
        print(f"   {session.turns} of {repeats} turns are taken", file=sys.stderr)
        return None
    found = session.found()
    session.close()
    return found
