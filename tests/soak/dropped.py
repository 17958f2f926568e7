"""Plans that are made, used and dropped without free(), on ranks, again and again: memory, descriptors, threads,
mappings, and MPI's communicators, windows and datatypes are no more after as many again."""

from __future__ import annotations

import ctypes
import gc
import os

import numpy as np
import spanfft

from .case import Case, Failed, chance, one_of
from .memory import random_problem
from .on_ranks import agreed, of_mpi
from .ranks import random_options

ROUNDS = 4  # a leak shows in each; what MPI or Python makes once, at whatever moment, in one
TURNS = (100, 150)  # of all problems on one rank; on more, fewer
PROBLEMS = 4  # taken in turn: what is kept once for each is there after the first half
HEAP_BYTES = 64 * 1024  # a plan that leaked would leave some hundred bytes, each time
HEAP_BYTES_A_PLAN = 32


class MallInfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks",
                 "keepcost")]  # fmt: skip


def heap_bytes() -> int:
    """What malloc has given and not got back; 0 where the C library can't say."""
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return 0
    mallinfo2.restype = MallInfo
    found = mallinfo2()
    return found.uordblks + found.hblkhd


def held(comm) -> dict[str, int]:
    """What this process and its communicator hold, when nothing that was dropped waits any more."""
    gc.collect()
    for _ in range(2):  # on ranks, what was dropped is freed when the next plan is made
        spanfft.Plan((4, 4), comm=comm).free()
    with open("/proc/self/maps") as maps:
        lines = sum(1 for _ in maps)
    return {"descriptors": len(os.listdir("/proc/self/fd")), "threads": len(os.listdir("/proc/self/task")),
            "mappings": lines, "heap": heap_bytes(), **of_mpi()}  # fmt: skip


def drop(comm, arguments: list[dict], times: int) -> int:
    """Makes, uses and drops plans in turn; how many there were."""
    dropped = 0
    for i in range(times):
        plan, error = agreed(comm, lambda i=i: spanfft.Plan(**arguments[i % len(arguments)], comm=comm))
        if error:
            continue
        u = np.ones(plan.input_array().shape, plan.input_array().dtype)
        plan.forward(u)
        dropped += 1
    return dropped


def grown(before: dict[str, int], after: dict[str, int], plans: int) -> str:
    """What is more than it was, and by more than measuring it may make; "" if nothing is."""
    allowed = {"mappings": max(8, plans // 20), "heap": HEAP_BYTES + HEAP_BYTES_A_PLAN * plans}
    for name in before:
        if after[name] > before[name] + allowed.get(name, 0):
            return f"{name}: {before[name]}, and {after[name]} after {plans} more dropped plans"
    return ""


def run(case: Case, comm) -> None:
    rng = case.random
    arguments = []
    for _ in range(PROBLEMS):
        problem = random_problem(rng, 300)
        options = {**problem, **random_options(rng, problem, comm.size)}
        if "real_slices" in options:
            options["real_slices"] = options["real_slices"][comm.rank]
        arguments.append(options)
    half = PROBLEMS * one_of(rng, TURNS) // comm.size**2 + 2 * PROBLEMS
    case.text = f"on {comm.size} ranks, {half} plans, and as many again: {arguments}"[:1500]
    case.count("problems", PROBLEMS)
    shared = comm.Dup() if chance(rng, 0.5) else comm
    held(shared)
    dropped, before, said = drop(shared, arguments, half), held(shared), []
    for _ in range(ROUNDS):
        again = drop(shared, arguments, half)
        after = held(shared)
        dropped += again
        said.append(grown(before, after, again))
        before = after
        if not any(comm.allgather(said[-1])):
            break
    case.count("dropped", dropped)
    if shared is not comm:
        shared.Free()
    if all(said):
        raise Failed("lost", "; ".join(said))
