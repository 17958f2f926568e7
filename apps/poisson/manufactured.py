"""A solution that is known: a product of one function an axis, none of which a finite series represents.

With t = pi x / L the functions are b(t) exp(cos t), where b is 1, sin t, cos(t / 2) or sin(t / 2), as the sides want
(periodic: exp(cos 2 t)). Their series converge faster than any power, so that some 40 points give all digits.
"""

from __future__ import annotations

import numpy as np

from apps.poisson.solver import Array, Poisson
from apps.ranks import total


def _along(name: str, x: Array, length: float) -> tuple[Array, Array]:
    """The function of an axis, and its second derivative."""
    rate = (2 if name == "periodic" else 1) * np.pi / length
    t = rate * x
    a = np.exp(np.cos(t))
    a1, a2 = -np.sin(t) * a, (np.sin(t) ** 2 - np.cos(t)) * a
    if name in ("periodic", "neumann"):
        b, b1, b2 = np.ones_like(t), np.zeros_like(t), np.zeros_like(t)
    elif name == "neumann-dirichlet":
        b, b1, b2 = np.cos(t / 2), -np.sin(t / 2) / 2, -np.cos(t / 2) / 4
    else:
        m = 1 if name == "dirichlet" else 0.5
        b, b1, b2 = np.sin(m * t), m * np.cos(m * t), -(m**2) * np.sin(m * t)
    return b * a, (b2 * a + 2 * b1 * a1 + b * a2) * rate**2


def problem(box: Poisson) -> tuple[Array, Array]:
    """This rank's boxes of u and of f, its Laplacian. u has mean 0 where no side fixes it. Collective."""
    pairs = [
        _along(name, box.points(axis), length)
        for axis, (name, length) in enumerate(zip(box.sides, box.lengths, strict=True))
    ]
    u = np.ones(box.plan.input_shape)
    f = np.zeros(box.plan.input_shape)
    for axis, (_, curved) in enumerate(pairs):
        term = np.ones(box.plan.input_shape)
        for other, (plain, _) in enumerate(pairs):
            term *= curved if other == axis else plain
        f += term
    for plain, _ in pairs:
        u *= plain
    if not box.fixes_mean:
        u -= total(box.comm, float(u.sum())) / float(np.prod(box.shape))
    return u, f


def error(box: Poisson, project: bool = False) -> float:
    """Relative L2 error of the solution against the known one. Collective."""
    u, f = problem(box)
    difference = box.solve(f, project) - u
    squares = total(box.comm, float(np.vdot(difference, difference))), total(box.comm, float(np.vdot(u, u)))
    return float(np.sqrt(squares[0] / squares[1]))
