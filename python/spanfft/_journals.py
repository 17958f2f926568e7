"""What runs of files that keep a journal share: its mode, and what is known of a run that was left unfinished."""

from __future__ import annotations

from ._errors import InvalidArgument
from ._native import core

__all__ = ["as_unfinished", "goes_on", "journal_mode"]

_OFF, _AUTO, _RESUME, _RESTART = 0, 1, 2, 3  # of the C interface


def journal_mode(journal: bool, resume: bool | None) -> int:
    """As the C interface has it."""
    if resume and not journal:
        raise InvalidArgument("resume=True goes on where a journal ends, so it needs journal=True")
    if not journal:
        return _OFF
    return _AUTO if resume is None else _RESUME if resume else _RESTART


def goes_on(mode: int) -> bool:
    """Whether an unfinished run is one to go on with."""
    return mode in (_AUTO, _RESUME)


def as_unfinished(
    source: str, offset_bytes: int, target: str, folders: list[str], threads: int
) -> tuple[int | None, int]:
    """Memory and threads of an unfinished run between these files, whose plan is the only one to go on with."""
    problem = core.unfinished_run(source, offset_bytes, target, folders)
    words = dict(word.split("=", 1) for word in problem.split() if "=" in word)
    memory = int(words["memory"]) if "memory" in words else None
    return memory, threads or int(words.get("threads", 0))
