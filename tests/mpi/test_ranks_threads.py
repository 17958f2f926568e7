"""Threads inside ranks: where they may run, as the kernel says, and that the caller's thread stays where it was."""

from __future__ import annotations

import os

import pytest
import spanfft
from ranks_support import agrees
from spanfft import Plan


def threads():
    return {int(name) for name in os.listdir("/proc/self/task")}


def places(comm, threads_each):
    """The CPUs of each thread that making and running a plan adds to this process."""
    before = threads()
    caller = os.sched_getaffinity(0)
    slabs = (comm.size,)  # one divided axis: each step along one has threads of its own
    with Plan((24, 20, 6), comm=comm, grid=slabs, exchange="shared", engine="ducc0", threads=threads_each) as plan:
        found = [os.sched_getaffinity(thread) for thread in threads() - before]
        plan.forward(plan.input_array())
        assert os.sched_getaffinity(0) == caller
    assert os.sched_getaffinity(0) == caller
    return found


@pytest.fixture
def several(comm):
    if comm.size == 1:
        pytest.skip("one rank has its CPUs to itself")
    everywhere = comm.allgather(os.sched_getaffinity(0))
    if any(cpus != everywhere[0] for cpus in everywhere):
        pytest.skip("the launcher bound the ranks")
    return comm


def test_threads_keep_to_the_ranks_own_part(several, monkeypatch):
    monkeypatch.delenv("SPANFFT_PIN", raising=False)
    found = places(several, 3)
    assert len(found) == 2
    assert found[0] == found[1]  # anywhere in the part
    allowed = os.sched_getaffinity(0)
    parts = several.allgather(found[0])
    assert set().union(*parts) <= allowed
    if several.size <= len(allowed):
        assert sum(len(part) for part in parts) == len(set().union(*parts)) == len(allowed)
    else:
        assert all(len(part) == 1 for part in parts)


def test_pinned_threads_have_a_cpu_each(several, monkeypatch):
    monkeypatch.setenv("SPANFFT_PIN", "1")
    found = places(several, 3)
    assert [len(cpus) for cpus in found] == [1, 1]


def test_nothing_is_pinned_if_so_asked(several, monkeypatch):
    monkeypatch.setenv("SPANFFT_PIN", "0")
    assert places(several, 3) == [os.sched_getaffinity(0)] * 2


def test_other_values_are_refused_on_all_ranks(comm, monkeypatch):
    if comm.rank == comm.size - 1:
        monkeypatch.setenv("SPANFFT_PIN", "close")
    agrees(
        comm, lambda: Plan((8, 6, 4), comm=comm, threads=2), spanfft.InvalidArgument, "SPANFFT_PIN is 'close'; use 1"
    )


def test_threads_by_default_are_no_more_than_cpus(comm):
    with Plan((8, 6, 4), comm=comm) as plan:
        threads_each = int(plan.problem.split("threads=")[1].split()[0])
    cpus = len(os.sched_getaffinity(0))
    assert 1 <= threads_each <= max(1, cpus // comm.size)
