"""Test suites of Python packages: fetched from the registry, run on ranks, counted from pytest's reports."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from xml.etree import ElementTree

from clients.result import Result

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / "requirements" / "constraints.txt"
STRANGERS = ROOT / "tests" / "strangers"


def pinned(package: str) -> str:
    """The version that requirements/constraints.txt has."""
    for line in CONSTRAINTS.read_text().splitlines():
        name, _, version = line.partition(";")[0].strip().partition("==")
        if name == package:
            return version
    raise RuntimeError(f"{CONSTRAINTS.name} has no {package}")


def sdist(package: str, folder: Path) -> Path:
    """The unpacked source archive of a package, at the pinned version."""
    version = pinned(package)
    root = folder / f"{package.replace('-', '_')}-{version}"
    if not root.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        # What pip wants to know of an archive it asks its build system, which may be here already.
        for isolation in (["--no-build-isolation"], []):
            done = subprocess.run(
                [*command, *isolation, "-d", folder, f"{package}=={version}"], capture_output=True, text=True
            )
            if not done.returncode:
                break
        else:
            raise RuntimeError(f"pip download {package}: {done.stderr[-2000:]}")
        with tarfile.open(next(folder.glob(f"{root.name}.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
    return root


def report_options(reports: Path, rank: int) -> list[str]:
    """pytest reads no settings of this repository, writes nothing beside the tests, and leaves a report."""
    return [
        "-c",
        os.devnull,
        f"--rootdir={reports}",
        "-p",
        "no:cacheprovider",
        "-q",
        f"--junitxml={reports}/{rank}.xml",
    ]


def run(client: str, version: str, ranks: int, arguments: list[object], work: Path, **variables: str) -> Result:
    """pytest on so many ranks, or (0) in a process that mpiexec did not start. A test passes if it passes on all ranks;
    one that a rank never ended has failed."""
    reports = work / f"reports-{ranks}"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    shutil.rmtree(work / "home", ignore_errors=True)  # nothing is known of this machine yet
    command = [os.environ["SPANFFT_MPIEXEC"], "-n", ranks, sys.executable, "-m", "clients.on_ranks", reports]
    if not ranks:
        command = [sys.executable, "-m", "pytest", *report_options(reports, 0)]
    environment = os.environ | {"SPANFFT_HOME": str(work / "home"), **variables}
    environment["PYTHONPATH"] = os.pathsep.join([variables.get("PYTHONPATH", ""), str(ROOT / "tests")])
    try:
        done = subprocess.run(
            [str(part) for part in (*command, *arguments)],
            cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", timeout=1800,
        )  # fmt: skip
        output, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        output, code = str(late.stdout or ""), 124
    (work / f"output-{ranks}.txt").write_text(output)
    where = f", {ranks} rank{'s' * (ranks > 1)}" if ranks else ""
    return counted(client + where, version, reports, max(ranks, 1), code)


def counted(client: str, version: str, reports: Path, ranks: int, code: int) -> Result:
    outcomes: dict[str, set[str]] = {}
    reasons: list[str] = []
    for path in sorted(reports.glob("*.xml")):
        for case in ElementTree.parse(path).iter("testcase"):
            name = f"{(case.get('classname') or '').rpartition('.')[2]}.{case.get('name')}"
            marks = {mark.tag: mark for mark in case}
            bad = marks.get("failure", marks.get("error"))
            good = "skipped" if "skipped" in marks else "passed"
            outcomes.setdefault(name, set()).add(good if bad is None else "failed")
            if bad is not None:
                reasons.append(f"{name}: {' '.join((bad.get('message') or '').split())[:160]}")
    passed = sum(each == {"passed"} for each in outcomes.values())
    failed = sum("failed" in each for each in outcomes.values())
    if len(list(reports.glob("*.xml"))) != ranks:
        failed += 1
        reasons.append(f"not all ranks ended (exit code {code})")
    elif code and not failed:
        failed += 1
        reasons.append(f"exit code {code}")
    skipped_too = len(outcomes) - passed - sum("failed" in each for each in outcomes.values())
    if skipped_too:
        reasons.append(f"{skipped_too} skipped by the suite itself")
    return Result(client, version, passed + failed, passed, failed, list(dict.fromkeys(reasons)))
