"""A function in a forked child, with limits, so that what crashes, hangs or is killed is an answer like any other.

The process that forks never plans nor transforms: its engines' threads would not be there in the child. It only opens
their libraries, which takes longer than most cases.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import resource
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import spanfft
from spanfft import _native

from .patience import Limit


@dataclass
class Answer:
    how: str  # "ok", "error" (spanfft's), "bug" (any other exception), "killed", "crashed" or "hung"
    value: Any = None  # what it returned
    kind: str = ""  # the exception's name
    text: str = ""
    seconds: float = 0


@functools.cache
def _open_engines() -> int:
    return len(_native.core.engines())


def _limit(what: int, value: int | None) -> None:
    """Of processor time the hard limit is a second more: at it comes SIGKILL, and SIGXCPU, which tells why, at the soft
    one only where that comes first."""
    if value is not None:
        resource.setrlimit(what, (value, value + (what == resource.RLIMIT_CPU)))


def _say(pipe: int, function: Callable[[], Any]) -> None:
    try:
        answer = Answer("ok", function())
    except spanfft.InternalError as error:
        answer = Answer("bug", None, "InternalError", str(error))
    except spanfft.Error as error:
        answer = Answer("error", None, type(error).__name__, str(error))
    except BaseException as error:
        answer = Answer("bug", None, type(error).__name__, str(error))
    with os.fdopen(pipe, "wb") as out:
        pickle.dump(answer, out)


def call(
    function: Callable[[], Any],
    *,
    seconds: float = 120,
    cpu_seconds: int | None = None,
    file_bytes: int | None = None,
    address_bytes: int | None = None,
    kill_after: float | None = None,
    kill_with: int = signal.SIGKILL,
) -> Answer:
    """`seconds`: it hangs if it takes longer, its waiting for a core not counted. `kill_after`: it is sent a signal by
    then, and may end as it likes."""
    _open_engines()
    begun = time.monotonic()
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            os.close(ours)
            _limit(resource.RLIMIT_CPU, cpu_seconds)
            _limit(resource.RLIMIT_FSIZE, file_bytes)
            _limit(resource.RLIMIT_AS, address_bytes)
            _limit(resource.RLIMIT_CORE, 0)
            _say(theirs, function)
        finally:
            os._exit(0)
    os.close(theirs)
    received, killed, hung, limit = b"", False, False, Limit(seconds, pid)
    while True:
        hung = kill_after is None or killed  # if the time is up
        left = limit.left() if hung else begun + (kill_after or 0) - time.monotonic()
        if left <= 0:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL if hung else kill_with)
            killed = True
            if hung:
                break
        hung = False
        if select.select([ours], [], [], max(left, 0))[0]:
            piece = os.read(ours, 1 << 20)
            if not piece:
                break
            received += piece
    os.close(ours)
    status = os.waitpid(pid, 0)[1]
    taken = time.monotonic() - begun
    if hung:
        return Answer("hung", text=f"after {limit.said()}", seconds=taken)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGXCPU:
            return Answer("hung", text=f"{cpu_seconds} s of processor time", seconds=taken)
        return Answer("killed" if number in (signal.SIGKILL, kill_with) else "crashed", None, "",
                      signal.Signals(number).name, taken)  # fmt: skip
    if not received and killed:  # Ctrl-C between two of Python's instructions, say
        return Answer("killed", text="said nothing", seconds=taken)
    if not received:
        return Answer("crashed", text=f"ended with {os.waitstatus_to_exitcode(status)} and said nothing", seconds=taken)
    answer = pickle.loads(received)
    answer.seconds = taken
    return answer
