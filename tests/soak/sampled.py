"""fault_tests' longer runs, of which some operations are made to fail or to be the last before a power cut: other ones
with every seed. Runs in which every operation is are part of ./spanfft-dev test."""

from __future__ import annotations

import os
import re
import subprocess

from .case import Case, Failed, one_of

TESTS = "*.*Sampled*"


def tests_of(program: str) -> list[str]:
    listed = subprocess.run(
        [program, "--gtest_list_tests", f"--gtest_filter={TESTS}"], capture_output=True, text=True, check=True
    ).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        if line.startswith("  "):
            names.append(suite + line.strip())
        elif re.fullmatch(r"\w+\.", line):
            suite = line
    return names


def run(case: Case) -> None:
    program = os.environ["SPANFFT_SOAK_FAULTS"]
    test = one_of(case.random, tests_of(program))
    case.text = test
    environment = {**os.environ, "SPANFFT_TEST_SEED": str(case.seed)}
    done = subprocess.run([program, f"--gtest_filter={test}"], env=environment, capture_output=True, text=True)
    points = [int(n) for n in re.findall(r"^sampled operations: (\d+)$", done.stdout, re.MULTILINE)]
    case.count("faults", sum(points))
    case.count("problems", len(points))
    if done.returncode < 0:
        raise Failed("crashed", (done.stdout + done.stderr)[-1500:])
    if done.returncode or not points:
        raise Failed("wrong", (done.stdout + done.stderr)[-1500:])
