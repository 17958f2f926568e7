"""Arrays from file to file within a memory budget, beside the disk's own speed and what people use today.

Each process runs in a memory control group where the system lets us make one, so that the page cache cannot hold
what the budget does not allow; dask gets the memory that it needs. There is one yardstick: the least time that fio
takes for the bytes in the same turn, in blocks of 8 MiB with direct I/O and registered memory, reading and writing
at once or one after the other. `limit` is that time for two sweeps of the data, `moved` for the sweeps that
spanfft made.
"""

from __future__ import annotations

from dataclasses import replace

from . import P1_METHODS, Case, Target

GIB = 2**30


def _least(factor: float) -> tuple[Target, Target]:
    text = f"at most {factor}x the disk's own time"
    return (
        Target(f"{text} for two sweeps", "spanfft", "limit", factor),
        Target(f"{text} for the sweeps that were made", "spanfft", "moved", factor),
    )


def _faster(times: float, than: str) -> Target:
    return Target(f"{times:g} times as fast as {than}", "spanfft", than, 1 / times)


_WHOLE = ("spanfft", "memmap-four-step", "memmap-whole")
_ALL = ("spanfft", "memmap-four-step", "pread-panels")
_PEERS = (_faster(10.0, "memmap-four-step"), _faster(1.7, "pread-panels"))


def _one_axis(lg: int, precision: str, part: int) -> Case:
    """c2c of 2^lg points in 1/part of its bytes."""
    elem_bytes = 16 if precision == "double" else 8
    memory_bytes = elem_bytes * 2**lg // part
    # A run of a few seconds with short requests has whatever speed the disk has just then: more turns.
    repeats = 11 if (lg, part) == (27, 16) else 5
    return Case(f"disk-c2c-{lg}-{precision}-{part}", "c2c", (2**lg,), 1, _ALL, (2**21,), repeats=repeats,
                precision=precision, memory_bytes=memory_bytes, targets=(*_least(1.15), *_PEERS))  # fmt: skip


def _ranks(kind: str, lg: int, part: int) -> Case:
    """Two ranks with half of the memory each, against one process with two threads: 2^lg floats or complex floats.

    One turn's ratio of a command to itself is 0.72 to 1.19: so many turns, and that ratio is measured beside the other.
    """
    elem_bytes = 8 if kind == "c2c" else 4
    return Case(f"disk-ranks-{kind}-{lg}-float-{part}", kind, (2**lg,), 1,
                ("spanfft", "spanfft-ranks", "spanfft-again"), (2**22,), repeats=11, precision="float",
                memory_bytes=elem_bytes * 2**lg // part,
                targets=(Target("2 ranks with half of the memory each, at most 1.05 of one process with 2 threads",
                                "spanfft-ranks", "spanfft", 1.05),))  # fmt: skip


# The planner's own choice on two ranks, which sweeps the disk twice, against each of P1's four methods.
_P1_METHODS = tuple(f"spanfft-ranks-{method}" for method in P1_METHODS)
_METHODS = Case("disk-ranks-methods", "c2c", (2**27,), 1, ("spanfft", "spanfft-ranks", *_P1_METHODS), (2**22,),
                repeats=5, precision="float", memory_bytes=2**28,
                targets=(Target("2 ranks, 2.5 times as fast as the best of Cormen and Nicol's four methods",
                                "spanfft-ranks", _P1_METHODS, 1 / 2.5),))  # fmt: skip

_SQUARE = Case("disk-c2c-16384x16384", "c2c", (16384, 16384), 1, ("spanfft", "pread-panels", "memmap-panels"),
               (2048, 2048), repeats=5, precision="float", memory_bytes=GIB // 2,
               targets=(*_least(1.15), _faster(10.0, "memmap-panels"), _faster(1.7, "pread-panels")))  # fmt: skip

CASES = [
    Case("disk-c2c-1d", "c2c", (2**27,), 1, _WHOLE, (2**21,), repeats=5, memory_bytes=GIB // 2,
         targets=_least(1.3)),
    *(_one_axis(lg, precision, part) for lg in (27, 29) for precision in ("float", "double") for part in (4, 16)),
    # Apart, because it takes so long that it has memory of its own.
    replace(_one_axis(27, "float", 4), name="disk-c2c-27-float-4-ooc", peers=("spanfft", "out-of-core-fft"),
            targets=(_faster(5.0, "out-of-core-fft"),)),
    *(Case(f"disk-r2c-{lg}-float", "r2c", (2**lg,), 1, ("spanfft", "presto"), (2**22,), repeats=5, precision="float",
           memory_bytes=2**lg, targets=(*_least(1.15), _faster(4.0, "presto"))) for lg in (27, 29)),
    # PRESTO has 1 GiB in each of these, which holds these reals twice.
    Case("disk-r2c-27-float-1gib", "r2c", (2**27,), 1, ("spanfft", "presto"), (2**22,), repeats=5, precision="float",
         memory_bytes=GIB, targets=(_faster(2.5, "presto"),)),
    *(_ranks(kind, lg, part) for kind, lg in (("c2c", 27), ("r2c", 29)) for part in (4, 16)),
    _METHODS,
    _SQUARE,
    replace(_SQUARE, name="disk-c2c-16384x16384-1gib", memory_bytes=GIB, targets=(_faster(2.0, "dask"),),
            peers=("spanfft", "dask")),
    replace(_SQUARE, name="disk-r2c-16384x16384", kind="r2c", memory_bytes=GIB // 4),
    Case("disk-r2c-1024-float", "r2c", (1024, 1024, 1024), 1, ("spanfft", "pread-panels", "memmap-panels", "dask"),
         (128, 128, 256), repeats=5, precision="float", memory_bytes=GIB, more_for_needy=2,  # in 8 GiB dask is killed
         targets=(*_least(1.15), _faster(2.0, "dask"))),
]  # fmt: skip
