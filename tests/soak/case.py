"""What every campaign shares: random numbers of a case's seed, what a case showed, and awkward shapes."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

COUNTED = ("problems", "refused", "faults", "kills", "resumes", "flips", "compared", "dropped", "skipped")
FAILURES = ("wrong", "lost", "hung", "crashed")

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 127, 211)


def random_of(kind: str, seed: int) -> np.random.Generator:
    """Everything about a case comes from here, so that KIND:SEED repeats it."""
    return np.random.default_rng([zlib.crc32(kind.encode()), seed])


class Failed(Exception):
    """A case that shows a fault of spanfft: `how` is one of FAILURES."""

    def __init__(self, how: str, text: str) -> None:
        super().__init__(text)
        self.how = how


@dataclass
class Case:
    """What a campaign does with one seed: counts, and a line that describes it."""

    kind: str
    seed: int
    counts: Counter[str] = field(default_factory=Counter)
    text: str = ""

    @property
    def random(self) -> np.random.Generator:
        return random_of(self.kind, self.seed)

    def count(self, what: str, n: int = 1) -> None:
        self.counts[what] += n


def one_of(rng: np.random.Generator, options):
    """Not rng.choice, which makes numpy's types of Python's."""
    return options[int(rng.integers(len(options)))]


def chance(rng: np.random.Generator, probability: float) -> bool:
    return bool(rng.random() < probability)


def length(rng: np.random.Generator, most: int) -> int:
    """1, a prime, a power of two or anything."""
    how = rng.random()
    if how < 0.1 or most < 2:
        return 1
    if how < 0.4:
        return one_of(rng, [p for p in PRIMES if p <= most])
    if how < 0.6:
        return 1 << int(rng.integers(1, most.bit_length()))
    return int(rng.integers(1, most + 1))


def shape_of(rng: np.random.Generator, ndim: int, most: int) -> tuple[int, ...]:
    """`ndim` lengths whose product is at most `most`, the long one anywhere."""
    lengths, left = [], most
    for i in range(ndim):
        share = left if i == ndim - 1 else max(1, int(left ** rng.uniform(0.1, 0.7)))
        n = length(rng, share)
        lengths.append(n)
        left //= n
    rng.shuffle(lengths)
    return tuple(int(n) for n in lengths)


def numbers(rng: np.random.Generator, shape, dtype) -> np.ndarray:
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return np.asarray(x).astype(dtype)
