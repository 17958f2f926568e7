"""The check of the engines: each in each precision, at good and bad lengths."""

from __future__ import annotations

from collections.abc import Iterator

from .._arrays import AnyArray
from .._errors import EngineError
from .._native import core
from .._plan import Plan
from .._problem import PRECISIONS
from .exact import errors, exact_pair, limit
from .findings import Finding, Job

__all__ = ["check_engines"]

_LENGTHS = (1, 2, 3, 7, 16, 97, 210, 512, 1009, 1024, 4096, 5929, 16381, 65536)


def check_engines(job: Job) -> Iterator[Finding]:
    """Every engine in each precision, at good and bad lengths, on each rank by itself."""
    alone = Job(None)
    exact: dict[int, tuple[AnyArray, AnyArray]] = {}
    dtypes = dict(zip(PRECISIONS, ("complex64", "complex128", "clongdouble"), strict=True))
    mine = {engine["name"]: engine for engine in core.engines()}
    every = job.everywhere(sorted(mine))
    names = sorted(set().union(*every))
    if not names:
        yield Finding(
            "engines", "bad", "no engine was found", "install FFTW or MKL, or build spanfft with ducc0", EngineError
        )
    for name in names:
        if any(name not in found for found in every):
            rank = next(rank for rank, found in enumerate(every) if name not in found)
            yield Finding(
                "engines",
                "warning",
                f"{name} is not on rank {rank}, whose results may differ in rounding",
                "install the same engines on all nodes",
            )
        wrong: list[str] = []
        refused: list[int] = []
        for precision in mine[name]["precisions"] if name in mine else ():
            for n in _LENGTHS:
                try:
                    with Plan((n,), dtypes[precision], engine=name, threads=1, effort="estimate") as plan:
                        if n not in exact:
                            exact[n] = exact_pair(plan)
                        given, asked = exact[n]
                        worst = max(errors(plan, alone, given.astype(plan.dtype), asked))
                except EngineError:  # the library's own check passes it over there
                    refused.append(n)
                    continue
                if not worst <= limit(dtypes[precision], n):
                    wrong.append(f"{precision}, {n} points: relative error {worst:.1e}")
        told = job.first(wrong[0] if wrong else "")
        about = f"{name} {mine[name]['version']}" if name in mine else name
        if told:
            yield Finding(
                "engines",
                "bad",
                f"{about}: {told}",
                f"leave it out: SPANFFT_{name.upper()}_LIBRARY=none, or another version",
                EngineError,
            )
        else:
            passed = f" (passed over at {', '.join(map(str, sorted(set(refused))))})" if refused else ""
            yield Finding(
                "engines", "ok", f"{about} is right at {len(_LENGTHS)} lengths from 1 to {_LENGTHS[-1]}{passed}"
            )
