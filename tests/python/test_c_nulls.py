"""Every function of the C header with NULL in the place of each pointer: an error, or the value that the header says.

The header itself is the list: a function that is not in the tables below must refuse every NULL.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import spanfft
from conftest import cli_environment

HEADER = Path(__file__).parents[2] / "include/spanfft/spanfft.h"
LIBRARY = next(Path(spanfft.__file__).parent.glob("libspanfft.so*"))
LIMIT_SECONDS = 60

# What functions that return no code say of a plan that is NULL.
OF_NO_PLAN = {
    **dict.fromkeys(
        ("input_bytes", "output_bytes", "input_shape", "output_shape", "rank", "ranks", "steps", "notes"), 0
    ),
    **dict.fromkeys(("peak_memory_bytes", "sweeps", "scratch_bytes", "resumed_bytes"), 0),
    **dict.fromkeys(("solver", "engines", "note"), ""),
    "output_array": None,
    "input_array": None,
}
# Where NULL is allowed, and is no error on its own.
ALLOWED = {
    *(("spanfft_" + name, "comm") for name in ("plan_create", "plan_parse", "plan_parse_boxes", "probe", "comm_free")),
    ("spanfft_plan_free", "plan"),
    *(("spanfft_plan_parse_boxes", name) for name in ("real_box", "spectrum_box")),
    *(("spanfft_plan_parse_undoing", name) for name in ("real_box", "spectrum_box", "comm", "undone")),
    ("spanfft_halo_free", "halo"),
    ("spanfft_halo_bytes", "halo"),  # 0
    ("spanfft_halo_part_bytes", "halo"),  # 0
    ("spanfft_foresight_free", "foresight"),
    ("spanfft_foresight_plans", "foresight"),  # none
    ("spanfft_free", "memory"),
    ("spanfft_set_error", "sentence"),
    ("spanfft_problem_init_bytes", "problem"),
    ("spanfft_problem_init_bytes", "shape"),
    ("spanfft_tuning_import", "added"),
    ("spanfft_tuning_forget", "problem"),
    ("spanfft_tuning_forget", "removed"),
    ("spanfft_probe", "machine"),
    ("spanfft_probe_kept", "comm"),
    ("spanfft_plan_imagine_nodes", "machine"),
    ("spanfft_execute_unless", "sentence"),
    ("spanfft_plan_input_shape", "shape"),
    ("spanfft_plan_output_shape", "shape"),
    ("spanfft_plan_set_callbacks", "callbacks"),
    ("spanfft_disk_io", "io"),
    ("spanfft_permute_plan", "report"),
    ("spanfft_permute_plan", "text"),
    *(("spanfft_permute_file", name) for name in ("header", "progress", "user", "report")),
    *(("spanfft_transform_" + name, "scratch_folder") for name in ("file", "stores", "in_place")),
    *(("spanfft_transform_" + name, "progress") for name in ("file", "stores", "in_place")),
    *(("spanfft_transform_" + name, "user") for name in ("file", "stores", "in_place")),
    ("spanfft_transform_file", "header"),
}
# NULL is allowed and means a probe of 40 s.
TOO_LONG = {("spanfft_probe", "options")}

CALLER = r"""
import ctypes, json, struct, sys
library, functions = ctypes.CDLL(sys.argv[1]), json.loads(sys.argv[2])
library.spanfft_last_error.restype = ctypes.c_char_p
kept, ROOM = [], 4096
folder = sys.argv[3].encode()

def struct_of(name):
    memory = ctypes.create_string_buffer(ROOM)
    kept.append(memory)
    if name == "spanfft_problem":
        library.spanfft_problem_init_bytes(memory, ctypes.c_size_t(ROOM), 1, (ctypes.c_int64 * 1)(8))
    elif name == "spanfft_probe_options":
        struct.pack_into("Ndii", memory, 0, ROOM, 0.1, 1, 1)
    else:
        struct.pack_into("N", memory, 0, ROOM)
    return memory

def plan_for(function):
    plan = ctypes.c_void_p()
    text = b"c2c 8 memory=1MiB" if "transform" in function or "callbacks" in function else b"c2c 8"
    assert library.spanfft_plan_parse(text, None, ctypes.byref(plan)) == 0
    return plan

MACHINE = (b"spanfft-machine 1\nnodes 8\ncores_per_node 1\ncore_fft_gflops 1\nnode_memory_gb_per_second 10\n"
           b"network switch\nlink_gb_per_second 1\nlatency_us 2\n")

def foresight_for():
    foresight = ctypes.c_void_p()
    assert library.spanfft_foresee(b"c2c 64x64 ranks=4", MACHINE, 0, ctypes.byref(foresight)) == 0
    return foresight

def halo_for():
    halo, widths = ctypes.c_void_p(), (ctypes.c_int64 * 1)(1)
    assert library.spanfft_halo_create(plan_for(""), widths, widths, ctypes.byref(halo)) == 0
    return halo

def good(function, kind, name):
    if kind in ("spanfft_comm*", "spanfft_progress"):
        return None
    if kind.endswith("spanfft_plan*"):
        return plan_for(function)
    if kind.endswith("spanfft_foresight*"):
        return foresight_for()
    if kind.endswith("spanfft_halo*"):
        return halo_for()
    if kind == "const char* const*":
        return (ctypes.c_char_p * 1)(folder)
    if kind.endswith("**"):
        kept.append(ctypes.c_void_p())
        return ctypes.byref(kept[-1])
    if kind == "const char*":
        paths = {"input_path": b"/in", "output_path": b"/out", "path": b"/array", "folder": b"/lib"}
        return folder + paths[name] if name in paths else {
            "kind": b"identity", "scratch_folder": folder, "io": b"threads", "machine": b"", "sentence": b"said"
        }.get(name, b"c2c 8")
    if kind.removeprefix("const ").startswith("spanfft_"):
        return struct_of(kind.removeprefix("const ").rstrip("*"))
    if kind.endswith("*"):
        return None if function == "spanfft_free" else struct_of("")
    return ctypes.c_int64(1) if "64" in kind else ctypes.c_size_t(64) if kind == "size_t" else ctypes.c_int(1)

for function, returns, parameters in functions:
    call = getattr(library, function)
    call.restype = {"int64_t": ctypes.c_int64, "const char*": ctypes.c_char_p, "void*": ctypes.c_void_p}.get(
        returns, ctypes.c_int)
    pointers = [name for kind, name in parameters if kind.endswith("*") or kind == "spanfft_progress"]
    for null in [[name] for name in pointers] + [pointers] * bool(pointers):
        if (function, null) in [("spanfft_probe", ["options"]), ("spanfft_probe", pointers)]:
            continue
        values = [None if name in null else good(function, kind, name) for kind, name in parameters]
        print(json.dumps(["call", function, null]), flush=True)
        result = call(*values)
        result = result.decode() if isinstance(result, bytes) else result
        print(json.dumps(["done", None if returns == "void" else result, library.spanfft_last_error().decode()]),
              flush=True)
"""


def functions() -> list[tuple[str, str, list[tuple[str, str]]]]:
    """(name, what it returns, [(type, name) of each parameter]) of every function of the header."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    found = []
    for returns, name, inside in re.findall(r"SPANFFT_API\s+([\w\s*]+?)\s*\b(spanfft_\w+)\s*\(([^;]*?)\);", text):
        parameters = []
        for each in inside.split(",") if inside.strip() != "void" else []:
            kind, parameter = re.fullmatch(r"(.*?)(\w+)", " ".join(each.split())).groups()
            parameters.append((kind.strip(), parameter))
        found.append((name, returns.strip(), parameters))
    assert len(found) == text.count("SPANFFT_API") - 1  # one is its definition
    return found


WITH_POINTERS = [function for function in functions() if any("*" in kind for kind, _ in function[2])]


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict[tuple[str, tuple[str, ...]], tuple[object, str]]:
    """What each function returned for each NULL, and the sentence; a crash ends the list, and names its call."""
    folder = tmp_path_factory.mktemp("nulls")
    done = subprocess.run(
        [sys.executable, "-c", CALLER, LIBRARY, json.dumps(functions()), folder],
        capture_output=True, text=True, timeout=LIMIT_SECONDS, env=cli_environment(), cwd=folder,
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"ended with {done.returncode} in {lines[-1:]} {done.stderr}"
    called, said = lines[::2], lines[1::2]
    return {(c[1], tuple(c[2])): (s[1], s[2]) for c, s in zip(called, said, strict=True)}


def test_no_null_ends_the_process(answers):
    assert len(answers) > 100
    assert {name for name, _, _ in WITH_POINTERS} == {name for name, _ in answers}


@pytest.mark.parametrize("function", WITH_POINTERS, ids=lambda function: function[0])
def test_a_null_is_refused_or_has_the_value_that_the_header_says(function, answers):
    name, returns, parameters = function
    for kind, parameter in parameters:
        if ("*" not in kind and kind != "spanfft_progress") or (name, parameter) in ALLOWED | TOO_LONG:
            continue
        answer, sentence = answers[name, (parameter,)]
        query = name.removeprefix("spanfft_plan_")
        if parameter == "plan" and query in OF_NO_PLAN:
            assert answer == OF_NO_PLAN[query], parameter
        else:
            assert returns == "int", parameter
            assert answer != 0, f"{name} took NULL as {parameter}"
            assert sentence, parameter
