"""A quarter of a minute of `./spanfft-dev soak`, and that it notices: what fails is counted, named and repeated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


def soak(*arguments: object, timeout: float = 300, **changes: str) -> subprocess.CompletedProcess:
    programs = {}
    release = TESTS.parent / "build" / f"release-{os.environ.get('SPANFFT_DEV_MPI', 'venv')}" / "tests" / "soak_threads"
    if release.exists():
        programs["SPANFFT_SOAK_THREADS"] = str(release)
    environment = {**os.environ, **programs, "PYTHONPATH": str(TESTS), **changes}
    command = [sys.executable, "-m", "soak.run", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)


@pytest.mark.timeout(400)
def test_fifteen_seconds_find_nothing():
    """One seed for ever: a change is to be judged by what it did, not by what a new day finds. New seeds are what
    ./spanfft-dev soak is for."""
    seed = 13
    done = soak("--minutes", 0.25, "--seed", seed, timeout=360)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"seed {seed}" in done.stdout
    assert "0 wrong, 0 lost, 0 hung, 0 crashed" in done.stdout.splitlines()[-1]


BROKEN = """
import os, time
from .case import Failed
def run(case):
    case.count("problems")
    case.text = "a broken case"
    if case.seed % 10 == 3:
        raise Failed("wrong", "1 is not 2")
    if case.seed % 10 == 5:
        os.abort()
    if case.seed % 10 == 7:
        time.sleep(100)
"""
RUN = """
import sys
import soak
soak.__path__.insert(0, {folder!r})
from soak import campaigns, run
from dataclasses import replace
command = lambda first, seconds, count: [sys.executable, "-c",
    "import sys, soak; soak.__path__.insert(0, " + repr({folder!r}) + "); from soak import worker; worker.main()",
    "broken", str(first), str(seconds), str(min(count, 10 - first % 10))]
campaigns.CAMPAIGNS.clear()
campaigns.CAMPAIGNS["broken"] = campaigns.Campaign("broken", "", 1, 2, command)
sys.exit(run.main())
"""


def test_wrong_results_hangs_and_crashes_are_counted_and_said_again(tmp_path):
    (tmp_path / "broken.py").write_text(BROKEN)
    program = tmp_path / "start.py"
    program.write_text(RUN.format(folder=str(tmp_path)))
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, str(program)]
    done = subprocess.run([*command, "--minutes", "0.1", "--seed", "0"], capture_output=True, text=True, timeout=100,
                          env=environment)  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    for how, seed in (("wrong", 3), ("crashed", 5), ("hung", 7)):
        assert f"-- {how}: broken:{seed} " in done.stdout
        assert f"--repeat broken:{seed}\n" in done.stdout
    again = subprocess.run([*command, "--repeat", "broken:3"], capture_output=True, text=True, timeout=60,
                           env=environment)  # fmt: skip
    assert again.returncode == 1
    assert "1 is not 2" in again.stdout
    assert subprocess.run([*command, "--repeat", "broken:4"], capture_output=True, timeout=60,
                          env=environment).returncode == 0  # fmt: skip


def test_a_seed_is_one_case():
    """Twice the same text and counts."""
    seen = []
    for _ in range(2):
        command = [sys.executable, "-m", "soak.worker", "memory", "5", "60", "4"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100,
                              env={**os.environ, "PYTHONPATH": str(TESTS)})  # fmt: skip
        seen.append([json.loads(line) for line in done.stdout.splitlines()])
    assert len(seen[0]) == 8
    assert seen[0] == seen[1]
