"""Shared windows as users meet them: engines find alignment there, whatever the MPI library gives."""

from __future__ import annotations

import numpy as np
import pytest
import spanfft
from mpi4py import MPI
from ranks_support import assert_rule, assert_transforms, numbers, oracle

COMM = MPI.COMM_WORLD


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("exchange", ["shared", "alltoallv", None])
def test_arrays_that_a_plan_owns_begin_on_pages(exchange):
    plan = spanfft.Plan((12, 10, 9), comm=COMM, exchange=exchange, own_output=True)
    u = numbers(np.random.default_rng(3), plan.input_shape, complex)
    spectrum = plan.forward(u)
    assert spectrum.size == 0 or address(spectrum) % 4096 == 0
    back = plan.backward(spectrum.copy())
    assert back.size == 0 or address(back) % 4096 == 0
    assert_rule(COMM, [(back, u)], 2 * oracle.limit("c2c", (0, 1, 2), plan.shape, u.dtype))


def test_ducc0_finds_long_doubles_in_a_window_aligned():
    """Its movaps wants 16 bytes; Open MPI 4.1's windows are aligned to 8, and the process died."""
    grid = (1, 1, 1, COMM.size)
    plan = spanfft.Plan(
        (2, 211, 1, 13), dtype="clongdouble", comm=COMM, exchange="shared", engine="ducc0", norm="forward", grid=grid
    )
    x = numbers(np.random.default_rng(7), (2, 211, 1, 13), np.clongdouble)
    assert_transforms(COMM, plan, x, norm="forward")
