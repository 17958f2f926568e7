"""Plan in one process: layouts, kinds, types, arguments, engines, explain, counts, threads."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
import scipy.fft
import spanfft
from conftest import assert_plan, assert_transform, assert_within_rule, reference, relative_error
from soak import oracle
from spanfft import Plan

ENGINES = [engine["name"] for engine in spanfft.info()["engines"]]


def numbers(rng, shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "clongdouble"])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_c2c(dtype, norm, rng):
    for shape, axes in [
        ((8,), None),
        ((6, 10), None),
        ((3, 4, 5), (0, 2)),
        ((4, 1, 9), (-1,)),
        ((2, 3, 2, 3, 2, 5), None),
    ]:
        plan = Plan(shape, dtype, axes=axes, norm=norm)
        u = numbers(rng, shape, dtype)
        kept = u.copy()
        v = plan.forward(u)
        assert np.array_equal(u, kept)
        assert v.dtype == u.dtype
        assert_plan(plan, u, axes=axes, norm=norm)


@pytest.mark.parametrize("dtype", ["float32", "float64", "longdouble"])
def test_r2c(dtype, rng):
    for shape, axes in [((9,), None), ((6, 11), None), ((3, 4, 5), (2, 0)), ((4, 1), None), ((5, 4, 3, 2), (1, 3))]:
        plan = Plan(shape, dtype, axes=axes, kind="r2c")
        u = numbers(rng, shape, dtype)
        v = plan.forward(u)
        assert v.dtype == np.result_type(np.dtype(dtype), 1j)
        assert v.shape == plan.spectrum_shape == plan.output_shape
        kept = v.copy()
        plan.backward(v)
        assert np.array_equal(v, kept)
        assert_plan(plan, u, "r2c", axes)


@pytest.mark.parametrize("kind", [f"{family}{t}" for family in ("dct", "dst") for t in (1, 2, 3, 4)])
def test_cosine_and_sine(kind, rng):
    assert_plan(Plan((6, 5), "float64", kind=kind), numbers(rng, (6, 5), float), kind)


def test_mixed_kinds(rng):
    u = numbers(rng, (6, 5, 8), float)
    kinds = ["dct2", "dst3", "r2c"]
    assert_plan(Plan(u.shape, "float64", kind=kinds), u, kinds)


def test_layout_of_one_process():
    plan = Plan((5, 6), "float32", kind="r2c")
    assert plan.shape == plan.input_shape == (5, 6)
    assert plan.spectrum_shape == plan.output_shape == (5, 4)
    assert plan.input_slices == (slice(0, 5), slice(0, 6))
    assert plan.output_slices == (slice(0, 5), slice(0, 4))
    assert plan.ranks == 1
    assert plan.comm is None
    for array, shape, dtype in [
        (plan.input_array(), (5, 6), np.float32),
        (plan.output_array(), (5, 4), np.complex64),
    ]:
        assert array.shape == shape
        assert array.dtype == dtype
        assert array.ctypes.data % 64 == 0
        assert not array.any()


def test_out_and_strides(rng):
    plan = Plan((6, 8), "complex128")
    u = numbers(rng, (6, 8), complex)
    out = plan.output_array()
    assert plan.forward(u, out) is out
    assert_transform(out, u)
    wide = np.zeros((12, 8), complex)
    assert plan.forward(np.asfortranarray(u), out=wide[::2]) is not None
    assert_transform(wide[::2], u)
    assert not wide[1::2].any()
    same = u.copy()
    assert plan.forward(same, out=same) is same
    assert_transform(same, u)
    overlapping = np.zeros((7, 8), complex)
    overlapping[:6] = u
    plan.forward(overlapping[:6], out=overlapping[1:])
    assert_transform(overlapping[1:], u)


def test_batch(rng):
    for batch in (1, 3):
        plan = Plan((4, 6), "float64", kind="r2c", batch=batch)
        u = numbers(rng, (batch, 4, 6), float)
        assert plan.input_shape == u.shape
        assert_plan(plan, u, "r2c")
        assert plan.input_slices == (slice(0, 4), slice(0, 6))


def test_in_place(rng):
    plan = Plan((6, 8), "complex64", in_place=True)
    u = numbers(rng, (6, 8), np.complex64)
    exact = reference("fftn", u)
    kept = u.copy()
    assert plan.forward(u) is u
    assert_within_rule(u, exact)
    assert plan.backward(u) is u
    assert_within_rule(u, kept, transforms=2)
    strided = np.zeros((6, 16), np.complex64)[:, ::2]
    strided[...] = kept
    plan.forward(strided)
    assert_within_rule(strided, exact)
    with pytest.raises(NotImplementedError, match="in_place"):
        Plan((6, 8), "float32", kind="r2c", in_place=True)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        (dict(shape=()), ValueError, "1 to 6"),
        (dict(shape=(2,) * 7), ValueError, "1 to 6"),
        (dict(shape=(4, 0)), ValueError, r"\(4, 0\)"),
        (dict(shape=(4, -1)), ValueError, "at least 1"),
        (dict(shape=(4.5,)), TypeError, "4.5"),
        (dict(shape=(4,), dtype="int32"), TypeError, "int32"),
        (dict(shape=(4,), dtype="nonsense"), TypeError, "nonsense"),
        (dict(shape=(4,), dtype="float64"), TypeError, "complex128"),
        (dict(shape=(4,), dtype="complex64", kind="r2c"), TypeError, "float32"),
        (dict(shape=(4,), kind="c2r"), ValueError, "backward"),
        (dict(shape=(4,), kind="dct9"), ValueError, "dct9"),
        (dict(shape=(4, 4), kind=["r2c", "c2c"]), ValueError, "last"),
        (dict(shape=(4, 4), kind=["c2c"]), ValueError, "one an axis"),
        (dict(shape=(4, 4), axes=(0, 0)), ValueError, "twice"),
        (dict(shape=(4, 4), axes=(2,)), IndexError, "out of bounds"),
        (dict(shape=(4, 4), axes=()), ValueError, "empty"),
        (dict(shape=(4,), norm="unit"), ValueError, "unit"),
        (dict(shape=(4,), output="sideways"), ValueError, "sideways"),
        (dict(shape=(4,), effort="much"), ValueError, "much"),
        (dict(shape=(4,), batch=0), ValueError, "batch"),
        (dict(shape=(4,), threads=-1), ValueError, "threads"),
        (dict(shape=(4,), grid=(2,)), ValueError, "comm"),
        (dict(shape=(4,), engine="abacus"), Exception, "abacus"),
        (dict(shape=(4,), exchange="pigeon"), Exception, "pigeon"),
        (dict(shape=(4,), real_slices=(slice(0, 4), slice(0, 1))), ValueError, "slices"),
        (dict(shape=(4,), real_slices=(slice(0, 4, 2),)), ValueError, "step"),
        (dict(shape=(4,), real_slices=(slice(0, 2),)), ValueError, "2 of the 4"),
        (dict(shape=(2**40, 2**40)), Exception, "1099511627776"),
    ],
)
def test_bad_plans(options, kind, words):
    with pytest.raises(kind, match=words) as caught:
        Plan(**options)
    assert isinstance(caught.value, spanfft.Error)
    assert 0 < len(str(caught.value)) < 500


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_bad_arrays(direction):
    plan = Plan((4, 6), "complex128")
    run = getattr(plan, direction)
    good = np.zeros((4, 6), complex)
    with pytest.raises(ValueError, match=r"\(6, 4\).*\(4, 6\)"):
        run(good.T)
    with pytest.raises(TypeError, match=r"complex64.*complex128"):
        run(good.astype("complex64"))
    with pytest.raises(TypeError, match="float64"):
        run(good.real)
    with pytest.raises(TypeError, match="list"):
        run([[0]])
    with pytest.raises(ValueError, match="out"):
        run(good, out=np.zeros((4, 7), complex))
    read_only = np.zeros((4, 6), complex)
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        run(good, out=read_only)
    run(read_only)


def test_freed_plans():
    with Plan((4,)) as plan:
        plan.forward(np.zeros(4, complex))
    with pytest.raises(ValueError, match="freed"):
        plan.forward(np.zeros(4, complex))
    plan.free()
    plan = Plan((4,))
    watched = weakref.ref(plan)
    del plan
    gc.collect()
    assert watched() is None


def test_explain_and_report(rng):
    plan = Plan((32, 30), "float64", kind="r2c")
    assert plan.counted() is None
    text = plan.explain()
    assert "predicted" in text
    assert "32x30" in text
    plan.forward(numbers(rng, (32, 30), float))
    assert "counted" in plan.explain()
    report = json.loads(json.dumps(plan.report()))
    assert report["problem"] == plan.problem
    assert report["solver"] == plan.solver
    assert report["steps"]
    assert all(step["description"] and step["type"] for step in report["steps"])
    assert report["counted"]["messages"] == report["predicted"]["messages"] == 0
    assert report["counted"]["memory_bytes"] == report["predicted"]["memory_bytes"] > 0
    assert report["predicted"]["flops"] > 0
    assert report["peak_memory_bytes"] >= 32 * 30 * 8
    assert plan.report("backward")["problem"] != plan.problem
    assert plan.problem in repr(plan)
    with pytest.raises(ValueError, match="sideways"):
        plan.explain("sideways")


def test_problem_string_is_canonical():
    from spanfft._native import core

    plan = Plan((12, 10), "float32", kind="r2c", axes=(1, 0), norm="ortho")
    assert core.canonical(plan.problem) == plan.problem
    assert core.imagine(plan.problem).problem == plan.problem


@pytest.mark.parametrize("engine", ["fftw", "mkl", "ducc0"])
@pytest.mark.parametrize("kind", ["c2c", "r2c", "dct2"])
def test_forced_engine(engine, kind, rng):
    if engine not in ENGINES:
        with pytest.raises(spanfft.Error, match=engine):
            Plan((8, 6), engine=engine)
        return
    for shape in [(8, 6), (1009,), (12, 5, 7)]:
        try:
            plan = Plan(shape, kind=kind, engine=engine)
        except (spanfft.EngineError, spanfft.Unsupported) as error:
            said = str(error)
        else:
            said = ""
        if said:
            # It may say that it can't; it may not use another one unasked.
            assert engine in said
            continue
        assert plan.engines == engine
        assert f" by {engine}" in plan.explain()
        u = numbers(rng, shape, plan.dtype)
        assert_plan(plan, u, kind)


OWN_MEMORY = """
import ctypes, sys
from pathlib import Path
mkl = ctypes.CDLL(sys.argv[1])
mkl.MKL_Set_Num_Threads_Local(0)  # loads the library that allocates
core = ctypes.CDLL(str(next(Path(sys.argv[1]).parent.glob("libmkl_core.so*"))))
kept = ctypes.c_void_p.in_dll(core, "i_malloc")
used = []
libc_malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(kept.value)
own = type(libc_malloc)(lambda n: used.append(n) or libc_malloc(n))
kept.value = address = ctypes.cast(own, ctypes.c_void_p).value
import numpy, spanfft
spanfft.Plan((12, 10), engine="mkl").forward(numpy.ones((12, 10), complex))
assert kept.value == address
assert used
"""


def test_a_program_may_give_mkl_memory_of_its_own():
    path = next((engine["path"] for engine in spanfft.info()["engines"] if engine["name"] == "mkl"), None)
    if path is None or not list(Path(path).parent.glob("libmkl_core.so*")):
        pytest.skip("no MKL with a core of its own here")
    subprocess.run([sys.executable, "-c", OWN_MEMORY, path], check=True, timeout=60)


def test_ducc0_is_always_there():
    assert "ducc0" in ENGINES


def test_gil_is_released(rng):
    plan = Plan((512, 512, 4), "complex128", threads=1)
    u = numbers(rng, (512, 512, 4), complex)
    out = plan.output_array()
    plan.forward(u, out)
    ticks = []
    stop = threading.Event()

    def count():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    # One call after the other, so that a held GIL would be held nearly all the time.
    spans = []
    for _ in range(20):
        start = time.perf_counter()
        plan.forward(u, out)
        spans.append((start, time.perf_counter()))
    stop.set()
    thread.join()
    inside = sum(any(a + 0.002 < t < b - 0.002 for a, b in spans) for t in ticks)
    assert inside >= 10, f"{inside} ticks of {len(ticks)} in {sum(b - a for a, b in spans):.3f} s"


# What a transform by ducc0 adds to the threads of a process that has only loaded spanfft.
DUCC0_THREADS = """
import os, sys, numpy as np, spanfft
before = len(os.listdir("/proc/self/task"))
x = np.load(sys.argv[1])
y = spanfft.Plan(x.shape, "complex128", axes=(1,), engine="ducc0", threads=2).forward(x)
print(len(os.listdir("/proc/self/task")) - before)
np.save(sys.argv[1], y)
"""


def ducc0_threads(path: Path, **variables: str) -> int:
    x = np.random.default_rng(1).standard_normal((64, 4096)) + 0j
    np.save(path, x)
    kept = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    # MKL's OpenMP reads the variable too, warns, and ends the process at a number beyond 64 bits.
    environment = {**kept, "SPANFFT_MKL_LIBRARY": "none", "OPENBLAS_NUM_THREADS": "1", **variables}
    command = [sys.executable, "-c", DUCC0_THREADS, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment)
    assert done.returncode == 0, done.stderr
    assert_transform(np.load(path), x, axes=(1,))
    return int(done.stdout)


def test_ducc0_takes_a_thread_count_that_is_no_number_as_unset(tmp_path):
    path = tmp_path / "array.npy"
    unset = ducc0_threads(path)
    assert unset == len(os.sched_getaffinity(0)) - 1
    for value in ("", " ", "two", "-1", "0", "2.5", "4;2"):
        assert ducc0_threads(path, OMP_NUM_THREADS=value) == unset, value
        assert ducc0_threads(path, DUCC0_NUM_THREADS=value) == unset, value
    assert ducc0_threads(path, OMP_NUM_THREADS="99999999999999999999") == unset
    assert ducc0_threads(path, DUCC0_PIN_DISTANCE="1000") == unset


def test_ducc0_keeps_to_a_thread_count_that_is_a_number(tmp_path):
    path = tmp_path / "array.npy"
    assert ducc0_threads(path, OMP_NUM_THREADS="1") == 0
    assert ducc0_threads(path, OMP_NUM_THREADS=" 1 ,4") == 0
    assert ducc0_threads(path, DUCC0_NUM_THREADS="", OMP_NUM_THREADS="1") == 0
    assert ducc0_threads(path, DUCC0_NUM_THREADS="1", OMP_NUM_THREADS="") == 0


def test_threads_share_functions_and_plans(rng):
    x = numbers(rng, (8, 64, 30), complex)
    exact = reference("fftn", x, axes=(1, 2))
    plan = Plan((64, 30))
    wrong = []

    def work(i):
        for _ in range(50):
            for result in (spanfft.fftn(x[i]), plan.forward(x[i])):
                if relative_error(result, exact[i]) > oracle.rule((64, 30), complex):
                    wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_many_plans_at_once(rng):
    plans = [Plan((n, 7), "float64", kind="r2c") for n in range(1, 60)]
    for plan in plans:
        u = numbers(rng, plan.shape, float)
        assert_plan(plan, u, "r2c")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("shape", "axes", "kind"),
    [
        ((200, 300), None, "c2c"),  # tiles
        ((20, 30, 31), None, "c2c"),  # too small for them
        ((70, 130, 120), None, "c2c"),  # planes
        ((70, 130, 121), None, "r2c"),
        ((9000, 128), (1,), "c2c"),  # lists of lines
        ((9000, 200), (1,), "r2c"),
    ],
)
def test_the_sweeps_of_scaling_are_those_predicted(rng, engine, shape, axes, kind):
    plan = Plan(shape, "complex128" if kind == "c2c" else "float64", axes=axes, kind=kind, engine=engine, threads=1)
    real = numbers(rng, shape, complex if kind == "c2c" else float)
    spectrum = (scipy.fft.fftn if kind == "c2c" else scipy.fft.rfftn)(real, axes=axes)
    name, lengths = ("ifftn", {}) if kind == "c2c" else ("irfftn", {"s": [shape[a] for a in axes or range(len(shape))]})
    assert_within_rule(plan.backward(spectrum), reference(name, spectrum, axes=axes, **lengths))
    report = plan.report("backward")
    assert report["counted"]["memory_bytes"] == report["predicted"]["memory_bytes"]
    if engine == "ducc0":  # multiplies while it transforms: every step reads once and writes once
        steps = len(report["steps"])
        assert report["counted"]["memory_bytes"] <= steps * 2 * max(real.nbytes, spectrum.nbytes)
