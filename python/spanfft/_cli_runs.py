"""What the commands share that run over files: the options of a journal, and the progress bar."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

__all__ = ["Bar", "add_journal_options", "left_behind", "progress_bar"]


def add_journal_options(parser: argparse.ArgumentParser) -> None:
    """--resume, --restart, --no-journal and --no-checksums."""
    journal = parser.add_mutually_exclusive_group()
    journal.add_argument("--resume", action="store_const", const=True, default=None, help="go on with the unfinished "
                         "run between these files; without it, do so if there is one")  # fmt: skip
    journal.add_argument("--restart", action="store_const", const=False, dest="resume",
                         help="throw an unfinished run away and begin anew")  # fmt: skip
    journal.add_argument("--no-journal", action="store_false", dest="journal",
                         help="a run that is killed can't go on, and leaves nothing")  # fmt: skip
    parser.add_argument("--no-checksums", action="store_false", dest="checksums",
                        help="don't verify the data that one sweep writes and the next reads")  # fmt: skip


class Bar:
    """A progress bar with rate and time left, on a terminal; nothing in a pipe."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._next = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next and done < total:
            return
        self._next = now + 0.1
        if self._bar is None:
            from tqdm import tqdm

            # A terminal that doesn't know its size says 0 by 0, for which tqdm would print nothing.
            known = os.get_terminal_size(sys.stderr.fileno()).columns > 0
            size: dict[str, Any] = {"dynamic_ncols": True} if known else {"ncols": 80, "nrows": 24}
            self._bar = tqdm(total=total, unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr, leave=False,
                             initial=done, mininterval=0, **size)  # fmt: skip
        self._bar.update(done - self._bar.n)

    def clear(self) -> None:
        """Makes room for a line, and shows again with the next call."""
        if self._bar is not None:
            self._bar.clear()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def progress_bar(options: argparse.Namespace, rank: int) -> Bar | None:
    """Where somebody sees it: not in a pipe, nor beside other output."""
    if rank != 0 or options.quiet or options.json or not sys.stderr.isatty():
        return None
    from importlib.util import find_spec

    return None if find_spec("tqdm") is None else Bar()


def left_behind(notes: Sequence[str]) -> list[str]:
    """Lines about files of runs that were moved, of which nobody else would tell."""
    return [f"spanfft: {note}" for note in notes if note.startswith("left behind: ")]
