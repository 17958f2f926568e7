"""`method=soi` under MPI: the digits that were asked for, one exchange, and refusals on all ranks."""

from __future__ import annotations

import numpy as np
import pytest
import spanfft
from ranks_support import numbers
from spanfft import Plan


def line(comm) -> int:
    return comm.size**2 * 5 * 96


def relative_error(comm, got, wanted) -> float:
    squares = comm.allreduce(np.array([np.sum(np.abs(got - wanted) ** 2), np.sum(np.abs(wanted) ** 2)]))
    return float(np.sqrt(squares[0] / squares[1]))


@pytest.mark.parametrize("digits", [3, 8, 12])
def test_has_the_digits_that_are_asked_for(digits, comm, rng):
    if comm.size == 1:
        pytest.skip("soi is for several ranks")
    n = line(comm)
    u = numbers(rng, (n,), complex)
    with Plan((n,), comm=comm, method=f"soi:digits={digits}") as plan:
        assert plan.solver == "soi"
        spectrum = plan.forward(u[plan.input_slices].copy())
        assert relative_error(comm, spectrum, np.fft.fft(u)[plan.output_slices]) <= 10.0**-digits
        back = plan.backward(spectrum)
        assert relative_error(comm, back, u[plan.input_slices]) <= 2 * 10.0**-digits
        assert [step["type"] for step in plan.report("forward")["steps"]].count("Exchange") == 1
        for direction in ("forward", "backward"):
            report = plan.report(direction)
            for quantity in ("messages", "sent_bytes", "memory_bytes", "calls"):
                assert report["predicted"][quantity] == report["counted"][quantity], (direction, quantity)


def test_refuses_on_all_ranks_what_it_cannot_do(comm):
    if comm.size == 1:
        with pytest.raises(spanfft.Unsupported, match="several ranks"):
            Plan((4096,), comm=comm, method="soi")
        return
    with pytest.raises(spanfft.Unsupported, match="lengths that"):
        Plan((line(comm) + 1,), comm=comm, method="soi")
    with pytest.raises(ValueError, match="digits=40 is not among"):
        Plan((line(comm),), comm=comm, method="soi:digits=40")
