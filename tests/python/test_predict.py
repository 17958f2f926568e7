"""spanfft predict: imagined machines, what a transform would take on them, and what was published of them."""

from __future__ import annotations

import importlib.util
import json
import math
import random
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import spanfft
from conftest import cli
from spanfft._native import core
from spanfft._predict import largest_useful, machine_text, machines, ranks_up_to, strong, weak_problem
from spanfft._predict_check import check, random_file_problems, random_problems

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = {"blue-gene-l", "t3e", "sp2", "fleet", "duke-cluster", "jean-zay", "hector-xt4"}
# The peak that getrusage knows is the parent's where that was more.
PEAK = """
import spanfft
spanfft.predict({problem!r}, {machine!r}, 1000000)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:")))
"""


@pytest.fixture(scope="module")
def published() -> Any:
    spec = importlib.util.spec_from_file_location("published", ROOT / "bench" / "published.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_machines_of_the_papers_are_shipped_and_every_figure_has_its_source():
    assert set(machines()) == SHIPPED
    for name in machines():
        info = core.machine_read(machine_text(name))
        assert info["nodes"] >= 1
        lines = info["sheet"].splitlines()
        assert len(lines) >= 8
        for line in lines:
            figure, _, source = line.partition("#")
            assert source.strip(), f"{name}: {figure}has no source"


def test_a_shipped_machine_can_be_planned_for_too():
    done = cli("plan", "c2c 64x64x64", "--ranks", "16", "--machine", "jean-zay", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ranks"] == 16


def test_json_is_what_the_page_promises():
    done = cli("predict", "c2c 256x256x256", "--machine", "jean-zay", "--ranks", "40,2^8", "--json")
    assert done.returncode == 0, done.stderr
    predictions = json.loads(done.stdout)["predictions"]
    assert [each["ranks"] for each in predictions] == [40, 256]
    for each in predictions:
        assert math.isclose(sum(each["parts"].values()), each["seconds"], rel_tol=1e-9)
        assert set(each["parts"]) == {"compute", "memory", "wire", "disk", "barriers"}
        assert set(each["bounds"]) == {"bisection", "injection", "memory", "flops"}
        assert max(each["bounds"].values()) <= each["seconds"]
        assert math.prod(map(int, each["grid"].split("x"))) == each["ranks"]
        assert each["exchange"]
        assert each["limit"]
    found = spanfft.predict("c2c 256x256x256", "jean-zay", [40, 256])
    assert [each.seconds for each in found] == [each["seconds"] for each in predictions]


def test_the_table_says_what_limits_and_how_many_ranks_are_useful(tmp_path):
    done = cli("predict", "c2c 64x64x64", "--machine", "duke-cluster", "--ranks", "8", "--ranks-per-node", "1")
    assert done.returncode == 0, done.stderr
    assert "at least: " in done.stdout
    assert "exchange 1: " in done.stdout
    assert "not chosen: grid " in done.stdout
    assert "largest useful number of ranks: " in done.stdout


def test_scaling_is_printed_and_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "weak.svg"
    for more in (["--strong"], ["--weak", "--plot", str(picture)]):
        done = cli("predict", "c2c 32x32x32", "--machine", "duke-cluster", *more)
        assert done.returncode == 0, done.stderr
        assert [line.split()[0] for line in done.stdout.splitlines()[2:8]] == ["1", "2", "4", "8", "16", "32"]
    assert all(word in picture.read_text() for word in ("predicted", "at least, by flops", "seconds", "ranks"))


def test_counts_on_imagined_ranks_are_those_of_the_plans():
    for problem in ("c2c 64x48x80 grid=4x4 exchange=alltoallv", "c2c 65536 exchange=alltoallv"):
        (found,) = spanfft.predict(problem, "jean-zay", 16)
        plan = core.imagine(f"{problem} ranks=16", machine_text("jean-zay"), 40)
        counts = plan.predicted(-1, 0)
        for name in ("messages", "sent_bytes", "calls"):
            assert found.counts[name] == counts[name], (problem, name)


def test_counts_of_random_problems_are_those_of_the_plans():
    draw = random.Random(7)
    compared = 0
    lengths = (1, 2, 7, 12, 17, 31, 64, 97, 100, 128, 381)
    for _ in range(80):
        shape = "x".join(str(draw.choice(lengths)) for _ in range(draw.randint(1, 3)))
        words = [draw.choice(("c2c", "r2c", "dct2")), shape, draw.choice(("forward", "backward"))]
        words += draw.choice(([], ["output=exchanged"], ["batch=3"]))
        problem, ranks = " ".join(words), draw.choice((2, 3, 5, 8, 12, 16))
        machine, per_node = draw.choice(("jean-zay", "hector-xt4", "t3e")), draw.choice((1, 2, 4))
        (found,) = spanfft.predict(problem, machine, ranks, ranks_per_node=per_node)
        if not found.exchange:
            continue
        counts = plan_counts(problem, found, machine, ranks, per_node)
        compared += 1
        for name in ("messages", "sent_bytes", "calls"):
            assert found.counts[name] == counts[name], (problem, ranks, machine, per_node, name)
        assert math.isclose(found.counts["flops"], counts["flops"], rel_tol=1e-9), (problem, ranks)
    assert compared > 60


def plan_counts(problem: str, found: Any, machine: str, ranks: int, per_node: int) -> dict[str, Any]:
    """What rank 0 of the planner's plan is predicted to do, with what was foreseen to be fastest."""
    words = [word for word in problem.split() if not word.startswith("method=")]
    method = next((word for word in problem.split() if word.startswith("method=")), f"method={found.solver}")
    asked = f"{' '.join(words)} exchange={found.exchange} grid={found.grid} {method} ranks={ranks}"
    counts: dict[str, Any] = core.imagine(asked, machine_text(machine), per_node).predicted(-1, 0)
    return counts


def random_of_other_solvers(draw: random.Random) -> tuple[str, int]:
    """A problem for cyclic, ffte, soi or pencil_lines, and a number of ranks that it takes."""
    way = draw.choice(("", " backward"))
    sort = draw.choice(("cyclic", "cyclic", "ffte", "soi", "pencil_lines"))
    ranks = draw.choice((2, 4, 8))
    if sort == "cyclic":
        kind = draw.choice(("c2c", "r2c")) if way == "" else "c2c"
        return (
            f"{kind} {draw.choice((128, 192))}x{draw.choice((64, 320))}x{draw.choice((6, 64))}{way} layout=cyclic",
            ranks,
        )
    if sort == "pencil_lines":
        shape = draw.choice(("4096x2", "2x3x1024", "4x4096"))
        return f"c2c {shape}{way} method=pencil_lines", ranks
    if sort == "ffte":
        return f"c2c {draw.choice((4096, 46656 // 9 * 4, 32768))}{way} method=ffte", ranks
    return f"c2c {draw.choice((1 << 16, 3 << 16, 5 << 15))}{way} method=soi:digits={draw.choice((5, 8))}", ranks


def test_counts_of_cyclic_ffte_soi_and_pencil_lines_are_those_of_the_plans():
    draw = random.Random(11)
    compared: dict[str, int] = {}
    for _ in range(60):
        problem, ranks = random_of_other_solvers(draw)
        machine, per_node = draw.choice(("jean-zay", "hector-xt4")), draw.choice((1, 2, 4))
        (found,) = spanfft.predict(problem, machine, ranks, ranks_per_node=per_node)
        counts = plan_counts(problem, found, machine, ranks, per_node)
        for name in ("messages", "sent_bytes", "calls"):
            assert found.counts[name] == counts[name], (problem, ranks, machine, per_node, name)
        assert math.isclose(found.counts["flops"], counts["flops"], rel_tol=1e-9), (problem, ranks)
        assert math.isclose(sum(found.parts.values()), found.seconds)
        compared[found.solver] = compared.get(found.solver, 0) + 1
    assert set(compared) == {"cyclic", "ffte", "soi", "pencil_lines"}


def test_more_ranks_than_the_other_axes_feed_divide_a_long_axis():
    (found,) = spanfft.predict("c2c 8x8x65536", "jean-zay", 512)
    assert found.solver == "pencil_lines"
    done = cli("predict", "c2c 8x8x64 method=local", "--machine", "sp2", "--ranks", "4")
    assert "method local is not foreseen here; leave it out, or use pencil, pencil_lines" in done.stderr


@pytest.mark.parametrize("problem", ["c2c 4096x4096x4096", "c2c 1099511627776", "r2c 1099511627776"])
def test_a_million_ranks_take_two_seconds_and_little_memory(problem, tmp_path):
    machine = tmp_path / "large.txt"
    text = machine_text("blue-gene-l").replace("nodes 65536", "nodes 1000000").replace("64x32x32", "100x100x100")
    machine.write_text(text)
    code = PEAK.format(problem=problem, machine=str(machine))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2
    assert int(done.stdout) < 200 * 1024  # KiB


def test_mistakes_are_told_with_their_line_and_remedy(tmp_path):
    machine = tmp_path / "mine.txt"
    machine.write_text(machine_text("sp2").replace("latency_us 24", "latency_us -24"))
    done = cli("predict", "c2c 64x64", "--machine", str(machine), "--ranks", "4")
    assert done.returncode == 7, done.stderr
    assert "latency_us is '-24'; give one number from" in done.stderr
    for arguments, told in (
        (["--machine", "blue-gene", "--ranks", "4"], "did you mean 'blue-gene-l'?"),
        (["--ranks", "4"], "--machine is not given"),
        (["--machine", "sp2"], "give --ranks"),
        (["--machine", "sp2", "--ranks", "4", "--strong"], "one of them"),
        (["--machine", "sp2", "--ranks", "128"], "ask for 64 ranks at most"),
        (["--machine", "sp2", "--ranks", "0"], "'0' is no number of ranks"),
        (["--machine", "sp2", "--ranks", "2^99"], "is larger than any number of this sort"),
        (["--machine", "sp2", "--ranks", "4", "--ranks-per-node", "0"], "at least 1"),
    ):
        done = cli("predict", "c2c 64x64x64", *arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert told in done.stderr


def test_predictions_are_checked_here_on_random_problems(monkeypatch):
    assert random_problems(30, 1) == random_problems(30, 1) != random_problems(30, 2)
    for problem in random_problems(200, 3, 4096):
        assert 1024 <= math.prod(map(int, problem.split()[1].split("x"))) <= 4096
    found = check(3, seed=5, repeats=2)
    assert found is not None
    deviations = [abs(row["deviation"]) for row in found["rows"]]
    assert deviations == sorted(deviations, reverse=True)
    assert found["median_deviation"] == deviations[1]
    assert found["p95_deviation"] == deviations[0]
    for row in found["rows"]:
        assert math.isclose(row["predicted_seconds"], (1 + row["deviation"]) * row["measured_seconds"])
    assert found["machine"] == []  # it was not probed
    done = cli("predict", "--check", "2", "--machine", "sp2")
    assert done.returncode == 2
    assert "--check is of this machine" in done.stderr


def test_a_check_says_how_much_slower_the_machine_is_than_when_it_was_probed(tmp_path, monkeypatch):
    monkeypatch.setenv("SPANFFT_HOME", str(tmp_path / "home"))
    assert core.probe_kept() == ""
    figures = spanfft.probe(seconds=1)
    assert core.probe_kept() == figures
    lines = [line.split() for line in figures.splitlines()]
    for words in lines:
        if words[0] == "engine":  # as if it had been ten times as fast then
            words[6] = f"{10 * float(words[6]):g}"
    (kept,) = (tmp_path / "home" / "machines").iterdir()
    kept.unlink()
    kept.write_text("\n".join(" ".join(words) for words in lines) + "\n")
    # Now it is as it was; how long a probe takes while other tests run is no matter of this one.
    asked = []
    monkeypatch.setattr(spanfft._tune, "probe", lambda **given: asked.append(given) or figures)
    found = check(1, repeats=1)
    assert found is not None
    assert len(found["machine"]) == 4  # three rounds and the end
    assert [given["store"] for given in asked] == [False] * 4
    for beside in found["machine"]:
        assert math.isclose(beside["transforms"], 10, rel_tol=1e-5)
        assert beside["handover"] in (None, 1)
    done = cli("predict", "--check", "1", SPANFFT_HOME=str(tmp_path / "home"))
    assert re.search(r"^  transforms took      ( +\d+\.\d\d){4}$", done.stdout, re.MULTILINE)
    assert re.search(r"^  one processor waited( +(\d+\.\d\d|\?)){4} for another$", done.stdout, re.MULTILINE)


def test_files_are_checked_too_and_the_step_that_is_furthest_off_is_named(tmp_path, monkeypatch):
    for problem in random_file_problems(30, 2):
        spanfft._native.core.canonical(problem)
    monkeypatch.setattr(
        spanfft._predict_check, "random_file_problems", lambda count, seed: ["r2c 256x512 float memory=2228224"] * count
    )
    found = check(8, seed=2, repeats=1, folder=tmp_path)
    assert found is not None
    on_disk = [row for row in found["rows"] if "memory=" in row["problem"]]
    assert len(on_disk) == 2
    assert len(found["rows"]) == 8
    assert all(row["step"] in ("Sweep", "ReadBox", "Transform", "WriteBox") for row in on_disk)
    for row in found["rows"]:
        assert row["step"]
        assert row["measured_seconds"] > 0
    assert list(tmp_path.iterdir()) == []
    assert "--folder is for --check" in cli("predict", "c2c 64", "--folder", str(tmp_path)).stderr


def test_the_fits_of_p3_are_its_times():
    forward, inverse = (
        spanfft.predict(f"c2c 256x256x256 {way} output=exchanged grid=64 exchange=alltoallv", "t3e", 64)[0]
        for way in ("", "backward")
    )
    assert forward.fitted
    assert math.isclose(forward.parts["wire"] + inverse.parts["wire"], 1e-3 * (-26.527 + 13210.143 / (47.447 + 64)))
    assert math.isclose(forward.parts["compute"] + inverse.parts["compute"], 1e-3 * (-1.278 + 25779.423 / 64))


def test_a_fit_of_ones_own_rows_becomes_a_line_of_a_machine_file(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("np,seconds\n" + "".join(f"{np},{2e-3 + 0.8 / (3 + np):.12g}\n" for np in (1, 2, 4, 8, 16, 32)))
    done = cli("fit", str(rows), "--machine-line", "communication:64:s")
    assert done.returncode == 0, done.stderr
    machine = tmp_path / "mine.txt"
    machine.write_text(machine_text("jean-zay") + done.stdout)
    (found,) = spanfft.predict("c2c 64x64x64 output=exchanged exchange=alltoallv grid=8", str(machine), 8)
    assert found.fitted
    assert math.isclose(2 * found.parts["wire"], 2e-3 + 0.8 / 11, rel_tol=1e-6)
    assert "write PART:N:UNIT" in cli("fit", str(rows), "--machine-line", "communication").stderr


def measured_rows(path: Path, machine: Path, problems: dict[str, list[int]]) -> None:
    """Rows as spanfft bench prints them, of a machine that is known."""
    rows = [
        {"problem": found.problem, "ranks": found.ranks, "median_seconds": found.seconds}
        for problem, ranks in problems.items()
        for found in spanfft.predict(problem, machine, ranks)
    ]
    path.write_text(json.dumps({"rows": rows}))


def test_a_fit_of_timings_gives_a_whole_machine_file(tmp_path):
    rows, known, all_told, fitted = (tmp_path / name for name in ("rows.json", "known.txt", "all.txt", "fitted.txt"))
    known.write_text("spanfft-machine 1\nname ours  # of the test\nnodes 64\ncores_per_node 8\nnetwork fat_tree 8 2\n"
                     "message_us ?\n")  # fmt: skip
    figures = {"core_fft_gflops": 3, "node_memory_gb_per_second": 90, "link_gb_per_second": 6, "latency_us": 4}
    text = known.read_text().replace("message_us ?", "message_us 0.5")
    all_told.write_text(text + "".join(f"{name} {value}\n" for name, value in figures.items()))
    small, large = "c2c 16x16x16 exchange=alltoallv", "c2c 256x256x256 exchange=alltoallv"
    measured_rows(rows, all_told, {small: [1, 8, 64, 256], large: [1, 8, 64, 256], "c2c 1024 exchange=alltoallv": [1]})
    done = cli("fit", str(rows), "--sheet", str(known), "--output", str(fitted))
    assert done.returncode == 0, done.stderr
    found = dict(line.split("#")[0].split(maxsplit=1) for line in fitted.read_text().splitlines()[1:])
    for name, value in {**figures, "message_us": 0.5}.items():
        assert math.isclose(float(found[name]), value, rel_tol=0.1), (name, found[name])
    assert "9 rows" in fitted.read_text()
    (again,) = spanfft.predict("c2c 128x128x128", fitted, 128)
    (truly,) = spanfft.predict("c2c 128x128x128", all_told, 128)
    assert math.isclose(again.seconds, truly.seconds, rel_tol=0.05)


def test_a_fit_names_what_is_missing(tmp_path):
    rows, sheet, machine = (tmp_path / name for name in ("rows.json", "sheet.txt", "machine.txt"))
    text = "spanfft-machine 1\nnodes 64\ncores_per_node 8\nnetwork switch\nnode_memory_gb_per_second 90\n"
    machine.write_text(f"{text}core_fft_gflops 3\nlink_gb_per_second 6\nlatency_us 4\n")
    measured_rows(rows, machine, {"c2c 64x64x64": [1], "c2c 128x128x128": [1], "c2c 256x256": [1]})
    for told, status, says in (
        (text, 2, "no row depends on link_gb_per_second, latency_us: give it a value in the sheet, or measure: "
         "link_gb_per_second needs large arrays on several nodes"),
        (text.replace("network switch\n", ""), 7, "the data sheet lacks network"),
        (text.replace("nodes 64", "nodes ?"), 2, "nodes is '?', and rows can't tell it"),
        (machine.read_text(), 2, "has every figure; write '?'"),
        (text.split("\n", 1)[1], 7, "must begin with 'spanfft-machine 1'"),
        (text.replace("node_memory_gb_per_second 90\n", "message_us ?\nalltoall_share ?\n"), 2, "3 rows can't tell 6"),
    ):  # fmt: skip
        sheet.write_text(told)
        done = cli("fit", str(rows), "--sheet", str(sheet))
        assert (done.returncode, says in done.stderr) == (status, True), (says, done.stderr)
    rows.write_text('[{"ranks": 1, "seconds": 2}]')
    sheet.write_text(text)
    assert "row 1 has no problem; give columns problem" in cli("fit", str(rows), "--sheet", str(sheet)).stderr


def test_files_are_priced_on_machines_with_disks():
    (found,) = spanfft.predict("c2c 33554432 memory=16MiB", "fleet", 4)
    assert found.limit == "disk"
    assert math.isclose(sum(found.parts.values()), found.seconds)
    assert "has no disks" in cli("predict", "c2c 33554432 memory=16MiB", "--machine", "sp2", "--ranks", "4").stderr


def test_blue_gene_collapses_where_messages_are_smaller_than_a_packet():
    # P2, section 5: performance of 2^30 points drops on 64K nodes, that of 2^34 does not.
    rates = {
        lg: [each.gflops for each in spanfft.predict(f"c2c {2**lg}", "blue-gene-l", [16384, 65536])] for lg in (30, 34)
    }
    assert rates[30][1] < rates[30][0]
    assert rates[34][1] > rates[34][0]


def test_the_largest_useful_number_of_ranks_is_where_doubling_stops_paying():
    forecasts = strong("c2c 1073741824", "blue-gene-l")
    useful = largest_useful(forecasts)
    times = {each.ranks: each.seconds for each in forecasts}
    assert times[useful.ranks] == useful.seconds
    assert useful.next_seconds > 0.9 * useful.seconds
    assert "times as long" in useful.why
    assert ranks_up_to("hector-xt4")[-1] == 4 * 5664


def test_weak_problems_have_as_many_points_a_rank():
    assert weak_problem("c2c 32x32x32", 1) == "c2c 32x32x32"
    assert weak_problem("c2c 32x32x32 float", 4) == "c2c 64x64x32 float"
    assert weak_problem("c2c 1024", 64) == "c2c 65536"


def test_the_page_has_the_comparison_that_is_computed(published):
    page = (ROOT / "docs" / "foresight.md").read_text()
    shown = page.split(published.BEGIN)[1].split(published.END)[0].strip()
    assert shown == published.table(), "write it anew: ./spanfft-dev run python bench/published.py --write"


def test_published_rows_name_their_source_and_a_miss_is_marked(published):
    data = json.loads(published.ROWS.read_text())
    for row in data["rows"]:
        assert row["source"] in data["sources"]
        assert row["machine"] in SHIPPED
    missed = sum(abs(published.deviation(row)) > row["allowed"] for row in data["rows"])
    assert published.table().count(", missed") == missed
