"""The pages of reference against what they speak of: environment variables, JSON output, files on disk."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest
import spanfft
import spanfft.cli

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def test_every_public_name_has_a_docstring():
    """Which `./spanfft-dev docs` makes the API reference of; pdoc itself runs there alone."""
    spec = importlib.util.spec_from_file_location("build_reference", DOCS / "reference" / "build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    assert not build.undocumented()


# --- environment variables -------------------------------------------------------------------------------------------


def variables_read(folder: str, suffixes: tuple[str, ...]) -> set[str]:
    """Names in quotes within what reads the environment, and in the lists and helpers that feed it."""
    found = set()
    for path in sorted((ROOT / folder).rglob("*")) if (ROOT / folder).is_dir() else [ROOT / folder]:
        if path.suffix not in suffixes or not path.is_file():
            continue
        text = path.read_text()
        if "getenv" in text or "environ" in text:
            found |= set(re.findall(r"""["']([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|HOME|PATH|MPICC)["']""", text))
        else:  # nothing else may read it
            assert "secure_getenv" not in text, path
    return found


def test_the_page_of_environment_variables_lists_what_the_sources_read():
    page = (DOCS / "environment.md").read_text()
    listed = {name for row in re.findall(r"^\| (`.*?) \|", page, re.M) for name in re.findall(r"`([A-Z_0-9]+)`", row)}
    own, rest = page.split("## For developers")
    read = variables_read("src", (".cpp", ".hpp")) | variables_read("python", (".py", ".cpp", ".hpp"))
    read |= variables_read("bindings", (".cpp", ".hpp"))
    users = {name for name in re.findall(r"`([A-Z_0-9]+)`", own) if name in listed}
    assert read == users, f"read, not listed: {read - users}; listed, not read: {users - read}"
    tools = variables_read("spanfft-dev", ("",)) | variables_read("apps", (".py",)) | variables_read("tests", (".py",))
    developers = {name for name in re.findall(r"`([A-Z_0-9]+)`", rest) if name in listed}
    assert developers <= tools, f"listed, not read: {developers - tools}"
    missing = {name for name in tools if name.startswith(("SPANFFT_DEV_", "SPANFFT_MPIEXEC"))} - developers
    assert not missing


# --- JSON ------------------------------------------------------------------------------------------------------------


def keys_listed() -> dict[str, set[str]]:
    blocks = re.findall(r"^```json-keys (\S+)\n(.*?)^```", (DOCS / "json.md").read_text(), re.M | re.S)
    return {name: set(text.split()) for name, text in blocks}


@pytest.fixture
def printed(tmp_path, monkeypatch, capsys):
    """What a command prints as JSON, run in this process and in the test's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPANFFT_HOME", str(tmp_path / "home"))
    before = signal.getsignal(signal.SIGTERM)

    def called(*arguments):
        code = spanfft.cli.main([*arguments, "--json"])
        out, errors = capsys.readouterr()
        assert (code, errors) == (0, "")
        return json.loads(out)

    yield called
    signal.signal(signal.SIGTERM, before)


def test_the_page_of_json_output_lists_what_the_commands_print(printed):
    np.save("in.npy", np.ones((8, 4), "complex64"))
    Path("rows.csv").write_text("np,time\n1,10\n2,6\n4,4\n8,3.1\n")
    transform = printed("transform", "in.npy", "out.npy")
    Path("out").mkdir()
    into = printed("transform", "in.npy", "--into", "out")
    trace = (
        printed("bench", "c2c 8x8", "--repeats", "1", "--trace", "trace.json")["rows"],
        printed("trace", "trace.json"),
    )
    tune = printed("tune", "c2c 8x8", "--cap", "0.1", "--list")
    info = printed("info")
    analyse = printed("analyse", "2^25", "--memory", "16MiB")
    predict = printed("predict", "c2c 64x64x64", "--machine", "sp2", "--ranks", "8")
    prediction = predict["predictions"][0]
    probe = printed("probe", "--seconds", "1")
    checked = printed("predict", "--check", "2")
    sheet = "spanfft-machine 1\nnodes 4\ncores_per_node 1\nnode_memory_gb_per_second 9\nnetwork switch\n"
    Path("sheet.txt").write_text(f"{sheet}link_gb_per_second 1\nlatency_us 9\n")
    Path("timings.csv").write_text("problem,ranks,seconds\nc2c 64x64,1,0.001\n")
    report = transform["ranks"][0]
    found = {
        "transform": transform, "transform-into": into,
        "report": report, "step": report["steps"][0], "limit": report["steps"][0]["limit"],
        "counts": report["predicted"],
        "plan": printed("plan", "c2c 8x8"),
        "predict": predict, "prediction": prediction, "prediction-parts": prediction["parts"],
        "prediction-bounds": prediction["bounds"], "prediction-counts": prediction["counts"],
        "prediction-exchange": prediction["exchanges"][0], "prediction-runner-up": prediction["runners_up"][0],
        "largest-useful": predict["largest_useful"],
        "predict-check": checked, "predict-check-row": checked["rows"][0],
        "predict-check-machine": checked["machine"][0],
        "analyse": analyse, "analyse-method": analyse["methods"][0],
        "permute": printed("permute", "in.npy", "out.npy", "--kind", "bit-reversal"),
        "bench": trace[0][0], "trace": trace[1], "trace-rank": trace[1]["ranks"][0], "fit": printed("fit", "rows.csv"),
        "fit-sheet": printed("fit", "timings.csv", "--sheet", "sheet.txt"),
        "probe": probe, "tune": tune, "tuned": tune["tuned"][0],
        "stored": tune["stored"][0], "info": info, "mpi": info["mpi"], "engine": info["engines"][0],
    }  # fmt: skip
    listed = keys_listed()
    assert set(listed) == set(found)
    for name, value in found.items():
        assert set(value) == listed[name], name
    assert set(report["counted"]) == listed["counts"]
    assert set(found["plan"]["all_ranks"]) == listed["counts"] - {"seconds"}
    assert printed("plan", "c2c 8x8 ranks=2000")["all_ranks"] is None


def test_json_has_names_that_are_no_text(printed):
    name = os.fsdecode(b"\xff.npy")
    np.save("in.npy", np.ones((8, 4), "complex64"))
    found = printed("transform", "in.npy", name)
    assert os.fsencode(found["output"]) == b"\xff.npy"


# --- files on disk ---------------------------------------------------------------------------------------------------


def test_the_page_of_files_has_the_numbers_and_names_of_the_sources():
    page = (DOCS / "file-formats.md").read_text()
    sources = "\n".join(path.read_text() for path in sorted((ROOT / "src").rglob("*.[ch]pp")))
    assert dict(re.findall(r"`spanfft-(\w+) (\d+)", page)) == dict(re.findall(r'"spanfft-(\w+) (\d+)', sources))
    written = set(re.findall(r'"\.(spanfft-[a-z-]*[a-z])"', sources))
    assert written <= set(re.findall(r"^\| `\.NAME[^`]*\.(spanfft-[a-z-]+)`", page, re.M)), written


def test_the_page_of_files_lists_the_lines_of_a_journal(tmp_path):
    np.save(tmp_path / "in.npy", np.ones(1 << 18, "complex64"))
    for in_place in (False, True):
        ends = (tmp_path / "in.npy",) if in_place else (tmp_path / "in.npy", tmp_path / "out.npy")
        with pytest.raises(spanfft.Interrupted):
            spanfft.transform(*ends, memory="1MiB", in_place=in_place, progress=lambda done, total: done < total // 2)
    page = (DOCS / "file-formats.md").read_text()
    listed = set(re.search(r"^```journal-lines\n(.*?)^```", page, re.M | re.S)[1].split())
    journals = [p for p in tmp_path.iterdir() if p.name.endswith(("spanfft-journal", "spanfft-in-place"))]
    assert len(journals) == 2
    found = set()
    for path in journals:
        lines = path.read_text().splitlines()
        assert re.fullmatch(r"spanfft-journal \d+ \S+ #[0-9a-f]{16}", lines[0])
        assert all(re.search(r" #[0-9a-f]{16}$", line) for line in lines)
        found |= {line.split()[0] for line in lines[1:]}
    assert found <= listed, found - listed
    assert {"problem", "input", "step", "panels", "run"} <= found
