"""What a client's run says: a row of the table that ./spanfft-dev clients prints."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Result:
    client: str  # the program, and on what it ran: "FFTW mpi-bench, 2 ranks"
    version: str
    run: int
    passed: int
    failed: int
    reasons: list[str] = field(default_factory=list)  # of each failure, and of what was left out
