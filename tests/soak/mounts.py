"""Small file systems that fill up: a tmpfs in a mount namespace of this process, gone with it whatever happens."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

CLONE_NEWNS = 0x20000


def _mount(*words: object) -> bool:
    return subprocess.run(["mount", *map(str, words)], capture_output=True, check=False).returncode == 0


@functools.cache
def allowed() -> bool:
    """Whether this process may mount; from then on its mounts are seen by it and its children alone."""
    if os.geteuid():
        return False
    with contextlib.suppress(OSError):
        return ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0 and _mount("--make-rprivate", "/")
    return False


def resize(folder: Path, bytes_: int) -> None:
    if not _mount("-o", f"remount,size={bytes_}", folder):
        raise OSError(f"{folder} was not given {bytes_} bytes")


@contextlib.contextmanager
def small(folder: Path, bytes_: int) -> Iterator[None]:
    """The folder has so much room, and not more."""
    if not _mount("-t", "tmpfs", "-o", f"size={bytes_}", "tmpfs", folder):
        raise OSError(f"no tmpfs of {bytes_} bytes could be mounted on {folder}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], capture_output=True, check=False)
