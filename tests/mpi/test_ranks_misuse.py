"""A bad value of any argument on one rank alone: all ranks raise, with one sentence, and nobody waits for ever."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import spanfft
from ranks_support import agrees, assert_rule, oracle
from spanfft import Plan
from spanfft._mpi import ranks_of

GOOD = {"shape": (8, 6)}
HUGE = 2**70  # more than any integer of C
BOXES = [
    5,
    (slice(0, 8),),
    (1, 2),
    (slice(0, 8, 2), slice(None)),
    (slice(0, 2.5), slice(None)),
    (slice(0, 8, 0), slice(None)),
    (slice(0, HUGE), slice(HUGE, None)),
]
BAD = {
    "shape": [(HUGE, 2), (10**5000, 2), (2.5, 2), None, "ab", (), (0, 4), (2,) * 9, 5j, HUGE, [[1], [2]]],
    "dtype": ["float64", "nonsense", 7.5, "i4,,f", "i4", [("a", "f8")]],
    "axes": [HUGE, (0, 0), (5,), 1.5, (), "x", (0, HUGE)],
    "kind": ["nonsense", 5, ("c2c",), [[], []], None, ("r2c", "r2c")],
    "grid": [5, (97, 1), (HUGE, 1), (1.5, 2), "ab", (1, 1, 1), (-1, -2), (2**62, 2)],
    "output": ["upwards", 5, None, []],
    "norm": ["loud", 5, []],
    "kept": [5, "ab", (4,), (9, 7), (0, 6), (2.5, 6), (HUGE, 6), [[4], [4]]],
    "batch": [0, HUGE, 1.5, "a", 2**62],
    "in_place": [np.zeros(2)],
    "own_output": [np.zeros(2)],
    "own_input": [np.zeros(2)],
    "threads": [-1, 2**40, HUGE, 1.5, "2", None],
    "engine": [5, "abacus", "\ud800", "fftw\0", b"fftw"],
    "exchange": [5, "pigeon", "overlap:0", "\ud800", "alltoallv\0", b"shared"],
    "effort": ["much", 5, HUGE, None],
    "measure_seconds": [-1, float("nan"), float("inf"), HUGE, "a", 10**400, None],
    "real_slices": BOXES,
    "spectrum_slices": BOXES,
    "layout": ["round", 5, None],
    "method": [5, "magic", "\ud800", "pencil\0", "soi:digits", b"pencil", "two words"],
}
# Each is right where all ranks say so.
OTHERS = {
    "shape": (8, 7),
    "dtype": "complex64",
    "axes": (1,),
    "kind": ("c2c", "dct2"),
    "grid": None,  # by the number of ranks
    "output": "exchanged",
    "norm": "ortho",
    "kept": (6, 4),
    "batch": 2,
    "in_place": True,
    "own_output": True,
    "own_input": True,
    "threads": 3,
    "engine": "ducc0",
    "exchange": "alltoallw",
    "effort": "tune",
    "measure_seconds": 0.5,
    "real_slices": (slice(0, 8), slice(0, 6)),
    "spectrum_slices": (slice(0, 8), slice(0, 6)),
    "layout": "cyclic",
    "method": "pencil",
}
pytestmark = pytest.mark.timeout(30)


@pytest.fixture(params=[0, -1], ids=["first rank", "last rank"])
def odd(request, comm):
    """Whether this rank is the one that does it wrong."""
    if comm.size not in (2, 3):
        pytest.skip("for 2 and 3 ranks")
    return comm.rank == request.param % comm.size


def test_every_argument_is_here():
    arguments = set(inspect.signature(Plan).parameters) - {"comm"}
    assert set(BAD) == arguments
    assert set(OTHERS) == arguments


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_of_an_argument_is_every_ranks_error(name, odd, comm):
    for bad in BAD[name]:
        options = GOOD | ({name: bad} if odd else {})
        agrees(comm, lambda options=options: Plan(comm=comm, **options), spanfft.Error, ".")
    Plan(comm=comm, **GOOD).free()


@pytest.mark.parametrize("name", OTHERS)
def test_another_value_of_an_argument_is_every_ranks_error(name, odd, comm):
    other = (1, comm.size) if name == "grid" else OTHERS[name]
    options = GOOD | ({name: other} if odd else {})
    agrees(comm, lambda: Plan(comm=comm, **options), spanfft.Error, "rank")


class Unlucky(np.ndarray):
    """Fails where the checks look at it."""

    @property
    def flags(self):
        raise RuntimeError("no flags today")


@pytest.mark.parametrize("options", [{}, {"own_output": True}, {"own_input": True}, {"in_place": True}], ids=str)
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_bad_array_is_every_ranks_error_also_before_the_direction_is_planned(direction, options, odd, comm):
    bad = [None, [1], np.zeros((9, 9), complex), np.zeros((8, 6)), np.zeros((), complex), np.zeros((8, 6), object)]
    for each in bad:
        with Plan(comm=comm, **GOOD, **options) as plan:
            run = getattr(plan, direction)
            good = plan.input_array() if direction == "forward" else plan.output_array()
            agrees(comm, lambda run=run, good=good, each=each: run(each if odd else good), spanfft.Error, "rank")
            run(good)
    for out in (5, np.zeros((9, 9), complex), np.broadcast_to(0j, good.shape), good.view(Unlucky)):
        with Plan(comm=comm, **GOOD, **options) as plan:
            run = getattr(plan, direction)
            agrees(comm, lambda run=run, out=out: run(good, out=out if odd else None), spanfft.Error, "rank")
            run(good)


def test_a_bad_number_of_events_is_every_ranks_error(odd, comm):
    with Plan(comm=comm, **GOOD) as plan:
        for bad in (-1, HUGE, 1.5, None, 2**62):

            def trace(bad=bad):
                with plan.trace(bad if odd else 100):
                    pass

            agrees(comm, trace, spanfft.Error, "rank")
        plan.forward(plan.input_array())


@pytest.mark.parametrize("call", ["fftn", "rfftn", "ifftn", "irfftn", "dctn"])
def test_a_bad_argument_of_a_function_is_every_ranks_error(call, odd, comm):
    function = getattr(spanfft, call)
    array = np.zeros((4, 6), complex if call in ("fftn", "ifftn", "irfftn") else float)
    for name, values in {"axes": [HUGE, 1.5, (0, 9)], "norm": [5], "grid": [5, (HUGE, 1), "ab", (1, 97)]}.items():
        for bad in values:
            options = {name: bad} if odd else {}
            agrees(comm, lambda options=options: function(array, comm=comm, **options), spanfft.Error, ".")
    for bad in (None, "text", np.zeros((4, 6), object)):
        agrees(comm, lambda bad=bad: function(bad if odd else array, comm=comm), spanfft.Error, ".")


@pytest.mark.parametrize("culprit", ["everyone", "one"])
def test_in_place_with_other_boxes_in_the_spectrum_is_refused(culprit, odd, comm):
    ends = np.linspace(0, 8, comm.size + 1).astype(int)
    mine = (slice(int(ends[comm.rank]), int(ends[comm.rank + 1])), slice(None))
    shifted = (comm.rank + 1) % comm.size
    other = (slice(int(ends[shifted]), int(ends[shifted + 1])), slice(None))
    if culprit == "one":  # the first half of the rows is the first rank's, but in the spectrum it has all
        mine = ([slice(0, 4), slice(4, 8), slice(0, 0)][comm.rank], slice(None))
        other = (slice(0, 8), slice(None)) if comm.rank == 0 else (slice(0, 0), slice(None))
    boxes = {"real_slices": mine, "spectrum_slices": other}
    agrees(comm, lambda: Plan((8, 6), comm=comm, in_place=True, **boxes), spanfft.InvalidArgument, "in_place")
    with Plan((8, 6), comm=comm, in_place=True, real_slices=mine, spectrum_slices=mine) as plan:
        u = plan.input_array()
        u[...] = 1
        plan.forward(u)
        assert comm.allreduce(float(abs(u).sum())) == pytest.approx(48)


def test_a_plan_owns_its_output_where_some_ranks_have_none(comm):
    whole = np.arange(7.0).reshape(1, 7) + 1j
    with Plan((1, 7), comm=comm, grid=(comm.size, 1), own_output=True) as plan:
        for _ in range(2):
            spectrum = plan.forward(np.ascontiguousarray(whole[plan.input_slices]))
            bound = oracle.limit("c2c", (0, 1), whole.shape, whole.dtype)
            assert_rule(comm, [(spectrum, oracle.forward(whole, "c2c", (0, 1))[plan.output_slices])], bound)
            assert_rule(comm, [(plan.backward(spectrum), whole[plan.input_slices])], 2 * bound)
        assert plan.forward(np.ascontiguousarray(whole[plan.input_slices])) is spectrum
    empty = (slice(0, 0),) * 2
    boxes = {"real_slices": (slice(0, 5), slice(0, 4)) if comm.rank == 0 else empty}
    boxes["spectrum_slices"] = (slice(0, 5), slice(0, 4)) if comm.rank == comm.size - 1 else empty
    with Plan((5, 4), comm=comm, own_output=True, **boxes) as plan:
        spectrum = plan.forward(np.ones(plan.input_shape, complex))
        assert comm.allreduce(complex(spectrum.sum())) == pytest.approx(20)


def test_an_execution_asks_for_no_collective_beside_the_librarys_own(comm, monkeypatch):
    """Which is one: CapiOnRanks.AnExecutionHasOneSmallCollective."""
    ranks = ranks_of(comm)
    with Plan((8, 6), comm=comm) as plan:
        u = plan.input_array()
        plan.backward(plan.forward(u))  # planned now

        class Silent:
            def __getattr__(self, name):
                raise AssertionError(f"{name} was called")

        monkeypatch.setattr(ranks, "comm", Silent())
        monkeypatch.setattr(ranks, "_library", Silent())
        for _ in range(3):
            plan.backward(plan.forward(u))
        monkeypatch.undo()


def test_a_refusal_says_each_reason_once(comm):
    if comm.size == 1:
        pytest.skip("one rank transforms any axis")
    with pytest.raises(spanfft.Unsupported) as caught:
        Plan((comm.size**2 + 1,), comm=comm, layout="cyclic")
    reasons = str(caught.value).split("\n")
    assert len(reasons) == len(set(reasons)), str(caught.value)
    assert str(caught.value).count("can't be divided cyclically") == 1


def test_three_thousand_plans_live_at_once(comm):
    """MPICH has 2,048 communicators. One rank shows it, as several would mostly wait for one another."""
    if comm.size > 1:
        pytest.skip("for 1 rank")
    plans = [Plan((4, 4), comm=comm, engine="ducc0", threads=1) for _ in range(3000)]
    for plan in plans[::500]:
        assert plan.forward(np.ones((4, 4), complex))[0, 0] == pytest.approx(16)
    for plan in plans:
        plan.free()


@pytest.mark.parametrize("exchange", ["alltoallv", "alltoallw", "overlap"])
def test_plans_on_one_communicator_share_those_that_they_need(exchange, comm):
    def next_handle():
        copy = comm.Dup()
        handle = copy.py2f()
        copy.Free()
        return handle

    grids = [(comm.size, 1, 1), (1, comm.size, 1)]
    plans = [Plan((7, 6, 5), comm=comm, grid=grid, exchange=exchange) for grid in grids]
    free = next_handle()
    for _ in range(5):
        plans += [Plan((7, 6, 5), comm=comm, grid=grid, exchange=exchange) for grid in grids]
    assert next_handle() == free
    for plan in plans[1:]:
        plan.free()
    u = np.ones(plans[0].input_shape, complex)
    assert comm.allreduce(complex(plans[0].forward(u).sum())) == pytest.approx(210)
    plans[0].free()


def test_plans_outlive_the_communicators_that_they_share(comm):
    copy = comm.Dup()
    kept = Plan((8, 6), comm=copy)
    Plan((8, 6), comm=copy).free()
    again = Plan((6, 8), comm=copy)
    kept.free()
    u = np.full(again.input_shape, 1 + 0j)
    assert comm.allreduce(complex(again.forward(u).sum())) == pytest.approx(48)
    again.free()
    copy.Free()
