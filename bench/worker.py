"""What mpiexec runs: prepares every peer of one case, times them in turns, and writes what it saw as JSON.

Method: in each turn each peer gets the same input anew (not timed), then forward and backward are timed, each between
two barriers, as the largest time of any rank. A local peer runs on rank 0 while the other ranks sleep instead of
waiting in a barrier, which would take a core from it. The first turn warms up and is dropped. In each turn the memory
limit is measured too. Before the turns each peer's spectrum and round trip are compared with exact values.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import limits
from cases import Case, all_cases
from peers import PEERS, Absent, Array, Pool, Run, World, block, cores, preload

_TILE = 1 << 16
_TOLERANCE = 1e-12
# OpenMP's threads (MKL's) go on spinning for 200 ms after their work and would take a core from whoever is next.
_REST_SECONDS = 0.25


class Input:
    """A known array: `_TILE` random numbers, repeated, or one for each point of a long odd axis."""

    def __init__(self, case: Case):
        self.case = case
        n = case.shape[-1]
        self.period = min(_TILE // n, math.prod(case.shape[:-1])) * n if n <= _TILE else _TILE if n % _TILE == 0 else n
        random = np.random.default_rng(1)
        self.tile: Array = random.standard_normal(self.period)
        if case.kind == "c2c":
            self.tile = self.tile + 1j * random.standard_normal(self.period)
        total = math.prod(case.shape)
        if total % self.period or (n % self.period and self.period % n):
            raise ValueError(f"{case.name}: shape {case.shape} does not fit the test input")
        # exp(-2 pi i k j / n) along the last axis, other wave numbers 0.
        self.wave_number = max(1, n // self.period)
        phase = np.exp(-2j * np.pi * ((self.wave_number * np.arange(self.period)) % n) / n)
        self.value = complex(total // self.period * np.dot(self.tile, phase))
        self.size = math.sqrt(total)  # of a spectrum's value, for its relative error

    def fill(self, part: Array, start: tuple[int, ...]) -> None:
        """Writes this rank's block; axes but the first two are whole."""
        if part.size == 0:
            return
        inner = [math.prod(self.case.shape[axis + 1 :]) for axis in range(len(self.case.shape))]
        if part.ndim > 1 and part.shape[1] != self.case.shape[1] and part.ndim > 2:  # pencils: slab by slab
            for i, slab in enumerate(part):
                self._fill_piece(slab, (start[0] + i) * inner[0] + start[1] * inner[1])
        else:
            self._fill_piece(part, start[0] * inner[0])

    def _fill_piece(self, part: Array, first: int) -> None:
        """What follows one another in the global array too, from element `first` on."""
        n, offset = self.case.shape[-1], first % self.period
        if part.ndim == 1:
            for begin in range(0, part.size, self.period):
                part[begin : begin + self.period] = np.roll(self.tile, -offset)[: part.size - begin]
            return
        rows = part.reshape(-1, n) if part.flags.c_contiguous else part
        if rows.ndim > 2:  # padded rows: merging the leading axes is a view still
            rows = np.lib.stride_tricks.as_strided(
                part, (math.prod(part.shape[:-1]), n), (part.strides[-2], part.strides[-1])
            )
        tile = np.roll(self.tile, -offset).reshape(-1, n)
        for row in range(0, rows.shape[0], len(tile)):
            rows[row : row + len(tile)] = tile[: rows.shape[0] - row]

    def error(self, run: Run, all_sum: Callable[[complex], complex]) -> tuple[float, float]:
        """Relative errors of a value of the spectrum and of this rank's round trip, after forward; runs backward."""
        spectrum, found = run.spectrum(), 0j
        where = (*(0,) * (len(self.case.shape) - 1), self.wave_number)
        steps = run.spectrum_step or (1,) * len(where)
        place = [divmod(i - s, step) for i, s, step in zip(where, run.spectrum_start, steps, strict=True)]
        if all(0 <= i < n and rest == 0 for (i, rest), n in zip(place, spectrum.shape, strict=True)):
            found = complex(spectrum[tuple(i for i, _ in place)])
        forward = abs(all_sum(found) / run.forward_scale - self.value) / self.size
        run.backward()
        result = run.result()
        if result.size == 0:
            return forward, 0.0
        sample = (slice(None, None, max(1, result.shape[0] // 7)), *[slice(None)] * (result.ndim - 1))
        index: Array = np.zeros((), np.int64)
        for axis, (start, n) in enumerate(zip(run.input_start, result.shape, strict=True)):
            along = (start + np.arange(n))[sample[axis]] * math.prod(self.case.shape[axis + 1 :])
            index = np.add.outer(index, along)
        wanted = self.tile[index % self.period]
        return forward, float(np.abs(result[sample] / run.pair_scale - wanted).max())


class Runner:
    """The peers of one case on these ranks."""

    def __init__(self, case: Case, world: World):
        self.case, self.world, self.input = case, world, Input(case)
        self.runs: dict[str, Run | None] = {}  # None: a local peer, on other ranks than 0
        self.absent: dict[str, str] = {}
        self.checks: dict[str, dict[str, float]] = {}

    def all_max(self, value: float) -> float:
        from mpi4py import MPI

        return value if self.world.comm is None else float(self.world.comm.allreduce(value, MPI.MAX))

    def sleep_together(self) -> None:
        """A barrier in which a waiting rank leaves its core to others."""
        if self.world.comm is not None:
            request = self.world.comm.Ibarrier()
            while not request.Test():
                time.sleep(0.001)

    def barrier(self) -> None:
        if self.world.comm is not None:
            self.world.comm.Barrier()

    def is_local(self, name: str) -> bool:
        return PEERS[name].scope == "local" and self.world.size > 1

    def prepare(self, name: str) -> None:
        """On all ranks together; one rank's reason for absence is everybody's."""
        peer, reason = PEERS[name], ""
        run: Run | None = None
        if not self.is_local(name) or self.world.rank == 0:
            try:
                run = peer.load().prepare(self.case, self.world, peer.options)
            except Absent as error:
                reason = str(error)
            except Exception as error:  # a peer's own failure is a row too, not the end of the others
                reason = f"{type(error).__name__}: {error}"
        self.sleep_together()
        if self.world.comm is not None:
            reasons = self.world.comm.allgather(reason)
            reason = next(filter(None, reasons), "")
        if reason:
            self.absent[name] = reason
        else:
            self.runs[name] = run

    def check(self, name: str) -> None:
        run, local = self.runs[name], self.is_local(name)
        errors = (0.0, 0.0)
        if run is not None:
            self.input.fill(run.input, run.input_start)
            run.forward()
            one = local or self.world.comm is None
            errors = self.input.error(run, (lambda value: value) if one else self.world.comm.allreduce)
        self.sleep_together()
        forward, pair = map(self.all_max, errors)
        self.checks[name] = {"forward_error": forward, "round_trip_error": pair}
        if not max(forward, pair) < _TOLERANCE * math.log2(math.prod(self.case.shape)):
            self.absent[name] = f"wrong result: relative errors {forward:.2g} forward, {pair:.2g} of the round trip"
            del self.runs[name]

    def timed(self, call: Callable[[], object], local: bool) -> float:
        if local:
            start = time.perf_counter()
            call()
            return time.perf_counter() - start
        self.barrier()
        start = time.perf_counter()
        call()
        self.barrier()
        return self.all_max(time.perf_counter() - start)

    def turn(self, name: str) -> tuple[float, float]:
        run, local = self.runs[name], self.is_local(name)
        times = (0.0, 0.0)
        time.sleep(0.0 if self.case.is_small else _REST_SECONDS)
        if run is not None:
            self.input.fill(run.input, run.input_start)
        if local:
            self.sleep_together()  # rank 0 arrives, so the others are asleep or about to be
        if run is not None:
            times = self.timed(run.forward, local), self.timed(run.backward, local)
        if local:
            self.sleep_together()
            times = self.world.comm.bcast(times)
        return times

    def copy_seconds(self) -> float:
        """Of one array: the mean of what goes in and what comes out."""
        rank_bytes = (self.case.input_bytes + self.case.output_bytes) / 2 / self.world.size
        a, b = (self.world.pool.take(name, (int(rank_bytes),), "uint8") for name in ("part_a", "part_b"))
        threads = self.world.cores if self.world.size == 1 else 1
        return self.timed(lambda: limits.copy(a, b, threads), False)


def reserve(case: Case, world: World, names: tuple[str, ...]) -> None:
    """part_*: this rank's share, with room for FFTW-MPI's padding. whole_*: all of it, where local peers run."""
    share = 16 * math.prod(block(case, world, case.spectrum_shape)[1]) + (1 << 20)
    share = max(share, case.output_bytes // world.size + case.output_bytes // case.shape[0] + (1 << 20))
    alone = world.size == 1
    for letter in "ab":
        world.pool.reserve(f"part_{letter}", share)
        if alone:
            world.pool.alias(f"whole_{letter}", f"part_{letter}")
        elif world.rank == 0 and any(PEERS[name].scope == "local" for name in names):
            world.pool.reserve(f"whole_{letter}", max(case.input_bytes, case.output_bytes))


def communicator() -> Any:
    """COMM_WORLD under mpiexec, else None."""
    if not any(name in os.environ for name in ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")):
        return None
    from mpi4py import MPI

    return MPI.COMM_WORLD


def main() -> int:
    parser = argparse.ArgumentParser(description="times one case; bench/run.py starts it")
    parser.add_argument("case")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--peer", action="append")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    case = all_cases()[options.case]
    case = case.small() if options.small else case
    repeats, names = options.repeats or case.repeats, tuple(options.peer or case.peers)
    comm = communicator()
    world = World(comm, comm.Get_rank() if comm else 0, comm.Get_size() if comm else 1, cores(), Pool())
    if world.size != case.ranks:
        raise SystemExit(f"{case.name} needs {case.ranks} ranks, but there are {world.size}")

    def say(text: str) -> None:
        if world.rank == 0:
            print(f"   {text}", file=sys.stderr, flush=True)

    preload(names)
    reserve(case, world, names)
    runner = Runner(case, world)
    for name in names:
        start = time.perf_counter()
        runner.prepare(name)
        if name in runner.runs:
            runner.check(name)
        say(f"{name:<24} {runner.absent.get(name) or f'planned in {time.perf_counter() - start:.1f} s'}")
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in runner.runs}
    copies: list[float] = []
    for turn in range(repeats + 1):
        copied = runner.copy_seconds()
        times = {name: runner.turn(name) for name in runner.runs}
        if turn:
            copies.append(copied)
            for name, pair in times.items():
                seconds[name].append(pair)
        say(f"turn {turn}: " + ", ".join(f"{name} {sum(pair):.4g}" for name, pair in times.items()))
    if world.rank == 0:
        peers = {}
        for name, run in runner.runs.items():
            assert run is not None
            peers[name] = {
                "forward_seconds": [pair[0] for pair in seconds[name]],
                "backward_seconds": [pair[1] for pair in seconds[name]],
                "engine": run.engine,
                "effort": run.effort,
                "threads": run.threads,
                "ranks": 1 if runner.is_local(name) else world.size,
                "layout": run.layout,
                "planning_seconds": run.planning_seconds,
                "plan_limit_seconds": run.plan_limit_seconds,
                "starved": run.starved,
                "notes": run.notes,
                "versions": run.versions,
                **runner.checks[name],
                **run.details(),
            }
        found = {"peers": peers, "absent": runner.absent, "copy_seconds": copies}
        options.output.write_text(json.dumps(found))
    for run in runner.runs.values():
        if run is not None and run.close is not None:
            run.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
