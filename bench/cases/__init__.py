"""What is measured: a case is a problem, where it runs, and the peers that run it in turns.

A case names its peers; `peers.PEERS` says how each is driven. All of a case's peers are prepared in one launch and
then timed A B C A B C ..., so that whatever disturbs the machine disturbs all of them. The small form of a case
has the same ranks, peers and steps on an array of a few MiB: it shows that everything runs, not how fast.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

MIN_REPEATS = 5
# P1's four methods for several processors; spanfft has underscores in their names.
P1_METHODS = ("stripe-major-comm", "memoryload-major-comm", "processor-major-nocomm", "memoryload-major-nocomm")
# heFFTe's four modes of exchange: a statement against heFFTe is one against the best of them.
HEFFTE = ("heffte-mkl-alltoall", "heffte-mkl-alltoallv", "heffte-mkl-p2p", "heffte-mkl-p2p-plined")


@dataclass(frozen=True)
class Target:
    """A statement that the case decides: `peer` takes at most `factor` times as long as `against`."""

    text: str
    peer: str
    against: str | tuple[str, ...]  # a peer, "limit", "moved", or peers: all must be there, and the best one counts
    factor: float
    of_case: str = ""  # `against` was timed in that case: medians are compared, not turns

    @property
    def rivals(self) -> tuple[str, ...]:
        return (self.against,) if isinstance(self.against, str) else self.against


@dataclass(frozen=True)
class Case:
    name: str
    kind: str  # c2c or r2c
    shape: tuple[int, ...]  # in real space
    ranks: int
    peers: tuple[str, ...]
    small_shape: tuple[int, ...]
    repeats: int = 7
    plan_limit_seconds: float = 300.0  # for each of FFTW's plans
    memory_bytes: int = 0  # > 0: the array is in a file, and this is what a process may use
    more_for_needy: int = 1  # peers that get more memory than the case's get so many times as much again
    precision: str = "double"  # or float, for files
    grid: tuple[int, ...] = ()  # how real space is divided; (): slabs along axis 0, or the planner's choice
    targets: tuple[Target, ...] = ()
    is_small: bool = False

    @property
    def problem(self) -> str:
        """The problem string that spanfft's command line and tests take too."""
        words = [self.kind, "x".join(map(str, self.shape)), f"forward {self.precision}"]
        if self.ranks > 1:
            words.append(f"ranks={self.ranks}")
        if self.grid:
            words.append("grid=" + "x".join(map(str, self.grid)))
        if self.memory_bytes:
            words.append(f"memory={self.memory_bytes // 2**20}MiB")
        return " ".join(words)

    @property
    def on_disk(self) -> bool:
        return self.memory_bytes > 0

    @property
    def real_dtype(self) -> str:
        """Of the elements in real space."""
        real, complex_ = ("float64", "complex128") if self.precision == "double" else ("float32", "complex64")
        return real if self.kind == "r2c" else complex_

    @property
    def real_bytes(self) -> int:
        return 8 if self.precision == "double" else 4

    @property
    def spectrum_shape(self) -> tuple[int, ...]:
        return (*self.shape[:-1], self.shape[-1] // 2 + 1) if self.kind == "r2c" else self.shape

    @property
    def input_bytes(self) -> int:
        return math.prod(self.shape) * self.real_bytes * (1 if self.kind == "r2c" else 2)

    @property
    def output_bytes(self) -> int:
        return math.prod(self.spectrum_shape) * 2 * self.real_bytes

    def small(self) -> Case:
        ratio = math.prod(self.shape) // math.prod(self.small_shape)
        memory = max(self.memory_bytes // ratio, 2**20) if self.memory_bytes else 0
        return replace(
            self, shape=self.small_shape, memory_bytes=memory, plan_limit_seconds=5, repeats=MIN_REPEATS, is_small=True
        )


def all_cases() -> dict[str, Case]:
    from . import calls, disk, grids, lines, one_axis

    return {case.name: case for module in (grids, one_axis, lines, calls, disk) for case in module.CASES}


def suites() -> dict[str, tuple[str, ...]]:
    """Cases that one command takes. `node`: what is promised of arrays in memory on one node, of lines and of grids;
    `node-dtfft`: the same against dtFFT, which runs under Debian's MPICH only."""
    from . import calls, disk, grids, lines, one_axis

    node = [case.name for module in (one_axis, lines, grids) for case in module.CASES]
    return {
        "node": tuple(name for name in node if not name.endswith("-dtfft")),
        "node-dtfft": tuple(name for name in node if name.endswith("-dtfft")),
        "calls": tuple(case.name for case in calls.CASES),
        "disk": tuple(case.name for case in disk.CASES),
    }
