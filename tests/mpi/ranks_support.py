"""What the tests on ranks share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import spanfft
from mpi4py import MPI
from soak import oracle


def numbers(rng: np.random.Generator, shape: Sequence[int], dtype: object) -> np.ndarray:
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def assert_rule(comm: MPI.Comm, pairs: Sequence[tuple[np.ndarray, np.ndarray]], bound: float) -> None:
    """Holds this and all other ranks' parts together, (found, exact) of one or more draws, to a relative L2 error."""
    for found, exact in pairs:
        assert found.shape == exact.shape
    parts = comm.allgather([oracle.squared_error(found, exact) for found, exact in pairs])
    assert oracle.error_of(list(itertools.chain.from_iterable(parts))) <= bound


def assert_transforms(
    comm: MPI.Comm, plan: spanfft.Plan, u: np.ndarray, kind: object = "c2c", axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> None:  # fmt: skip
    """Both directions of a plan against scipy in long double. `u` is the whole array in real space, a batch first."""
    there, back, bound = oracle.both_ways(plan, u, kind, axes, norm)
    assert_rule(comm, there, bound)
    assert_rule(comm, back, bound)


def exchange_names() -> list[str]:
    """Every strategy that the library knows, from the sentence with which it refuses one that it doesn't."""
    with pytest.raises(spanfft.Error) as caught:
        spanfft.Plan((4, 4), exchange="pigeon")
    return str(caught.value).split("use one of ")[1].split(", ")


def agrees(comm: MPI.Comm, call: Callable[[], object], kind: type[Exception], words: str) -> None:
    """The same exception on all ranks, with the same sentence, and nobody is left behind."""
    with pytest.raises(kind, match=words) as caught:
        call()
    assert isinstance(caught.value, spanfft.Error)
    seen = comm.allgather((type(caught.value).__name__, str(caught.value)))
    assert len(set(seen)) == 1, seen
    comm.barrier()


def declined(comm: MPI.Comm, ndim: int, grid: Sequence[int] | None = None, axes: Sequence[int] | None = None) -> bool:
    """Whether this version can't: every axis is divided, and one of them transformed; a single one is no trouble."""
    if ndim == 1:
        return False
    divided = [p > 1 for p in grid] if grid is not None else [comm.size > 1] + [False] * (ndim - 1)
    transformed = range(ndim) if axes is None else [a % ndim for a in axes]
    return all(divided) and any(divided[a] for a in transformed)
