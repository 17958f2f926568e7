"""bench/thrashing.py: the demand-paged transforms are right, their faults are counted, Theorem 1 of P1 holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import file_runs  # noqa: E402
import thrashing  # noqa: E402

PAGE_POINTS = os.sysconf("SC_PAGESIZE") // 16


def random_points(lg: int) -> Any:
    return np.random.default_rng(lg).standard_normal(2 << lg).view(np.complex128)


def run(method: str, path: Path, lg: int, seconds: float = 60.0, advice: str = "normal") -> dict[str, Any]:
    command = [str(thrashing.build()), method, str(path), str(lg), str(seconds), advice]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def bit_reversed(lg: int) -> list[int]:
    return [int(format(i, f"0{lg}b")[::-1], 2) for i in range(1 << lg)]


SIZES = [(method, lg) for method in thrashing.METHODS for lg in (2, 3, 4, 9, 12, 14)]


@pytest.mark.parametrize(
    ("method", "lg"), [(method, lg) for method, lg in SIZES if method != "swarztrauber" or lg % 2 == 0]
)
def test_a_paged_transform_is_numpys(method: str, lg: int, tmp_path: Path) -> None:
    x, path = random_points(lg), tmp_path / "data.bin"
    x.tofile(path)
    said = run(method, path, lg)
    found = np.fromfile(thrashing.result_of(path, said), np.complex128)
    wanted = np.fft.fft(x)
    assert np.linalg.norm(found - wanted) < 1e-15 * lg * np.linalg.norm(wanted)
    assert all(phase["done"] == phase["of"] for phase in said["phases"])
    assert not said["stopped"]


def test_a_run_past_its_time_stops_and_tells_its_progress(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    random_points(16).tofile(path)
    said = run("cooley-tukey", path, 16, seconds=0.0)
    assert said["stopped"]
    assert [phase["name"] for phase in said["phases"]] == ["bit reversal"]
    assert 0 < said["phases"][0]["done"] < said["phases"][0]["of"] == 1 << 16


@pytest.mark.parametrize(
    ("method", "lg", "said"),
    [("radix-3", "4", "METHOD is radix-3"), ("swarztrauber", "5", "LG_N is 5"), ("stockham", "5", "LG_N")],
)
def test_bad_arguments_are_named_and_the_file_is_left_alone(method: str, lg: str, said: str, tmp_path: Path) -> None:
    path, x = tmp_path / "data.bin", random_points(4)
    x.tofile(path)
    command = [str(thrashing.build()), method, str(path), lg, "1", "normal"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert said in done.stderr
    assert np.array_equal(np.fromfile(path, np.complex128), x)


def lru_faults(lg_n: int, lg_m: int, lg_b: int) -> int:
    """Page faults of Theorem 1's code with least-recently-used replacement, nothing in memory at first."""
    frames: OrderedDict[int, None] = OrderedDict()
    faults = 0
    for j, k in enumerate(bit_reversed(lg_n)):
        if j >= k:
            continue
        for page in (j >> lg_b, k >> lg_b):
            if page in frames:
                frames.move_to_end(page)
                continue
            faults += 1
            frames[page] = None
            if len(frames) > max(1, 1 << (lg_m - lg_b)):
                frames.popitem(last=False)
    return faults


@pytest.mark.parametrize("lg_n", range(2, 12))
def test_theorem_1_holds_for_every_memory_and_page_under_lru(lg_n: int) -> None:
    for lg_m in range(1, lg_n):  # N >= 2M
        for lg_b in range(1, lg_m + 1):  # N >= 2B, and memory holds a page
            assert lru_faults(lg_n, lg_m, lg_b) >= (1 << lg_n) // 4, (lg_n, lg_m, lg_b)


def test_theorem_1_needs_its_condition_on_memory() -> None:
    """With all of the array in memory each page is brought in once at most."""
    assert lru_faults(10, 10, 4) <= 1 << (10 - 4)


@pytest.fixture
def limited(tmp_path: Path) -> Any:
    """Runs the bit reversal of 2^17 points (2 MiB) in a group of so many bytes; skips where pages can't be limited."""
    lg = 17
    kind = subprocess.run(["stat", "-f", "-c", "%T", str(tmp_path)], capture_output=True, text=True).stdout.strip()
    if kind in ("tmpfs", "ramfs"):
        pytest.skip("files here are memory: nothing is paged out")

    def in_group(limit_bytes: int) -> dict[str, Any]:
        group = file_runs.Group(limit_bytes)
        if group.folder is None:
            pytest.skip(group.why_not)
        path, x = tmp_path / "data.bin", random_points(lg)
        x.tofile(path)
        file_runs.drop(path)
        try:
            found = thrashing.paged("bit-reversal", "random", lg, path, group, 60.0)
        except thrashing.Absent as reason:
            if "killed for memory" not in str(reason):
                raise
            pytest.skip(f"{reason}: the kernel could not write dirty pages out as fast as the program made them")
        finally:
            group.close()
        assert not found["stopped"]
        assert np.array_equal(np.fromfile(path, np.complex128), x[bit_reversed(lg)])
        return found

    return in_group


def test_the_bit_reversal_faults_a_quarter_of_n_times_when_memory_is_half_the_array(limited: Any) -> None:
    """Theorem 1: N >= 2M, N >= 2B, the array starts at a page, nothing in memory. A fault brings one page in."""
    n = 1 << 17
    found = limited(16 * n // 2)
    assert n >= 2 * PAGE_POINTS
    assert found["major_faults"] >= n // 4
    assert found["group_faults"]["pgmajfault"] >= n // 4  # the kernel's own count for the group


def test_the_bit_reversal_faults_once_a_page_when_memory_holds_the_array(limited: Any) -> None:
    n = 1 << 17
    found = limited(8 * 16 * n)
    assert 0 < found["major_faults"] <= 2 * n // PAGE_POINTS


def test_a_best_paged_run_is_the_fastest_that_was_not_absent() -> None:
    rows = [
        {"method": name, "lg_n": 20, "memory_bytes": 1, "absent": absent, "median": seconds}
        for name, absent, seconds in (("two_sweeps", None, 1.0), ("stockham", None, 9.0), ("cooley-tukey", None, 30.0))
    ]
    best = thrashing.best_paged([*rows, {**rows[1], "absent": "killed", "median": 0.0}], 20, 1)
    assert best is not None
    assert (best["method"], best["median"]) == ("stockham", 9.0)
    assert thrashing.best_paged(rows, 21, 1) is None


def test_committed_rows_hold_theorem_1_and_name_no_place() -> None:
    checked = 0
    for path in BENCH.glob("results/*/PAGING.json"):
        text = path.read_text()
        assert str(BENCH.parent) not in text
        for row in json.loads(text):
            assert row["absent"] or row["normalised_us"] > 0
            assert {"machine", "commit", "date", "load_before"} <= set(row)
            if row["method"] != "cooley-tukey" or row["advice"] != "random" or row["bytes"] < 2 * row["memory_bytes"]:
                continue
            reversal, n = row["phases"][0], 1 << row["lg_n"]
            if reversal["done"] == reversal["of"] or row["bytes"] == 2 * row["memory_bytes"]:
                assert reversal["major_faults"] >= n // 4
                checked += 1
    assert checked > 0
