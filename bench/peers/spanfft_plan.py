"""spanfft's Plan: out of place, in natural or exchanged order, with the planner's engine or a given one.

By default from and into arrays of the caller, as it is called by default; with own_input and own_output from and into
the plan's own, which ranks of a node share, and then backward takes forward's result where it is.
In one process (a launch without ranks, or `alone` on rank 0) it gets all cores as threads to choose from; on ranks one
thread each. Backward carries the factor 1/N.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from cases import Case

from peers import Absent, Run, World


def describe() -> dict[str, str]:
    try:
        import spanfft
    except ImportError as error:
        raise Absent(f"spanfft can't be imported ({error})") from None
    found = spanfft.info()
    versions = {"spanfft": spanfft.__version__, "numpy": found["numpy"] or ""}
    versions |= {engine["name"]: engine["version"] for engine in found["engines"]}
    if found["mpi"]["library"]:
        versions["mpi"] = " ".join(found["mpi"]["library"].split())
    return versions


def prepare(case: Case, world: World, options: Mapping[str, Any]) -> Run:
    versions = describe()
    import spanfft

    if options.get("engine") == "fftw":
        from peers.fftw import load_fftw

        load_fftw().fftw_forget_wisdom()  # of other peers' plans
    options = dict(options)
    alone = world.size == 1 or bool(options.pop("alone", False))
    comm, threads, pool = (None, world.cores, "whole") if alone else (world.comm, 1, "part")
    start = time.perf_counter()
    try:
        plan = spanfft.Plan(
            case.shape, case.real_dtype, kind=case.kind, comm=comm, threads=threads,
            **{"grid": None if alone else case.grid or None, **options},
        )  # fmt: skip
        # Real space is divided as planned; the spectrum too.
        owned = bool(options.get("own_output"))
        own_input = bool(options.get("own_input"))
        a = plan.input_array() if own_input else world.pool.take(f"{pool}_a", plan.input_shape, case.real_dtype)
        b = None if owned else world.pool.take(f"{pool}_b", plan.output_shape, "complex128")
        target = None if owned else a
        planned = time.perf_counter() - start
        spectrum = plan.forward(a, b)
        start = time.perf_counter()
        plan.report("backward")  # plans it
        planned += time.perf_counter() - start
        result = plan.backward(spectrum, target)
    except spanfft.Error as error:
        raise Absent(f"{type(error).__name__}: {error}") from None

    def details() -> dict[str, Any]:
        both = {name: plan.report(name) for name in ("forward", "backward")}
        return {
            "solver": plan.solver,
            "planned_problem": plan.problem,
            "predicted": {name: report["predicted"] for name, report in both.items()},
            "counted": {name: report["counted"] for name, report in both.items()},
            "peak_memory_bytes": max(report["peak_memory_bytes"] for report in both.values()),
            "plan_notes": both["forward"]["notes"],
        }

    return Run(
        forward=lambda: plan.forward(a, b),
        backward=lambda: plan.backward(spectrum, target),
        input=a,
        input_start=tuple(s.start for s in plan.input_slices),
        spectrum=lambda: spectrum,
        spectrum_start=tuple(s.start for s in plan.output_slices),
        spectrum_step=tuple(s.step or 1 for s in plan.output_slices),
        result=lambda: result,
        engine=plan.engines,
        effort=options.get("effort", "estimate"),
        threads=threads,
        layout=options.get("output", "natural"),
        planning_seconds=planned,
        notes=[
            "backward multiplies by 1/N",
            f"results in {'the plan' if owned else 'the caller'}'s arrays",
            f"from {'the plan' if own_input else 'the caller'}'s",
        ],
        versions=versions,
        details=details,
        close=plan.free,
    )
