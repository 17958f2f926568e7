"""One axis divided among the ranks in blocks: every length, kind, norm and strategy; what is counted; G-FFT."""

from __future__ import annotations

import numpy as np
import pytest
import spanfft
from ranks_support import assert_rule, assert_transforms, exchange_names, numbers, oracle
from soak import long_lines
from spanfft import Plan, _gfft
from test_ranks_plan import check_plan

# n < p, few points, a prime, products of two primes, powers, lengths that p divides once, twice or not at all.
LENGTHS = [1, 2, 5, 63, 64, 97, 100, 11 * 13, 3**7, 2**10, 101 * 103, 2 * 5003, 2**4 * 3**2 * 5 * 7, 65537]


def types(plan, direction):
    return [step["type"] for step in plan.report(direction)["steps"]]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128", "clongdouble"])
def test_every_length(n, dtype, comm, rng):
    u = numbers(rng, (n,), dtype)
    with Plan((n,), dtype, comm=comm) as plan:
        check_plan(comm, plan, u)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "longdouble"])
def test_real_lines_of_every_length(n, dtype, comm, rng):
    u = numbers(rng, (n,), dtype)
    with Plan((n,), dtype, kind="r2c", comm=comm) as plan:
        check_plan(comm, plan, u, "r2c")


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("kind", ["c2c", "r2c", "dct2"])
def test_every_length_in_exchanged_order(n, kind, comm, rng):
    """`output_slices` are the frequencies of this rank's numbers; check_plan looks for each at its own."""
    u = numbers(rng, (n,), complex if kind == "c2c" else float)
    for exchange in (None, "alltoallv"):
        with Plan((n,), u.dtype, kind=kind, comm=comm, output="exchanged", exchange=exchange) as plan:
            check_plan(comm, plan, u, kind)
            cyclic = kind != "dct2" and comm.size > 1 and n % comm.size == 0 and n >= 64 and n > comm.size
            if cyclic:
                assert plan.output_slices[0].start == comm.rank
                assert plan.output_slices[0].step == comm.size


def test_two_exchanges_in_exchanged_order(comm):
    p = comm.size
    if p == 1:
        pytest.skip("one rank exchanges nothing")
    with Plan((p * p * 64,), comm=comm, exchange="alltoallv", output="exchanged") as plan:
        plan.backward(plan.forward(np.ones(plan.input_shape, complex)))
        for direction in ("forward", "backward"):
            assert types(plan, direction).count("Exchange") == 2
            assert plan.counted(direction)["messages"] == 2 * (p - 1)
            assert plan.counted(direction)["sent_bytes"] == 2 * 16 * 64 * (p - 1)


@pytest.mark.parametrize("kind", ["c2c", "r2c"])
def test_a_long_prime_can_be_a_convolution(kind, comm, rng):
    if comm.size == 1:
        pytest.skip("one rank leaves it to the engine")
    u = numbers(rng, (131071,), complex if kind == "c2c" else float)
    for method in ("chirp_lines", "shared_chirp_lines"):
        with Plan(u.shape, u.dtype, kind=kind, comm=comm, method=method) as plan:
            check_plan(comm, plan, u, kind)
            assert "ChirpIn" in types(plan, "forward")


def test_real_lines_of_even_length_are_pairs(comm, rng):
    p = comm.size
    if p == 1:
        pytest.skip("one rank leaves it to the engine")
    u = numbers(rng, (2 * p * p * 64,), float)
    for method, exchange, splits in (("lines", "alltoallv", 1), ("lines", "shared", 1), ("shared_lines", "shared", 0)):
        with Plan(u.shape, u.dtype, kind="r2c", comm=comm, method=method, exchange=exchange) as plan:
            check_plan(comm, plan, u, "r2c")
            assert types(plan, "forward").count("Split") == splits
            assert types(plan, "backward").count("Join") == splits
            assert types(plan, "forward").count("SharedTransform") == 2 * (1 - splits)


def test_exchanged_order_in_batches(comm, rng):
    u = numbers(rng, (3, 64 * comm.size), complex)
    with Plan(u.shape[1:], batch=3, own_output=True, comm=comm, output="exchanged") as plan:
        assert_transforms(comm, plan, u)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("kind", ["c2c", "r2c", "dct2", "dst1"])
def test_every_norm(kind, norm, comm, rng):
    dtype = "complex128" if kind == "c2c" else "float64"
    u = numbers(rng, (1260,), dtype)
    with Plan((1260,), dtype, kind=kind, norm=norm, comm=comm) as plan:
        check_plan(comm, plan, u, kind, norm=norm)


@pytest.mark.parametrize("name", exchange_names())
def test_every_strategy(name, comm, rng):
    if name == "compressed":
        pytest.skip("it changes the data")
    u = numbers(rng, (1000,), complex)
    try:
        plan = Plan((1000,), comm=comm, exchange=name)
    except spanfft.Unsupported as refused:  # by an MPI that lacks what it needs
        if name != "persistent":
            raise
        pytest.skip(str(refused))
    with plan:
        check_plan(comm, plan, u)


@pytest.mark.parametrize("kind", ["c2c", "r2c"])
def test_batch(kind, comm, rng):
    u = numbers(rng, (3, 360), complex if kind == "c2c" else float)
    with Plan((360,), u.dtype, kind=kind, batch=3, comm=comm) as plan:
        assert_transforms(comm, plan, u, kind)


def test_in_place(comm, rng):
    u = numbers(rng, (720,), complex)
    with Plan(u.shape, in_place=True, comm=comm) as plan:
        local = u[plan.input_slices].copy()
        assert plan.forward(local) is local
        assert plan.backward(local) is local
        assert_transforms(comm, plan, u)


def test_boxes_of_ones_own(comm, rng):
    n = 500
    u = numbers(rng, (n,), complex)
    mine = slice(0, n) if comm.rank == comm.size - 1 else slice(0, 0)
    with Plan((n,), comm=comm, real_slices=(mine,)) as plan:
        check_plan(comm, plan, u)


def test_three_exchanges_where_the_ranks_divide_both_factors(comm):
    p = comm.size
    if p == 1:
        pytest.skip("one rank exchanges nothing")
    with Plan((p * p * 64,), comm=comm, exchange="alltoallv") as plan:
        local = np.ones(plan.input_shape, complex)
        plan.backward(plan.forward(local))
        for direction in ("forward", "backward"):
            assert types(plan, direction).count("Exchange") == 3
            assert plan.counted(direction)["messages"] == 3 * (p - 1)
            # Of a rank's n/p numbers it keeps one in p, each time.
            assert plan.counted(direction)["sent_bytes"] == 3 * 16 * 64 * (p - 1)


def test_elsewhere_two_more_that_move_only_where_blocks_and_rows_differ(comm):
    n = 101 * 103
    if comm.size == 1:
        pytest.skip("one rank exchanges nothing")
    with Plan((n,), comm=comm, exchange="alltoallv") as plan:
        plan.forward(np.ones(plan.input_shape, complex))
        exchanges = [s["counted"]["sent_bytes"] for s in plan.report("forward")["steps"] if s["type"] == "Exchange"]
        assert len(exchanges) == 5
        sent = np.array(comm.allgather(exchanges)).sum(axis=0)
        assert max(sent[0], sent[4]) <= 16 * comm.size * 103
        assert min(sent[1:4]) > 16 * n // 3


def test_an_impulse_a_shift_and_a_sum(comm, rng):
    """Linearity, and spectra that are known: an impulse's at j0, w^(j0 k); a shifted array's, w^(d k) times its own."""
    n, j0 = 2**12 * 9, 12345
    with Plan((n,), comm=comm) as plan:
        k = np.arange(n, dtype=np.longdouble)[plan.output_slices]
        impulse = np.zeros(n, complex)
        impulse[j0] = 1
        found = plan.forward(impulse[plan.input_slices].copy())
        turn = (-2 * np.pi) * ((j0 * np.arange(n)[plan.output_slices]) % n).astype(np.longdouble) / n
        exact = np.cos(turn) + 1j * np.sin(turn)
        assert k.size == found.size
        assert_rule(comm, [(found, exact)], oracle.limit("c2c", (0,), (n,), "complex128", "backward"))
        a, b = numbers(rng, (n,), complex), numbers(rng, (n,), complex)
        forward = lambda x: plan.forward(x[plan.input_slices].copy())  # noqa: E731
        bound = 3 * oracle.limit("c2c", (0,), (n,), "complex128", "backward")
        assert_rule(comm, [(forward(a + 2 * b), forward(a) + 2 * forward(b))], bound)
        assert_rule(comm, [(forward(np.roll(a, j0)), forward(a) * exact)], bound)


@pytest.mark.parametrize("order", long_lines.ORDERS)
def test_a_million_points_in_every_order_and_all_bins(order, comm):
    """What `./spanfft-dev soak --only long_lines` does with 2^26."""
    n = long_lines.points_for(comm.size, 20)
    assert n % comm.size**2 == 0
    assert 2**19.5 <= n <= 2**20.5
    found = long_lines.errors(comm, n, order, 5)
    assert list(found) == ["impulses", "tones", "shift", "back", "linearity"]
    assert max(found.values()) <= 1, found
    # As large as errors of a transform are: nothing was compared with itself.
    assert min(found.values()) > 0.01, found


def test_wrong_bins_of_a_long_line_are_noticed(comm, monkeypatch):
    class Swapped(Plan):
        def forward(self, x):
            out = super().forward(x)
            if comm.rank == comm.size - 1:
                out[-2:] = out[-2:][::-1].copy()
            return out

    monkeypatch.setattr(long_lines.spanfft, "Plan", Swapped)
    found = long_lines.errors(comm, long_lines.points_for(comm.size, 12), "natural", 5)
    assert min(found["impulses"], found["tones"], found["shift"], found["back"]) > 1
    assert found["linearity"] <= 1  # it is linear all the same


@pytest.mark.parametrize("points", [2, 720, 101 * 103, 97])
def test_gfft_passes_by_its_rules_and_by_sums_of_the_definition(points, comm):
    result = _gfft.gfft(points, 1, comm)
    assert result["passed"]
    assert result["residual"] < 16
    assert result["error"] < 3
    assert result["ranks"] == comm.size
    assert len(result["seconds"]) == 1


@pytest.mark.parametrize("points", [2, 5, 720, 997, 2 * 1009, 2**12])
def test_gfft_judges_by_an_inverse_that_is_not_its_own(points, comm, rng, monkeypatch):
    monkeypatch.setattr(_gfft, "_BLOCK", 100)  # several pieces
    x = numbers(rng, (points,), complex)
    first, last = (points * r // comm.size for r in (comm.rank, comm.rank + 1))
    back = _gfft._reference_inverse(np.fft.fft(x)[first:last], points, comm)
    assert_rule(comm, [(back, x[first:last])], 2 * oracle.limit("c2c", (0,), (points,), "complex128"))


def test_gfft_notices_a_wrong_transform(comm, monkeypatch):
    class Negated(Plan):
        def forward(self, x, out):
            super().forward(x, out)
            out *= -1

    monkeypatch.setattr(_gfft, "Plan", Negated)
    result = _gfft.gfft(720, 1, comm)
    assert result["residual"] > 16
    assert not result["passed"]
