"""Amounts of memory: as people write them, and what this machine has. Needs no numpy."""

from __future__ import annotations

import os
import re

from ._errors import InvalidArgument

__all__ = ["available_bytes", "bytes_string", "parse_bytes", "total_bytes"]

_UNITS = {
    "": 1, "B": 1,
    "K": 1 << 10, "KB": 10**3, "KIB": 1 << 10,
    "M": 1 << 20, "MB": 10**6, "MIB": 1 << 20,
    "G": 1 << 30, "GB": 10**9, "GIB": 1 << 30,
    "T": 1 << 40, "TB": 10**12, "TIB": 1 << 40,
}  # fmt: skip
_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")


def parse_bytes(value: str | int) -> int:
    """256MiB, "4 GB", 1048576 -> bytes. K, M, G, T alone are powers of 1024."""
    match = _AMOUNT.fullmatch(str(value))
    if match is None or match[2].upper() not in _UNITS:
        raise InvalidArgument(f"{value!r} is no amount of memory; write it like 256MiB, 4GB or 1048576")
    count = (
        int(float(match[1]) * _UNITS[match[2].upper()]) if "." in match[1] else int(match[1]) * _UNITS[match[2].upper()]
    )
    if count >= 1 << 62:
        raise InvalidArgument(f"{value!r} is more memory than can be counted")
    if count < 1:
        raise InvalidArgument(f"{value!r} is no memory at all; give at least a few MiB")
    return count


def bytes_string(count: float) -> str:
    """For people: "256 MiB", "1.50 GiB"."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if count >= 100 or count == int(count) else f"{count:.3g} {unit}"


def _meminfo() -> dict[str, int]:
    found = {}
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                words = line.split()
                if len(words) >= 2:
                    found[words[0].rstrip(":")] = int(words[1]) * 1024
    except OSError:
        pass
    return found


def _number(path: str) -> int | None:
    try:
        with open(path) as file:
            text = file.read().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def _group_limits() -> tuple[int | None, int | None]:
    """Limit and free part of this process's control group, versions 2 and 1; None where there is none."""
    folder = "/sys/fs/cgroup"
    try:
        with open("/proc/self/cgroup") as file:
            lines = [line.strip().split(":", 2) for line in file]
    except OSError:
        return None, None
    for _, controllers, path in lines:
        if controllers == "":
            limit_name, used_name, base = "memory.max", "memory.current", folder
        elif "memory" in controllers.split(","):
            limit_name, used_name, base = "memory.limit_in_bytes", "memory.usage_in_bytes", f"{folder}/memory"
        else:
            continue
        for place in (base + path, base):
            limit, used = _number(os.path.join(place, limit_name)), _number(os.path.join(place, used_name))
            if limit is not None and limit < 1 << 60:
                return limit, None if used is None else max(0, limit - used)
    return None, None


def _address_space() -> int | None:
    """What is left of a limited address space (ulimit -v); None: it has no limit."""
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        used = 0
    return max(0, limit - used)


def total_bytes() -> int:
    """Memory of this machine, or of the control group that confines this process."""
    limit, _ = _group_limits()
    total = _meminfo().get("MemTotal", os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return total if limit is None else min(total, limit)


def available_bytes() -> int:
    """What of it can be had without swapping, and within the limit of this process's address space."""
    _, free = _group_limits()
    amounts = (_meminfo().get("MemAvailable", total_bytes()), free, _address_space())
    return min(amount for amount in amounts if amount is not None)
