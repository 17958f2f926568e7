"""The house rules that a program can check: who includes whom, headers that open with a purpose, no machine paths."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# docs/ARCHITECTURE.md: a folder may include its own files and those of lower levels, nothing else.
LEVELS = {
    "core": 0,
    "layout": 1,
    "engine": 1,
    "comm": 1,
    "disk": 1,
    "exchange": 2,
    "permute": 2,
    "plan": 3,
    "steps": 4,
    "sweeps": 5,
    "lower": 6,
    "solvers": 7,
    "exec": 8,
    "capi": 9,
}


def tracked(*patterns: str) -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / line for line in listing.stdout.splitlines() if (ROOT / line).is_file()]


def test_every_source_folder_has_a_level() -> None:
    folders = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
    assert folders <= set(LEVELS)


def test_includes_point_downward_only() -> None:
    wrong = []
    for path in [*(ROOT / "src").rglob("*.hpp"), *(ROOT / "src").rglob("*.cpp")]:
        folder = path.relative_to(ROOT / "src").parts[0]
        for included in re.findall(r'#include "(\w+)/', path.read_text()):
            if included == "spanfft":  # the public headers: the C interface implements them
                fine = folder == "capi"
            elif included not in LEVELS:  # another project's headers: a local FFT library's
                fine = folder == "engine"
            else:
                fine = included == folder or LEVELS[included] < LEVELS[folder]
            if not fine:
                wrong.append(f"{path.relative_to(ROOT)} includes {included}/")
    assert not wrong, "\n".join(wrong)


def test_only_the_mpi_folders_name_mpi() -> None:
    for path in [*(ROOT / "src").rglob("*.hpp"), *(ROOT / "src").rglob("*.cpp"), *(ROOT / "include").rglob("*.h*")]:
        if "/mpi/" in path.as_posix() or path.name == "spanfft_mpi.h":
            continue
        assert "#include <mpi.h>" not in path.read_text(), f"{path.relative_to(ROOT)} includes mpi.h"


def test_every_source_file_opens_with_its_purpose() -> None:
    for path in tracked("src/*.cpp", "src/*.hpp", "tests/*.cpp", "tests/*.hpp", "python/*.cpp"):
        first = path.read_text().splitlines()[0]
        assert first.startswith("//"), f"{path.relative_to(ROOT)} does not open with a comment that says what it is for"


def test_no_machine_paths_or_registry_addresses_are_committed() -> None:
    pattern = re.compile(
        r"(^|[^a-z.])/(work|farm|root)/|https?://[^ ]*(pypi|pythonh|crates|golang|npm|maven|debian)", re.I
    )
    for path in tracked():
        if path == Path(__file__).resolve() or path.suffix in {".png", ".svg"}:
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            assert not pattern.search(line), f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
