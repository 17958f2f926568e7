"""`method=ffte` under MPI: results, counts and orders, and refusals on all ranks."""

from __future__ import annotations

import pytest
import spanfft
from ranks_support import numbers
from spanfft import Plan
from test_ranks_plan import check_plan


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "clongdouble"])
@pytest.mark.parametrize("output", ["natural", "exchanged"])
@pytest.mark.parametrize("exchange", [None, "alltoallv", "overlap:2"])
def test_transforms_as_defined(dtype, output, exchange, comm, rng):
    p = comm.size
    if p == 1:
        pytest.skip("ffte is for several ranks")
    u = numbers(rng, (p * p * 90,), dtype)
    with Plan(u.shape, dtype, comm=comm, method="ffte", output=output, exchange=exchange) as plan:
        assert plan.solver == "ffte"
        check_plan(comm, plan, u)
        if exchange == "alltoallv":
            assert plan.counted("forward")["messages"] == (3 if output == "natural" else 2) * (p - 1)


def test_refuses_on_all_ranks_what_it_cannot_do(comm):
    p = comm.size
    if p == 1:
        with pytest.raises(spanfft.Unsupported, match="several ranks"):
            Plan((4096,), comm=comm, method="ffte")
        return
    with pytest.raises(spanfft.Unsupported, match="takes lengths"):
        Plan((p * p * 90 + 1,), comm=comm, method="ffte")
    with pytest.raises(spanfft.Unsupported, match="c2c lines"):
        Plan((p * p * 90,), "float64", kind="r2c", comm=comm, method="ffte")
