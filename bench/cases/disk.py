"""2^27 complex numbers (2 GiB) from file to file with 512 MiB of memory.

Each process runs in a memory control group where the system lets us make one, so that the page cache cannot hold
what the budget does not allow. The limit is the time in which this disk reads the data twice and writes it twice
at the bandwidth measured, in the same turns, with direct I/O in blocks of 8 MiB.
"""

from __future__ import annotations

from . import Case, Target

_TWO_SWEEPS = Target(
    "at most 1.3x the time that the disk's measured bandwidth allows for two sweeps", "spanfft", "limit", 1.3
)

CASES = [
    Case(
        "disk-c2c-1d",
        "c2c",
        (2**27,),
        1,
        ("spanfft", "memmap-four-step", "memmap-whole"),
        (2**21,),
        repeats=5,
        memory_bytes=2**29,
        targets=(_TWO_SWEEPS,),
    )
]
