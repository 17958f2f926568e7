"""Tuning and probing on ranks: all plan alike, or fail together."""

from __future__ import annotations

import pytest
import spanfft
from ranks_support import agrees, assert_transforms, numbers
from spanfft import Plan


@pytest.fixture(autouse=True)
def clean(comm):
    yield
    comm.barrier()
    if comm.rank == 0:
        spanfft.forget_tuning()
    comm.barrier()


def test_all_ranks_keep_the_same_winner(comm):
    found = spanfft.tune("c2c 16x12x10", seconds=0.5, comm=comm)
    assert len(set(comm.allgather(found["problem"]))) == 1
    assert found["seconds"] > 0
    plan = Plan((16, 12, 10), comm=comm)
    plans = comm.allgather(plan.problem)
    assert len(set(plans)) == 1
    assert any(note.startswith("tuned:") for note in plan.report()["notes"])
    plan.free()


def test_measured_plans_are_right_in_both_directions(comm, rng):
    u = numbers(rng, (12, 9, 8), complex)
    with Plan(u.shape, comm=comm, effort="measure", measure_seconds=0.3) as plan:
        assert_transforms(comm, plan, u)


@pytest.mark.parametrize("exchange", ["alltoallv", "alltoallw"])
def test_a_forced_exchange_wins_over_what_was_tuned(exchange, comm):
    spanfft.tune("c2c 8x8x8", seconds=0.3, comm=comm)
    with Plan((8, 8, 8), comm=comm, exchange=exchange) as plan:
        if comm.size > 1:
            assert f"exchange={exchange}" in plan.problem


def test_quick_probe_gives_all_ranks_the_same_figures(comm):
    text = spanfft.probe(comm=comm, quick=True, seconds=5, store=False)
    assert len(set(comm.allgather(text))) == 1
    figures = spanfft.read_machine(text)
    assert figures["numbers"]["measured_ranks"] == comm.size
    if comm.size > 1:
        assert {"alltoallv", "alltoallw"} <= set(figures["exchanges"])


@pytest.mark.parametrize("effort", ["estimate", "measure"])
def test_a_rank_with_another_problem_is_named(effort, comm):
    if comm.size == 1:
        return
    from spanfft._mpi import ranks_of
    from spanfft._native import core

    odd = comm.size - 1
    text = f"c2c 8x{9 if comm.rank == odd else 8}x8 effort={effort} measure_seconds=0.1"
    agrees(comm, lambda: core.plan(text, ranks_of(comm).handle), spanfft.MPIError, f"rank {odd} has 'c2c 8x9x8")
