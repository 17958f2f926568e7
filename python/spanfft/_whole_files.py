"""Files and folders that have a hidden name until they are whole and on the disk.

Who dies before leaves one, without the lock that whoever is at work has, and the next one in the folder removes it.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

__all__ = [
    "PARTIAL_SUFFIX",
    "behind_links",
    "flush",
    "flush_folder",
    "give_mode",
    "hidden_name",
    "lock",
    "lock_unless_held",
    "remove_stale",
    "replaced",
]

PARTIAL_SUFFIX = ".spanfft-partial"


def hidden_name(path: str) -> str:
    """A name beside `path` that shows that it is not whole; as the library's own partial files are called."""
    folder, name = os.path.split(os.path.abspath(path))
    tail = f".{os.urandom(4).hex()}{PARTIAL_SUFFIX}"
    return os.path.join(folder, f".{name[: 254 - len(tail)]}{tail}")


def behind_links(path: str) -> str:
    """Where an output of this name goes: a link stays, and what it leads to is replaced."""
    return os.path.realpath(path) if os.path.islink(path) else path


def give_mode(hidden: str, target: str, source: str | None) -> None:
    """Who may read a finished output: those who could read what had its name before; of a new one, those whom the
    umask and the input's mode, if there is an input, allow. As the library has it of files that it makes.
    """
    group, others = stat.S_IRWXG, stat.S_IRWXO
    if os.path.exists(target):
        mode = os.stat(target).st_mode & 0o777
        if os.stat(target).st_gid != os.stat(hidden).st_gid:
            mode &= ~group
    else:
        mode = (0o777 if os.path.isdir(hidden) else 0o666) & ~_umask()
        like = 0o777 if source is None else os.stat(source).st_mode
        mode &= ~(0 if like & stat.S_IRGRP else group) & ~(0 if like & stat.S_IROTH else others)
    os.chmod(hidden, mode)


def _umask() -> int:
    """Without changing it, which other threads would see."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1], 8) for line in status if line.startswith("Umask:"))
    except (OSError, StopIteration):
        return 0o077


def lock(path: str) -> int:
    """An open descriptor that says that a partial file or folder is in use."""
    descriptor = os.open(path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def lock_unless_held(path: str) -> int:
    """As `lock`, but -1 where another descriptor, of a library we use, has it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return -1
    return descriptor


def remove_stale(folder: str) -> None:
    """Partial files and folders of dead runs."""
    try:
        with os.scandir(folder) as entries:
            dead = [e for e in entries if e.name.endswith(PARTIAL_SUFFIX) and not e.is_symlink()]
    except PermissionError:  # files can be made there, and not be seen
        return
    for entry in dead:
        try:
            descriptor = os.open(entry.path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if entry.is_dir(follow_symlinks=False):
                import shutil  # with its codecs, only where there is something to remove

                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.is_file(follow_symlinks=False):
                os.unlink(entry.path)
        except OSError:
            pass
        finally:
            os.close(descriptor)


def flush(path: str) -> None:
    """A file, or a folder with all that is in it, to the disk."""
    for folder, _, names in os.walk(path):
        for name in names:
            _flush_one(os.path.join(folder, name))
        _flush_one(folder)
    if not os.path.isdir(path):
        _flush_one(path)


def _flush_one(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_folder(folder: str) -> None:
    """The names in a folder to the disk."""
    _flush_one(folder)


@contextmanager
def replaced(path: str, like: str | None = None) -> Iterator[BinaryIO]:
    """A file to write, which gets the name `path` when it is whole: that leads to what was there before or to all of
    it at every instant. Who may read it is told by what was there, or by the file `like`.

    A terminal or a pipe is written as it is.
    """
    if _is_stream(path):
        with open(path, "wb") as stream:
            yield stream
        return
    target = behind_links(path)
    folder = os.path.dirname(target) or "."
    remove_stale(folder)
    hidden = hidden_name(target)
    try:
        with open(os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
            file.flush()
            give_mode(hidden, target, like)
            os.fsync(file.fileno())
            os.replace(hidden, target)
        flush_folder(folder)
    finally:
        if os.path.lexists(hidden):
            os.unlink(hidden)


def _is_stream(path: str) -> bool:
    """Names such as /dev/stdout lead to regular files at times, and are streams all the same."""
    return os.path.abspath(path).startswith(("/dev/", "/proc/")) or (os.path.exists(path) and not os.path.isfile(path))
