"""What a process really takes, planning included: every solver of files and every format, within budget and allowance.

A fresh process opens the libraries, notes what it has had in memory at most, and transforms; what came on top is held
to the budget and the allowance that docs/howto/limit-memory.md states.
"""

import json
import math
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from conftest import cli_environment, mpiexec
from spanfft._analyse import METHODS
from spanfft._memory import parse_bytes

MiB = 1 << 20
ALLOWANCE = 64 * MiB  # as docs/howto/limit-memory.md says: engines, thread stacks, pages of code and of the C library

PROGRAM = """
import json, sys
import numpy as np
import spanfft
from spanfft._cli_transform import _peak_resident_bytes

arguments = json.loads(sys.argv[1])
if arguments.pop("library", None) == "h5py":
    import h5py
elif "zarr" in arguments["output"]:
    import zarr
    zarr.create_array(store=zarr.storage.MemoryStore(), shape=(4,), dtype="c8")[:] = 1
for dtype in ("complex64", "complex128"):
    spanfft.fftn(np.ones((6, 17), dtype))  # opens the engines
before = _peak_resident_bytes()
result = spanfft.transform(arguments.pop("input"), arguments.pop("output"), **arguments)
report = result.report
print(json.dumps([_peak_resident_bytes() - before, result.explain]))
"""


def grown(arguments: dict) -> tuple[int, str]:
    run = subprocess.run([sys.executable, "-c", PROGRAM, json.dumps(arguments)], capture_output=True, text=True,
                         timeout=120)  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout.splitlines()[-1])


def solver_of(explain: str) -> str:
    return next(line.split(maxsplit=1)[1] for line in explain.splitlines() if line.startswith("solver"))


SOLVERS = [
    ("file_in_memory", (1 << 20,), "complex64", "32MiB", {}),
    # In place: budget and allowance together don't hold two arrays.
    ("file_in_memory", (1 << 24,), "complex64", "144MiB", {}),
    ("file_in_memory", (1 << 25,), "float32", "144MiB", {}),
    ("file_in_memory", (4000, 4100), "complex64", "144MiB", {}),
    ("scratch_in_memory", (2048, 1024), "complex64", "20MiB", {"method": "scratch_in_memory"}),
    ("scratch_in_memory", (1 << 21,), "complex64", "24MiB", {"method": "scratch_in_memory"}),
    ("axis_sweeps", (2048, 1024), "complex64", "8MiB", {"method": "axis_sweeps"}),
    ("axis_sweeps", (4096, 4096), "float32", "16MiB", {"method": "axis_sweeps"}),  # the first axis in two sweeps
    ("two_sweeps", (4096, 4096), "float32", "16MiB", {}),  # rows transformed on the way
    ("two_sweeps", (4096, 512), "complex64", "8MiB", {"method": "two_sweeps"}),
    ("two_sweeps", (1 << 21,), "complex64", "8MiB", {"method": "two_sweeps"}),
    ("superlevels", (1 << 21,), "complex64", "8MiB", {"method": "superlevels"}),
    *((name, (1 << 21,), "complex64", "8MiB", {"method": name}) for name in METHODS),
    ("many_sweeps", (1 << 21,), "complex64", "4MiB", {"method": "many_sweeps"}),
    ("chirp_sweeps", (1000003,), "complex64", "8MiB", {}),
    # Two arrays fit, the engine's convolution does not: 220 to 290 MiB once.
    ("chirp_sweeps", (2564363,), "complex64", "60MiB", {}),
]


@pytest.mark.parametrize(("solver", "shape", "dtype", "memory", "options"), SOLVERS)
def test_every_solver_of_files_keeps_within_its_budget_and_the_allowance(
    solver, shape, dtype, memory, options, tmp_path
):
    x = np.lib.format.open_memmap(tmp_path / "in.npy", "w+", dtype, shape)
    x[...] = np.arange(x.size, dtype="float32").reshape(shape) % 101
    x.flush()
    del x
    arguments = {"input": str(tmp_path / "in.npy"), "output": str(tmp_path / "out.npy"), "memory": memory, **options}
    peak, explain = grown(arguments)
    assert solver_of(explain).startswith(solver)
    assert peak <= parse_bytes(memory) + ALLOWANCE, (peak / MiB, memory)


# --- every solver with every format -----------------------------------------------------------------------------------

# Of a process that has done the same before: what comes on top is then the interpreter's, the formats' libraries', the
# engine's.
SLACK = 2 * MiB

# Each block from 128 KiB on is then a mapping of its own, which is in memory while it is allocated and no longer. The C
# library's heaps, one a thread, would else be counted too: which of their pages are in memory depends on how threads
# happen to meet, and differed by 4 MiB from one run to the next.
EXACT = {"MALLOC_MMAP_THRESHOLD_": str(128 << 10)}

# Runs each case three times and prints how much more the process had in memory at most than before, the first time and
# the worse one of the others, and what the plan says.
PAIRS_PROGRAM = """
import ctypes, json, sys
import numpy as np
import spanfft
from spanfft._cli_transform import _peak_resident_bytes

def in_memory_now():
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is what is there now
    return _peak_resident_bytes()

found = []
for case in json.loads(sys.argv[1]):
    grown = []
    for _ in range(3):
        before = in_memory_now()
        result = spanfft.transform(**case)
        grown.append(_peak_resident_bytes() - before)
    report = result.report
    found.append([grown[0], max(grown[1:]), report["solver"], report["peak_memory_bytes"], result.memory_bytes])
print(json.dumps(found))
"""

# What each solver is given: the shape, the budget, and whether a half spectrum (of real numbers) can be had by it. No
# array fits budget and slack together, but for the one that has to. "of rows": an axis with another behind it.
PAIRS = {
    "file_in_memory": ((1024, 1024), "40MiB", True),
    "axis_sweeps": ((1024, 1024), "3MiB", False),
    "two_sweeps of rows": ((2048, 512), "3MiB", False),
    "two_sweeps": ((1 << 20,), "3MiB", True),
    "superlevels": ((1 << 20,), "3MiB", False),
    "many_sweeps": ((1 << 20,), "3MiB", True),
    "chirp_sweeps": ((1000003,), "3MiB", False),
}
FORMATS = {"npy": "in.npy", "raw": "in.raw", "hdf5": "in.h5", "zarr": "in.zarr", "presto": "in.dat"}


def write_array(form: str, path, shape: tuple[int, ...], dtype: str) -> dict:
    """A ramp in a file of this format, and what spanfft has to be told to read it."""
    x = (np.arange(np.prod(shape), dtype="float32") % 101).astype(dtype).reshape(shape)
    chunks = tuple(n // (4 if len(shape) > 1 else 16) for n in shape)
    if form == "npy":
        np.save(path, x)
    elif form in ("raw", "presto"):
        x.tofile(path)
    elif form == "hdf5":
        import h5py

        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=x, chunks=chunks)
    else:
        import zarr

        zarr.create_array(store=path, shape=shape, dtype=dtype, chunks=chunks)[...] = x
    if form == "presto":
        path.with_suffix(".inf").write_text(
            " Data file name without suffix          =  in\n"
            f" Number of bins in the time series      =  {x.size}\n"
            " Width of each time series bin (sec)    =  0.001\n"
        )
    return {"dtype": dtype, "shape": list(shape)} if form == "raw" else {}


def pairs_of(form: str, folder) -> list[dict]:
    cases = []
    for solver, (shape, memory, halves) in PAIRS.items():
        folder_of_pair = folder / solver
        folder_of_pair.mkdir()
        source = folder_of_pair / FORMATS[form]
        method = {} if solver == "file_in_memory" else {"method": solver.removesuffix(" of rows")}
        if form != "presto":
            told = write_array(form, source, shape, "complex64")
            target = source.with_stem("out")
            cases.append({"input": str(source), "output": str(target), "memory": memory, **told, **method})
        elif halves:  # PRESTO's files are real series and packed half spectra: there and back
            write_array(form, source, (2 * math.prod(shape),), "float32")
            spectrum, back = source.with_name("in.fft"), source.with_name("back.dat")
            cases.append({"input": str(source), "output": str(spectrum), "memory": memory, **method})
            cases.append({"input": str(spectrum), "output": str(back), "memory": memory, **method})
    return cases


@pytest.mark.parametrize("form", FORMATS)
def test_every_solver_with_every_format_takes_what_its_plan_says(form, tmp_path):
    library = {"hdf5": "h5py", "zarr": "zarr"}.get(form)
    if library and find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    cases = pairs_of(form, tmp_path)
    run = subprocess.run([sys.executable, "-c", PAIRS_PROGRAM, json.dumps(cases)], capture_output=True, text=True,
                         timeout=120, env={**os.environ, **EXACT})  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    found = json.loads(run.stdout.splitlines()[-1])
    assert len(found) == len(cases) >= 6
    too_much = []
    for case, (first, again, solver, said, budget) in zip(cases, found, strict=True):
        assert solver.startswith(case.get("method", "file_in_memory")), solver
        assert said <= budget, (case, said)
        # Chunks that a library decodes and encodes are in the budget, not in the plan's own memory. One long line in
        # memory takes of an engine what no plan counts: as much as both arrays.
        most = budget if form in ("hdf5", "zarr") else said
        if form == "presto" and solver.startswith("file_in_memory"):
            most *= 2
        if first > budget + ALLOWANCE or again > most + SLACK:
            too_much.append((solver, first / MiB, again / MiB, most / MiB))
    assert not too_much, too_much


@pytest.mark.parametrize(
    "problem",
    ["dst4 4000037 longdouble memory=130MiB", "dct1 4194304 double memory=40MiB", "c2c 2564363 float memory=60MiB",
     "c2c 1048583 double memory=64MiB"],
)  # fmt: skip
def test_planning_alone_keeps_within_the_budget_and_the_allowance(problem):
    program = (
        "import sys, numpy, spanfft\n"
        "from spanfft._native import core\n"
        "from spanfft._cli_transform import _peak_resident_bytes\n"
        "spanfft.fftn(numpy.ones((6, 17), 'complex64'))\n"
        "before = _peak_resident_bytes()\n"
        "try:\n"
        "    core.imagine(sys.argv[1])\n"
        "except spanfft.Error:\n"
        "    pass\n"
        "print(_peak_resident_bytes() - before)\n"
    )
    run = subprocess.run([sys.executable, "-c", program, problem], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr[-2000:]
    memory = parse_bytes(problem.rsplit("=", 1)[1])
    assert int(run.stdout) <= memory + ALLOWANCE, (int(run.stdout) / MiB, problem)


# --- arrays in memory, on ranks too -------------------------------------------------------------------------------

# Makes and runs each plan twice; of the second: how much more this rank had in memory at most than before, arrays
# included, and what its plan says. Ranks wait for one another, so that none is measured while another one still frees.
PLANS_PROGRAM = """
import ctypes, gc, json, sys
import numpy as np
import spanfft
from spanfft._cli_transform import _peak_resident_bytes

ranks = int(sys.argv[2])
comm = None
if ranks > 1:
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    assert comm.size == ranks

def in_memory_now():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    if comm:
        comm.Barrier()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return _peak_resident_bytes()

found = []
for case in json.loads(sys.argv[1]):
    shape, options = case.pop("shape"), case
    for _ in range(2):
        before = in_memory_now()
        with spanfft.Plan(shape, comm=comm, **options) as plan:
            u = np.ones(plan.input_shape, options["dtype"])
            out = plan.forward(u)
            grown, solver = _peak_resident_bytes() - before, plan.solver
            said = plan.report()["peak_memory_bytes"]
            del u, out
    found.append([grown, said, solver])
everyones = comm.gather(found) if comm else [found]
if everyones:
    print(json.dumps(everyones))
"""

# Of each: the solver, what is planned, and MiB that come on top and are not the plan's. An engine takes for one long
# line as much as both arrays; ranks that read one another's windows have those pages too.
MEMORY_PLANS = [
    ("local", {"shape": (1024, 1024), "dtype": "complex128"}, 0),
    ("local", {"shape": (1024, 2048), "dtype": "float64", "kind": "r2c"}, 0),
    ("local", {"shape": (1024, 2048), "dtype": "float64", "kind": "dct2"}, 0),
    ("local", {"shape": (1 << 21,), "dtype": "float64", "kind": "r2c"}, 32),
    ("chirp_line", {"shape": (1048573,), "dtype": "complex128", "method": "chirp_line"}, 32),
]
CUBE = {"shape": (128, 128, 128), "dtype": "complex128"}  # 16 MiB a rank
HALVED = {"shape": (256, 128, 128), "dtype": "float64", "kind": "r2c"}
LINE = {"shape": (1 << 21,), "dtype": "complex128"}
REAL_LINE = {"shape": (1 << 22,), "dtype": "float64", "kind": "r2c"}
PRIME = {"shape": (1048573,), "dtype": "complex128"}
LONG_AXIS = {"shape": (2, 1 << 20), "dtype": "complex128"}
IN_MESSAGES = ("alltoallw", "alltoallv", "oneplane", "standard", "replace", "overlap", "blockvector", "phased",
               "persistent", "compressed")  # fmt: skip
PLANS_ON_RANKS = [
    *(("pencil", {**CUBE, "exchange": name}, 0) for name in IN_MESSAGES),
    ("pencil", {**HALVED, "exchange": "alltoallv"}, 0),
    ("pencil", {**CUBE, "exchange": "hierarchical"}, 16),
    ("shared", {**CUBE, "exchange": "shared"}, 16),
    ("shared", {**HALVED, "exchange": "shared"}, 16),
    ("cyclic", {**CUBE, "layout": "cyclic", "exchange": "alltoallv"}, 0),
    ("cyclic", {**CUBE, "layout": "cyclic", "exchange": "shared"}, 16),
    ("lines", {**LINE, "method": "lines", "exchange": "alltoallv"}, 0),
    ("lines", {**REAL_LINE, "method": "lines", "exchange": "alltoallv"}, 0),
    ("shared_lines", {**LINE, "method": "shared_lines"}, 32),
    ("shared_lines", {**REAL_LINE, "method": "shared_lines"}, 32),
    ("chirp_lines", {**PRIME, "method": "chirp_lines", "exchange": "alltoallv"}, 0),
    ("shared_chirp_lines", {**PRIME, "method": "shared_chirp_lines"}, 40),  # rank 0 reads the others' input as well
    ("pencil_lines", {**LONG_AXIS, "method": "pencil_lines", "exchange": "alltoallv"}, 0),
    ("shared_pencil_lines", {**LONG_AXIS, "method": "shared_pencil_lines"}, 32),
    ("ffte", {**LINE, "method": "ffte", "exchange": "alltoallv"}, 0),
    ("soi", {**LINE, "method": "soi:digits=9", "exchange": "alltoallv"}, 20),  # of the engine's, for its line
]
RANK_SLACK = 12 * MiB  # MPI's own buffers


def plans_run(plans: list[tuple[str, dict, int]], launcher: list[str], ranks: int) -> list[list[list]]:
    arguments = [sys.executable, "-c", PLANS_PROGRAM, json.dumps([case for _, case, _ in plans]), str(ranks)]
    run = subprocess.run([*launcher, *arguments], capture_output=True, text=True, timeout=120,
                         env={**cli_environment(), **EXACT})  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout.splitlines()[-1])


def check_plans(plans: list[tuple[str, dict, int]], everyones: list[list[list]], slack: int) -> None:
    too_much = []
    for found in everyones:
        for (wanted, case, more), (grown_bytes, said, solver) in zip(plans, found, strict=True):
            assert solver == wanted, case
            if grown_bytes > said + more * MiB + slack:
                too_much.append((case, grown_bytes / MiB, said / MiB))
    assert not too_much, too_much


FILE_ON_RANKS_PROGRAM = """
import ctypes, json, sys
from mpi4py import MPI
import spanfft
from spanfft._cli_transform import _peak_resident_bytes

comm = MPI.COMM_WORLD
found = []
for method in json.loads(sys.argv[3]):
    for _ in range(2):
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        before = _peak_resident_bytes()
        result = spanfft.transform(sys.argv[1], sys.argv[2], memory="16MiB", method=method, comm=comm)
        grown = _peak_resident_bytes() - before
    found.append([method, grown, result.report["solver"]])
everyones = comm.gather(found)
if everyones:
    print(json.dumps(everyones))
"""


def test_methods_for_several_processors_keep_within_their_budget_on_ranks(tmp_path):
    pytest.importorskip("mpi4py")
    np.save(tmp_path / "in.npy", (np.arange(1 << 22, dtype="float32") % 101).astype("complex64"))
    methods = [name + options for name in METHODS for options in ("", ":sync")]
    paths = [str(tmp_path / name) for name in ("in.npy", "out.npy")]
    command = [mpiexec(), "-n", "2", sys.executable, "-c", FILE_ON_RANKS_PROGRAM, *paths, json.dumps(methods)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, env=cli_environment())
    assert run.returncode == 0, run.stderr[-2000:]
    everyones = json.loads(run.stdout.splitlines()[-1])
    assert len(everyones) == 2
    for found in everyones:
        assert [method for method, _, _ in found] == methods
        for method, grown_bytes, solver in found:
            assert method.startswith(solver)
            assert grown_bytes <= 16 * MiB + RANK_SLACK, (method, grown_bytes / MiB)


def test_every_solver_is_here():
    table = Path(__file__).resolve().parents[2] / "src" / "solvers" / "table.cpp"
    solvers = set(re.findall(r'\{"(\w+)", "[^"]*",\s', table.read_text()))
    assert len(solvers) > 10
    held = {name for name, *_ in (*SOLVERS, *MEMORY_PLANS, *PLANS_ON_RANKS)}
    assert held == solvers


def test_plans_in_memory_take_what_they_say():
    check_plans(MEMORY_PLANS, plans_run(MEMORY_PLANS, [], 1), SLACK)


def test_plans_on_ranks_take_what_they_say():
    pytest.importorskip("mpi4py")
    launcher = mpiexec()
    if launcher is None:
        pytest.skip("no mpiexec")
    ranks = 2
    more = ["--oversubscribe"] if "openmpi" in os.environ.get("SPANFFT_DEV_MPI", "") else []
    everyones = plans_run(PLANS_ON_RANKS, [launcher, *more, "-n", str(ranks)], ranks)
    assert len(everyones) == ranks
    check_plans(PLANS_ON_RANKS, everyones, RANK_SLACK)
