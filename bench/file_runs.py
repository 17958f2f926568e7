"""Times the cases whose array is in a file: every peer is a command of its own, in turns with the disk's limits.

Each run begins cold: the output of the run before is deleted, what is dirty is written, and the input's pages are
dropped from the page cache. Its time is that of the whole command, with Python's start, plus fsync of the output, so
nothing hides in the page cache. Commands run in a memory control group with the budget and SLACK_BYTES for the
program itself (libraries, Python); page cache counts there too. Where no group can be made the row says so.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import limits
import numpy as np
from cases import Case

HERE = Path(__file__).resolve().parent
SLACK_BYTES = 160 << 20
_CHUNK = 1 << 20  # elements
_CAP_FACTOR, _CAP_LEAST_SECONDS = 10, 120  # a peer may take so many times spanfft's time


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
                return
            except OSError as error:
                self.why_not = f"no memory control group here ({error.strerror}): page cache was not limited"
                with contextlib.suppress(OSError):
                    folder.rmdir()

    def enter(self) -> None:
        """Called in the child before it runs its command."""
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

    def close(self) -> None:
        if self.folder is not None:
            with contextlib.suppress(OSError):
                self.folder.rmdir()


@dataclass
class Input:
    """The file, and exact values of its spectrum at a few places, summed while it was written."""

    path: Path
    places: list[int]
    values: list[complex]
    size: float

    def error(self, output: Path) -> float:
        found = np.load(output, mmap_mode="r")[self.places]
        return float(np.abs(found - np.array(self.values)).max() / self.size)


def make_input(path: Path, n: int) -> Input:
    random = np.random.default_rng(2)
    places = sorted({0, 1, n // 3, n - 1})
    values = [0j] * len(places)
    # exp(-2 pi i k j / n) for j in a chunk; k j stays below 2^63 and is reduced before it becomes an angle.
    phases = [np.exp(-2j * np.pi / n * (k * np.arange(min(_CHUNK, n)) % n)) for k in places]
    with open(path, "wb") as file:
        np.lib.format.write_array_header_2_0(file, {"descr": "<c16", "fortran_order": False, "shape": (n,)})
        for first in range(0, n, _CHUNK):
            chunk = random.random(2 * min(_CHUNK, n - first)).view(np.complex128) - (0.5 + 0.5j)
            for i, k in enumerate(places):
                turned = np.exp(-2j * np.pi / n * (k * first % n))
                values[i] += complex(turned * np.dot(chunk, phases[i][: chunk.size]))
            chunk.tofile(file)
        file.flush()
        os.fsync(file.fileno())
    return Input(path, places, values, math.sqrt(n / 6))


def drop(path: Path) -> None:
    """Its pages from the page cache."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)


@dataclass
class Outcome:
    seconds: float | None  # None: it did not end well
    reason: str
    said: dict[str, Any]
    resident_bytes: int
    group_bytes: int | None
    read_bytes: int
    written_bytes: int


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
    block = 512
    return Outcome(None if reason else seconds, reason, said, usage.ru_maxrss * 1024, group.peak(),
                   usage.ru_inblock * block, usage.ru_oublock * block)  # fmt: skip


def command_of(name: str, case: Case, source: Path, target: Path, scratch: Path) -> list[str]:
    if name == "spanfft":
        memory = f"{case.memory_bytes >> 20}MiB"
        return [sys.executable, "-m", "spanfft", "transform", str(source), str(target), "--memory", memory, "--json"]
    script = HERE / "peers" / f"{name.replace('-', '_')}.py"
    return [sys.executable, str(script), str(source), str(target), str(scratch), str(case.memory_bytes)]


def versions_of(name: str) -> dict[str, str]:
    import importlib.metadata as metadata

    if name == "spanfft":
        from peers.spanfft_plan import describe

        return describe()
    return {package: metadata.version(package) for package in ("numpy", "scipy")}


@contextlib.contextmanager
def work_folder(parent: Path, need_bytes: int) -> Iterator[Path]:
    parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(parent).free
    if free < need_bytes:
        raise SystemExit(f"the disk case needs {need_bytes / 2**30:.1f} GiB, {free / 2**30:.1f} are free")
    folder = Path(tempfile.mkdtemp(dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(case: Case, repeats: int, names: tuple[str, ...], parent: Path) -> dict[str, Any]:
    """Rows' raw material, in the shape of worker.py's, with the disk's speeds in each turn."""
    group = Group(case.memory_bytes + SLACK_BYTES)
    outcomes: dict[str, list[Outcome]] = {name: [] for name in names}
    absent: dict[str, str] = {}
    speeds: list[limits.DiskSpeeds] = []
    errors: dict[str, float] = {}
    with work_folder(parent, 5 * case.input_bytes) as folder:
        source = make_input(folder / "in.npy", math.prod(case.shape))
        target, scratch = folder / "out.npy", folder / "middle.bin"
        limits.disk_speeds(folder, case.input_bytes)  # warms up, like the first run of each peer
        for turn in range(repeats + 1):
            speeds += [limits.disk_speeds(folder, case.input_bytes)] if turn else []
            for name in names:
                if name in absent:
                    continue
                drop(source.path)
                best = [o.seconds for o in outcomes.get("spanfft", []) if o.seconds]
                cap = max(_CAP_LEAST_SECONDS, _CAP_FACTOR * best[0]) if best else 3600.0
                command = command_of(name, case, source.path, target, scratch)
                outcome = run_command(command, target, group, cap)
                if outcome.seconds is not None and name not in errors:
                    errors[name] = source.error(target)
                    if not errors[name] < 1e-12:
                        outcome.reason = f"wrong result: relative error {errors[name]:.2g}"
                target.unlink(missing_ok=True)
                scratch.unlink(missing_ok=True)
                if outcome.reason:
                    absent[name] = outcome.reason
                elif turn:
                    outcomes[name].append(outcome)
                took = outcome.reason or f"{outcome.seconds:.2f} s"
                print(f"   turn {turn}: {name}: {took}", file=sys.stderr, flush=True)
    group.close()
    limit = f"memory control group of {group.limit_bytes >> 20} MiB, page cache included"
    notes = [group.why_not or limit, "cold: input dropped from the page cache; output fsynced in the time"]
    peers = {}
    for name, done in outcomes.items():
        if name in absent:
            continue
        said = done[-1].said
        report = (said.get("ranks") or [{}])[0]
        peers[name] = {
            "seconds": [o.seconds for o in done],
            "inside_seconds": [o.said.get("seconds") for o in done],
            "engine": report.get("engines", "pocketfft"),
            "effort": "estimate" if name == "spanfft" else "scipy's only one",
            "threads": len(os.sched_getaffinity(0)),
            "ranks": 1,
            "layout": "natural",
            "forward_error": errors[name],
            "notes": notes,
            "versions": versions_of(name),
            "resident_bytes": max(o.resident_bytes for o in done),
            "group_peak_bytes": max((o.group_bytes or 0 for o in done), default=0) or None,
            "read_bytes": statistics.median(o.read_bytes for o in done),
            "written_bytes": statistics.median(o.written_bytes for o in done),
            **{key: report[key] for key in ("solver", "sweeps", "peak_memory_bytes", "scratch_bytes") if key in report},
            "planned_problem": report.get("problem"),
            **{key: {"forward": report[key]} for key in ("predicted", "counted") if key in report},
        }
    return {
        "peers": peers,
        "absent": absent,
        "limit_seconds": [speed.two_sweeps_seconds(case.input_bytes) for speed in speeds],
        "disk": {name: [getattr(speed, name) for speed in speeds] for name in ("read", "write", "both")},
        "page_bytes": resource.getpagesize(),
    }
