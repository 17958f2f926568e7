"""The machine and the versions that a row was measured with. No host names, user names or paths."""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def _first(path: str, pattern: str) -> str:
    try:
        found = re.search(pattern, Path(path).read_text(errors="replace"), re.M)
    except OSError:
        return ""
    return found[1].strip() if found else ""


def _said(*command: str) -> str:
    try:
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def machine() -> dict[str, Any]:
    info = "/proc/cpuinfo"
    model = _first(info, r"^model name\s*: (.*)$") or platform.machine()
    family, number = (_first(info, rf"^{word}\s*: (.*)$") for word in ("cpu family", "model"))
    flags = _first(info, r"^flags\s*: (.*)$").split()
    caches = {}
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        kind = (index / "type").read_text().strip()
        if kind != "Instruction":
            caches[f"L{(index / 'level').read_text().strip()}"] = (index / "size").read_text().strip()
    return {
        "cpu": re.sub(r"\((R|TM)\)| CPU| Processor|@.*", "", model).strip(),
        "cpu_family_model": f"{family}/{number}",
        "vectors": next((name for name in ("avx512f", "avx2", "avx", "sse2") if name in flags), ""),
        "cores": len(os.sched_getaffinity(0)),
        "caches": dict(sorted(caches.items())),
        "memory_gib": round(int(_first("/proc/meminfo", r"^MemTotal:\s*(\d+)") or 0) / 2**20, 1),
        "kernel": re.match(r"[\d.]*", platform.release())[0],  # type: ignore[index]
        "virtual": "hypervisor" in flags,
        "compiler": f"g++ {_said('g++', '-dumpfullversion')}",
        "python": platform.python_version(),
    }


def machine_name(of: dict[str, Any]) -> str:
    """Names the folder of results: amd-epyc-26-2-2-cores."""
    words = f"{of['cpu']} {of['cpu_family_model']} {of['cores']} cores"
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


_LIBRARY = ("src", "include", "python", "cmake", "CMakeLists.txt")


def library_commit() -> str:
    """The last one that changed what is measured."""
    changed = _said("git", "status", "--porcelain", "--", *_LIBRARY)
    return _said("git", "log", "-1", "--format=%h", "--", *_LIBRARY) + ("+changes" if changed else "")


def provenance() -> dict[str, str]:
    commit = _said("git", "rev-parse", "--short=12", "HEAD") or "unknown"
    changed = _said("git", "status", "--porcelain", "--", *_LIBRARY)
    when = datetime.datetime.now(datetime.timezone.utc)
    return {"commit": commit + ("+changes" if changed else ""), "date": when.strftime("%Y-%m-%dT%H:%MZ")}


def load_average() -> float:
    """Of the last minute; above the number of cores somebody else was computing."""
    return os.getloadavg()[0]


QUIET_LOAD, QUIET_WAIT_SECONDS = 1.0, 300.0


def wait_for_quiet(limit_seconds: float = QUIET_WAIT_SECONDS) -> None:
    """Until the load average is at most QUIET_LOAD; ends the program where it stays above. For whatever makes rows."""
    end = time.monotonic() + limit_seconds
    while load_average() > QUIET_LOAD:
        if time.monotonic() >= end:
            raise SystemExit(f"the load average is {load_average():.1f}: somebody else is computing, and rows "
                             f"taken above {QUIET_LOAD:g} say little; end that first, or give --loaded")  # fmt: skip
        time.sleep(5)
