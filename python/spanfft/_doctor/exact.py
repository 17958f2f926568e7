"""Numbers that are known exactly: a few impulses, and their spectrum from roots of unity in long double.

Every frequency of it differs from the others, so that neither a wrong number nor a right one in a wrong place passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import AnyArray
from .._gfft import TURN
from .._plan import Plan
from .findings import Job

__all__ = ["Impulses", "errors", "exact_pair", "limit", "roots", "square_norm"]


def roots(places: AnyArray, frequencies: AnyArray, n: int) -> AnyArray:
    """exp(-2 pi i places frequencies / n), for all pairs, in long double; products stay below 2^63 for n < 2^31."""
    turn = TURN * (np.multiply.outer(places, frequencies) % n).astype(np.longdouble) / n
    return np.asarray(np.cos(turn) - 1j * np.sin(turn))


class Impulses:
    """Three impulses in an array of a shape, and their exact spectrum, any part of either."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = tuple(shape)
        random = np.random.default_rng(shape)
        self.places = [[int(random.integers(0, n)) for n in shape] for _ in range(3)]
        self.heights = [1.0, -0.75, 0.5]

    def real_space(self, part: tuple[slice, ...], dtype: Any) -> AnyArray:
        """The part as an array, of impulses that lie on one place as their sum."""
        indices = [np.arange(n)[s] for n, s in zip(self.shape, part, strict=True)]
        found = np.zeros([len(index) for index in indices], dtype)
        for place, height in zip(self.places, self.heights, strict=True):
            where = [np.flatnonzero(index == at) for index, at in zip(indices, place, strict=True)]
            if all(len(hits) for hits in where):
                found[tuple(int(hits[0]) for hits in where)] += height
        return found

    def spectrum(self, part: tuple[slice, ...], spectrum_shape: Sequence[int]) -> AnyArray:
        indices = [np.arange(n)[s] for n, s in zip(spectrum_shape, part, strict=True)]
        found = np.zeros([len(index) for index in indices], np.clongdouble)
        for place, height in zip(self.places, self.heights, strict=True):
            wave: AnyArray = np.array(np.longdouble(height))
            for at, index, n in zip(place, indices, self.shape, strict=True):
                wave = np.multiply.outer(wave, roots(np.array([at]), index, n)[0])
            found += wave
        return found


def square_norm(a: AnyArray) -> float:
    return float((np.abs(a) ** 2).sum())


def exact_pair(plan: Plan) -> tuple[AnyArray, AnyArray]:
    """This rank's part of impulses, and of their spectrum in long double."""
    exact = Impulses(plan.shape)
    return exact.real_space(plan.input_slices, plan.dtype), exact.spectrum(plan.output_slices, plan.spectrum_shape)


def errors(plan: Plan, job: Job, given: AnyArray, asked: AnyArray) -> tuple[float, float]:
    """Relative error of a forward transform, and of the way back, over all ranks."""
    found = plan.forward(given)
    sums = [
        square_norm(found - asked),
        square_norm(asked),
        square_norm(plan.backward(found) - given),
        square_norm(given),
    ]
    difference, norm, back, norm_back = np.sum(job.everywhere(sums), axis=0)
    return math.sqrt(difference / norm), math.sqrt(back / norm_back)


def limit(dtype: Any, points: int) -> float:
    """What docs/accuracy.md allows at any length, twice: there and back; at least two roundings."""
    return 2 * 1.5 * float(np.finfo(dtype).eps) * math.sqrt(max(1.0, math.log2(max(points, 2))))
