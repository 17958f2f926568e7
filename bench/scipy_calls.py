"""scipy.fft's functions at small sizes, by SciPy itself and with `scipy.fft.set_backend(spanfft.scipy)`, in turns.

    ./spanfft-dev run python bench/scipy_calls.py [--turns 9] [--calls 300]

Every function is called at 64 points, or 8 x 8, and at the shapes that scipy's own tests use most. Prints the ratio of
the medians of processor time (spanfft's to SciPy's; one thread, so waiting for a core does not count), and the worst.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy
import scipy.fft
import spanfft.scipy

LIMIT = 1.1
SHAPES_1D = ((64,), (1,), (14,), (30,), (100,))
SHAPES_2D = ((8, 8), (7, 8), (10, 12), (30, 20))
SHAPES_ND = ((4, 4, 4), (16, 8, 4), (8, 7, 13), (30, 20, 10), (2, 16, 8, 32))
AXES = {"": SHAPES_1D, "2": SHAPES_2D, "n": SHAPES_ND}
COSINES = tuple(f"{way}{name}" for name in ("dct", "dst") for way in ("", "i"))
FOURIERS = tuple(f"{way}{name}" for name in ("fft", "rfft", "hfft") for way in ("", "i"))
REAL_INPUT = {"rfft", "ihfft", *COSINES}
Call = Callable[[npt.NDArray[Any]], Any]


def cases() -> list[tuple[str, str, tuple[int, ...]]]:
    """(function, the family that says its input's type, shape)."""
    found = [(name + many, name, shape) for name in FOURIERS for many, shapes in AXES.items() for shape in shapes]
    found += [(name + many, name, s) for name in COSINES for many in ("", "n") for s in AXES[many]]
    # Of one number there is no half-spectrum to go back from, in SciPy neither.
    return [(name, family, s) for name, family, s in found if not (s[-1] == 1 and family in ("irfft", "hfft"))]


def drawn(family: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    generator = np.random.default_rng(1)
    values = generator.standard_normal(shape)
    return values if family in REAL_INPUT else values + 1j * generator.standard_normal(shape)


def seconds(call: Call, values: npt.NDArray[Any], calls: int) -> float:
    start = time.thread_time()
    for _ in range(calls):
        call(values)
    return (time.thread_time() - start) / calls


def ratio(name: str, values: npt.NDArray[Any], turns: int, calls: int) -> tuple[float, float]:
    """SciPy's seconds, and spanfft's over them."""
    call = getattr(scipy.fft, name)
    theirs, ours = [], []
    for turn in range(turns + 1):  # the first one makes plans
        theirs.append(seconds(call, values, calls))
        with scipy.fft.set_backend(spanfft.scipy, only=True):
            ours.append(seconds(call, values, calls if turn else 1))
    return statistics.median(theirs[1:]), statistics.median(ours[1:]) / statistics.median(theirs[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--calls", type=int, default=300)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"SciPy {scipy.__version__}, {options.turns} turns of {options.calls} calls, load average {load:.1f}")
    print("| function | shape | SciPy, us | ratio |\n|---|---|---:|---:|")
    ratios: dict[tuple[str, str], float] = {}
    for name, family, shape in cases():
        size = "x".join(map(str, shape))
        theirs, ratios[name, size] = ratio(name, drawn(family, shape), options.turns, options.calls)
        mark = " **above**" if ratios[name, size] > LIMIT else ""
        print(f"| {name} | {size} | {1e6 * theirs:.1f} | {ratios[name, size]:.2f}{mark} |", flush=True)
    above = [case for case, value in ratios.items() if value > LIMIT]
    worst = max(ratios, key=lambda case: ratios[case])
    median = statistics.median(ratios.values())
    print(f"\n{len(ratios)} cases, median {median:.2f}, worst {ratios[worst]:.2f} ({worst[0]} of {worst[1]}); ", end="")
    print(f"above {LIMIT}: {len(above)}")


if __name__ == "__main__":
    main()
