"""What checks yield, and what they look at. See __init__.py."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from .._errors import Error, InternalError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpi4py.MPI import Comm

__all__ = ["STATES", "Finding", "Job", "sentence"]

STATES = ("ok", "skipped", "warning", "bad")  # from the best to the worst


@dataclass
class Finding:
    """One line of the report. `remedy` is a sentence, empty if all is well; `fault` is the class of who is at fault."""

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

    def first(self, trouble: str) -> str:
        """The sentence of the lowest rank that has one, with its number; "" if none has. Collective."""
        return next((f"rank {rank}: {text}" for rank, text in enumerate(self.everywhere(trouble)) if text), "")

    def difference(self, text: str) -> str:
        """What rank 0 and the lowest rank that differs say; "" if all say the same. Collective."""
        every = self.everywhere(text)
        other = next((rank for rank, said in enumerate(every) if said != every[0]), 0)
        return f"rank 0 has {every[0]}, rank {other} has {every[other]}" if other else ""


def sentence(call: Callable[[], object]) -> str:
    """What it fails with, or nothing."""
    try:
        call()
    except Error as error:
        return str(error)
    return ""
