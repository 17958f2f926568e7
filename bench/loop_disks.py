"""Disks for tests and benchmarks: loop devices on files, each with a file system of its own, and limited if wanted.

A loop device is a block device of the kernel's like any other, so what is striped over several really goes to several.
With `bytes_per_second` a blkio control group (version 1) limits the devices for the processes that `limited` starts.
Everything is taken down at the end, whatever happened.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from cluster import Absent

_GROUPS = Path("/sys/fs/cgroup/blkio")


class LoopDisks:
    """`count` disks of `size_bytes`; `folders` are where they are mounted. Raises Absent where that can't be had."""

    def __init__(self, folder: Path, count: int, size_bytes: int, bytes_per_second: int | None = None) -> None:
        self.folders: list[Path] = []
        self._folder, self._count, self._size_bytes = folder, count, size_bytes
        self._rate = bytes_per_second
        self._devices: list[str] = []
        self._group: Path | None = None

    def __enter__(self) -> LoopDisks:
        if os.geteuid() != 0:
            raise Absent("loop devices need root")
        missing = [name for name in ("losetup", "mkfs.ext4", "mount", "umount") if shutil.which(name) is None]
        if missing:
            raise Absent(f"missing programs: {', '.join(missing)}")
        if self._rate is not None and not (_GROUPS / "blkio.throttle.read_bps_device").exists():
            raise Absent("no blkio control group (version 1) that limits devices")
        try:
            for index in range(self._count):
                self._add(index)
            if self._rate is not None:
                self._limit(self._rate)
        except (OSError, subprocess.CalledProcessError) as error:
            self.close()
            said = getattr(error, "stderr", None)
            raise Absent(f"no loop devices: {said.strip() if said else error}") from None
        except BaseException:
            self.close()
            raise
        return self

    def _add(self, index: int) -> None:
        image = self._folder / f"disk{index}.image"
        with open(image, "wb") as file:
            file.truncate(self._size_bytes)
        device = _run("losetup", "--find", "--show", "--direct-io=on", image).strip()
        self._devices.append(device)
        _run("mkfs.ext4", "-q", "-O", "^has_journal", "-E", "lazy_itable_init=0", "-m", "0", device)
        mounted = self._folder / f"disk{index}"
        mounted.mkdir()
        _run("mount", device, mounted)
        self.folders.append(mounted)

    def _limit(self, rate: int) -> None:
        group = _GROUPS / f"spanfft-{os.getpid()}"
        group.mkdir()
        self._group = group
        for device in self._devices:
            number = os.stat(device).st_rdev
            for way in ("read", "write"):
                line = f"{os.major(number)}:{os.minor(number)} {rate}"
                (group / f"blkio.throttle.{way}_bps_device").write_text(line)

    def inside(self, command: list[str]) -> list[str]:
        """The command that runs this one under the limits, from its first instruction on."""
        if self._group is None:
            return command
        return ["sh", "-c", f'echo $$ > {self._group}/cgroup.procs && exec "$@"', "sh", *command]

    def limited(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Runs a command under the limits."""
        return subprocess.run(self.inside(command), capture_output=True, text=True, timeout=600)

    @contextlib.contextmanager
    def joined(self) -> Iterator[None]:
        """Holds this process to the limits, and what it starts meanwhile."""
        if self._group is not None:
            (self._group / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            if self._group is not None:
                (_GROUPS / "cgroup.procs").write_text(str(os.getpid()))

    def written_bytes(self) -> list[int]:
        """By each disk since it is there, file system included."""
        return [512 * int(self._statistics(device)[6]) for device in self._devices]

    def read_bytes(self) -> list[int]:
        return [512 * int(self._statistics(device)[2]) for device in self._devices]

    @staticmethod
    def _statistics(device: str) -> list[str]:
        return Path(f"/sys/block/{Path(device).name}/stat").read_text().split()

    def close(self) -> None:
        for mounted in self.folders:
            for _ in range(50):  # what an io_uring was given stays open for a moment after its process ended
                if subprocess.run(["umount", mounted], capture_output=True).returncode == 0:
                    break
                time.sleep(0.1)
            else:
                subprocess.run(["umount", "--lazy", mounted], capture_output=True)
        for device in self._devices:
            subprocess.run(["losetup", "--detach", device], capture_output=True)
        for index in range(self._count):
            (self._folder / f"disk{index}.image").unlink(missing_ok=True)
        for mounted in self.folders:
            if not os.path.ismount(mounted):
                mounted.rmdir()
        if self._group is not None:
            self._group.rmdir()
        self.folders, self._devices, self._group = [], [], None

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _run(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
