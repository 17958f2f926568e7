"""Cardinal B-splines M_n, by which charges are spread to a mesh and potentials are read from it.

M_2(x) is a hat on [0, 2]; M_n(x) = (x M_{n-1}(x) + (n - x) M_{n-1}(x - 1)) / (n - 1), on [0, n].
Invariant: the n weights of a point add up to 1, their derivatives to 0.
Source: Essmann et al., J. Chem. Phys. 103, 8577 (1995), equations 4.1, 4.2 and 4.4.
"""

from __future__ import annotations

import numpy as np

ORDERS = range(4, 9)


def weights(within: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """M_n(w + j) and its derivative, for j = 0 ... n - 1: two arrays of shape (order, len(within)).

    `within` is where a point lies between the mesh points below and above it, 0 to 1. Row j belongs to the mesh point
    that lies j below the one below."""
    lower = np.stack([within, 1 - within])
    for n in range(3, order + 1):
        previous, lower = lower, np.zeros((n, len(within)))
        for j in range(n):
            if j < n - 1:
                lower[j] += (within + j) * previous[j]
            if j > 0:
                lower[j] += (n - within - j) * previous[j - 1]
        lower /= n - 1
    slopes = np.zeros_like(lower)  # M_n'(x) = M_{n-1}(x) - M_{n-1}(x - 1)
    slopes[:-1] += previous
    slopes[1:] -= previous
    return lower, slopes


def moduli(length: int, order: int) -> np.ndarray:
    """|sum over k of M_n(k + 1) exp(2 pi i m k / K)|^2 for m = 0 ... K - 1: what splines do to a frequency.

    Its inverse is |b(m)|^2 (equation 4.4). At m = K / 2 it is 0 where n is odd."""
    at_whole_numbers, _ = weights(np.zeros(1), order)  # M_n(0), M_n(1), ... M_n(n - 1)
    phases = np.exp(2j * np.pi * np.outer(np.arange(length), np.arange(order - 1)) / length)
    return np.abs(phases @ at_whole_numbers[1:, 0]) ** 2


def signed(indices: np.ndarray, length: int) -> np.ndarray:
    """The frequency that an index stands for: 0, 1, ... K / 2, ... -2, -1."""
    return np.where(indices > length // 2, indices - length, indices)
