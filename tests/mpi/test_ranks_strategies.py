"""Exchanges of spanfft's own and P2's phases on real ranks: exact results and counts, imagined nodes included."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import numpy as np
import pytest
import spanfft
from mpi4py import MPI
from ranks_support import agrees, assert_transforms, numbers
from spanfft import Plan

SHAPES = [(16, 12), (7, 11, 13), (2, 1, 17)]


@pytest.fixture
def imagined(monkeypatch: pytest.MonkeyPatch):
    """SPANFFT_RANKS_PER_NODE=k, read whenever a plan duplicates its communicator."""
    return lambda k: monkeypatch.setenv("SPANFFT_RANKS_PER_NODE", str(k))


@contextmanager
def planned(comm: MPI.Comm, shape, kind, exchange, **options) -> Generator[Plan, None, None]:
    dtype = "complex128" if kind == "c2c" else "float64"
    with Plan(shape, dtype, kind=kind, comm=comm, exchange=exchange, **options) as plan:
        yield plan


def check_exact(comm: MPI.Comm, rng, shape, exchange, **options) -> None:
    for kind in ("c2c", "r2c"):
        u = numbers(rng, shape, "complex128" if kind == "c2c" else "float64")
        with planned(comm, shape, kind, exchange, **options) as plan:
            for _ in range(2):  # windows and buffers are used again
                assert_transforms(comm, plan, u, kind)
            for direction in ("forward", "backward"):
                predicted, counted = plan.predicted(direction), plan.counted(direction)
                for key in ("messages", "sent_bytes", "memory_bytes"):
                    assert predicted[key] == counted[key], (direction, key)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("exchange", ["phased", "phased:/1", "phased:2x2/1", "phased:6/1"])
def test_phased(exchange, shape, comm, rng):
    places = int(np.prod([int(p) for p in exchange[7:].split("/")[0].split("x") if p]))
    if comm.size % places:
        agrees(comm, lambda: Plan(shape, comm=comm, exchange=exchange), spanfft.InvalidArgument, "torus")
        return
    check_exact(comm, rng, shape, exchange)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("per_node", [0, 1, 2, 3])
def test_hierarchical(per_node, shape, comm, rng, imagined):
    if per_node:
        imagined(per_node)
    check_exact(comm, rng, shape, "hierarchical")


@pytest.mark.parametrize("per_node", [1, 2, 3])
def test_hierarchical_grids(per_node, comm, rng, imagined):
    imagined(per_node)
    for rows in (r for r in range(1, comm.size + 1) if comm.size % r == 0):
        check_exact(comm, rng, (8, 6, 10), "hierarchical", grid=(rows, comm.size // rows))


@pytest.mark.parametrize("per_node", [1, 2, 3])
def test_hierarchical_sends_one_message_a_pair_of_nodes(per_node, comm, imagined):
    imagined(per_node)
    with planned(comm, (14, 14, 2), "c2c", "hierarchical", grid=(comm.size, 1), output="exchanged") as plan:
        messages = comm.allgather(plan.predicted("forward")["messages"])
    nodes = -(-comm.size // per_node)
    assert sum(messages) == nodes * (nodes - 1)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("exchange", ["compressed", "compressed:1e-3", "compressed:1e-6"])
def test_compressed_keeps_its_bound(exchange, shape, comm, rng):
    bound = 2.0**-24 if exchange == "compressed" else float(exchange.split(":")[1])
    u = numbers(rng, shape, "complex128")
    exact = np.fft.fftn(u)
    with planned(comm, shape, "c2c", exchange) as plan:
        for direction, given, wanted in (("forward", u, exact), ("backward", exact, u)):
            ins, outs = plan.input_slices, plan.output_slices
            if direction == "backward":
                ins, outs = outs, ins
            got = getattr(plan, direction)(np.ascontiguousarray(given[ins]))
            error = comm.allreduce(float((abs(got - wanted[outs]) ** 2).sum()))
            assert np.sqrt(error) <= bound * np.linalg.norm(wanted)
            predicted, counted = plan.predicted(direction), plan.counted(direction)
            for key in ("messages", "sent_bytes", "memory_bytes"):
                assert predicted[key] == counted[key], (direction, key)


def test_compressed_floats_are_declined(comm):
    if comm.size > 1:
        agrees(
            comm, lambda: Plan((8, 8), "complex64", comm=comm, exchange="compressed"), spanfft.Unsupported, "already"
        )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_persistent(shape, comm, rng):
    if MPI.Get_version() >= (4, 0) or comm.size == 1:
        check_exact(comm, rng, shape, "persistent")
    else:
        agrees(
            comm, lambda: Plan(shape, comm=comm, exchange="persistent"), spanfft.Unsupported, "persistent collectives"
        )
