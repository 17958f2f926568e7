"""spanfft doctor: well machines are well, and each fault that is made here is told as whose it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
import spanfft
from conftest import cli, cli_environment, cli_on_ranks
from spanfft import _doctor
from spanfft._doctor import Finding, Job, disk, engines, transforms
from spanfft._doctor.transforms import EXCHANGES
from spanfft.cli import main


def findings(check: object, job: Job) -> list[Finding]:
    return list(check(job))  # type: ignore[operator]


def test_one_process_is_well(tmp_path):
    done = cli("doctor", "--disk", tmp_path, "--json", timeout=200)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)["findings"]
    assert {finding["state"] for finding in found} <= {"ok", "skipped", "warning"}
    assert all(set(finding) == {"check", "state", "text", "remedy"} for finding in found)
    assert all(finding["remedy"] for finding in found if finding["state"] == "warning")
    assert {"engines", "transforms", "refusals", "transform of a file"} <= {finding["check"] for finding in found}
    assert os.listdir(tmp_path) == []


def test_ranks_are_well_and_every_exchange_is_tried():
    done = cli_on_ranks(3, "doctor", timeout=200)
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 ranks" in done.stdout
    assert "an MPI_Alltoallw of subarrays is right" in done.stdout
    assert "another shape on one rank is refused on every rank" in done.stdout
    assert all(f"exchange {name}" in done.stdout for name in EXCHANGES)
    assert done.stdout.splitlines()[-1].startswith("all is well")


def test_the_exchanges_are_the_librarys():
    with pytest.raises(spanfft.Error) as caught:
        spanfft.Plan((4, 4), exchange="pigeon")
    assert str(caught.value).split("use one of ")[1].split(", ") == list(EXCHANGES)


def test_a_wrong_number_of_spanfft_is_its_own_fault(monkeypatch):
    right = spanfft.Plan.forward

    def wrong(plan: spanfft.Plan, u: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        found = right(plan, u, out)
        found.flat[-1] += 1e-3
        return found

    monkeypatch.setattr(spanfft.Plan, "forward", wrong)
    bad = [finding for finding in findings(transforms.check_transforms, Job(None)) if finding.state == "bad"]
    assert bad
    assert {finding.fault for finding in bad} == {spanfft.InternalError}


def test_a_right_number_in_a_wrong_place_is_seen(monkeypatch):
    right = spanfft.Plan.forward

    def moved(plan: spanfft.Plan, u: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        return np.roll(right(plan, u, out), 1)

    monkeypatch.setattr(spanfft.Plan, "forward", moved)
    assert "bad" in {finding.state for finding in findings(transforms.check_transforms, Job(None))}


def test_a_wrong_engine_is_the_engines_fault(monkeypatch):
    right = spanfft.Plan.forward
    monkeypatch.setattr(engines, "_LENGTHS", (16, 97))
    monkeypatch.setattr(spanfft.Plan, "forward", lambda plan, u, out=None: right(plan, u, out) * (1 + 1e-4))
    bad = [finding for finding in findings(engines.check_engines, Job(None)) if finding.state == "bad"]
    assert {finding.fault for finding in bad} == {spanfft.EngineError}
    assert "_LIBRARY=none" in bad[0].remedy


def test_a_folder_that_is_not_there_is_told_with_the_code_of_files(monkeypatch, capsys):
    monkeypatch.setattr(_doctor, "_CHECKS", (disk.check_disk,))
    assert main(["doctor", "--disk", "/proc/nowhere"]) == 5
    said = capsys.readouterr()
    assert said.out.startswith("bad     disk: rank 0: /proc/nowhere: ")
    assert "name a folder" in said.out
    assert said.err == "spanfft: 1 of 1 findings are bad, the first: disk\n"


def test_a_check_that_hangs_ends_with_a_line_and_mpis_code():
    program = (
        "import time\nfrom spanfft import _doctor\n"
        "def stuck(job):\n    time.sleep(60)\n    yield\n"
        "_doctor._CHECKS = (stuck,)\n"
        "_doctor.examine(_doctor.Job(None), 0.2, lambda finding: print(finding.state, finding.text, flush=True))\n"
    )
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=50, env=cli_environment()
    )
    assert time.monotonic() - begun < 50
    assert (done.returncode, done.stdout) == (8, "bad rank 0 did not end this check within 0.2 s\n")


def test_bad_options_are_named():
    done = cli("doctor", "--seconds", "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--seconds is 0; it must be 1 to 86400" in done.stderr
