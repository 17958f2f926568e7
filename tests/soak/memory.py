"""Random plans for arrays in memory, in this process: shapes, kinds, norms, types, axes, strides, engines, threads."""

from __future__ import annotations

import numpy as np
import scipy.fft
import spanfft

from . import oracle
from .case import Case, Failed, chance, numbers, one_of, shape_of

REAL_KINDS = tuple(f"{name}{i}" for name in ("dct", "dst") for i in (1, 2, 3, 4))
COMPLEX = ("complex64", "complex128", "clongdouble")
REAL = ("float32", "float64", "longdouble")
NAMES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "fftn", "ifftn", "rfftn", "dct",
         "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn")  # fmt: skip


def random_kind(rng, naxes: int):
    """A name for all axes, or one an axis."""
    how = rng.random()
    if how < 0.35:
        return "c2c"
    if how < 0.6:
        return "r2c"
    if how < 0.8:
        return one_of(rng, REAL_KINDS)
    last = one_of(rng, ["r2c", *REAL_KINDS])
    others = REAL_KINDS if last != "r2c" else (*REAL_KINDS, "c2c")
    return [one_of(rng, others) for _ in range(naxes - 1)] + [last]


def random_problem(rng, most: int) -> dict:
    """Arguments of Plan that are a problem: shape, dtype, axes, kind, norm."""
    ndim = int(rng.integers(1, 6))
    shape = shape_of(rng, ndim, int(rng.integers(1, most)))
    axes = [int(a) for a in rng.permutation(ndim)[: int(rng.integers(1, ndim + 1))]] if chance(rng, 0.4) else None
    naxes = ndim if axes is None else len(axes)
    kind = random_kind(rng, naxes)
    types = COMPLEX if kind == "c2c" else REAL
    names = oracle.per_axis(kind, axes or range(ndim))
    shape = tuple(max(n, 2) if ("dct1", i) in zip(names, axes or range(ndim), strict=True) else n
                  for i, n in enumerate(shape))  # fmt: skip
    return {"shape": shape, "dtype": types[int(rng.choice(3, p=(0.35, 0.5, 0.15)))], "axes": axes, "kind": kind,
            "norm": one_of(rng, ["backward", "ortho", "forward"])}  # fmt: skip


def random_means(rng, problem: dict) -> dict:
    """The other arguments of Plan in one process."""
    halves = problem["kind"] == "r2c" or "r2c" in problem["kind"]
    means: dict = {"threads": int(rng.choice([0, 1, 1, 2, 3]))}
    if chance(rng, 0.5):
        means["engine"] = one_of(rng, ["fftw", "mkl", "ducc0"])
    if chance(rng, 0.3):
        means["batch"] = int(rng.integers(1, 5))
    if not halves and chance(rng, 0.2):
        means["in_place"] = True
    elif chance(rng, 0.2):
        means["own_output"] = True
    if not means.get("in_place") and chance(rng, 0.2):
        means["own_input"] = True
    return means


def strided(rng, x: np.ndarray) -> np.ndarray:
    """The same numbers in memory of other strides, an odd address among them."""
    how = int(rng.integers(5))
    if how == 0 or x.ndim == 0:
        return x.copy()
    if how == 1:
        return np.asfortranarray(x)
    if how == 2:  # every second of a longer last axis, from its end
        y = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
        view = y[..., ::-2]
    elif how == 3:
        axes = rng.permutation(x.ndim)
        view = np.zeros([x.shape[a] for a in axes], x.dtype).transpose(np.argsort(axes))
    else:  # aligned to nothing
        raw = np.zeros(x.nbytes + 8, np.uint8)
        view = np.frombuffer(raw.data, x.dtype, x.size, offset=1).reshape(x.shape)
    view[...] = x
    return view


def judge(what: str, squares, bound: float) -> None:
    error = oracle.error_of(squares)
    if not error <= bound:
        raise Failed("wrong", f"{what}: relative error {error:.3g}, allowed {bound:.3g}")


def plan_case(case: Case) -> None:
    rng = case.random
    problem, means = random_problem(rng, 6000), {}
    means = random_means(rng, problem)
    case.text = f"Plan({problem} {means})"
    shape, kind, norm = problem["shape"], problem["kind"], problem["norm"]
    axes = list(range(len(shape))) if problem["axes"] is None else problem["axes"]
    try:
        plan = spanfft.Plan(**problem, **means)
    except (spanfft.Unsupported, spanfft.EngineError):
        case.count("refused")
        return
    first = 0 if "batch" not in means else 1
    shifted = [a + first for a in axes]
    real = (*([means["batch"]] if first else []), *shape)
    bound = oracle.limit(kind, shifted, real, problem["dtype"], norm)
    there, back = [], []
    for _ in range(1 + oracle.FEW // max(1, int(np.prod(real)))):
        u = strided(rng, numbers(rng, real, problem["dtype"]))
        kept = u.copy()
        exact = oracle.forward(kept, kind, shifted, norm)
        out = None
        if not plan._in_place and not plan._own_output and chance(rng, 0.3):
            out = strided(rng, np.zeros(exact.shape, plan.spectrum_dtype))
        v = plan.forward(u, out)
        if out is not None and v is not out:
            raise Failed("wrong", "forward(u, out) did not return out")
        if not plan._in_place and not np.array_equal(u, kept):
            raise Failed("wrong", "forward changed its input")
        there.append(oracle.squared_error(v, exact))
        given = exact.astype(plan.spectrum_dtype)
        exact = oracle.backward(given, kind, shifted, real, norm)
        w = plan.backward(strided(rng, given))
        back.append(oracle.squared_error(w, exact))
    judge("forward", there, bound)
    judge("backward", back, bound)
    if not chance(rng, 0.5):
        plan.free()


def name_case(case: Case) -> None:
    """numpy's and scipy's names, with lengths that cut and pad."""
    rng = case.random
    name = one_of(rng, NAMES)
    several = name[-1] in "2n"
    ndim = int(rng.integers(2 if name[-1] == "2" else 1, 5))
    shape = tuple(max(2, n) for n in shape_of(rng, ndim, 1500))
    real = name in ("rfft", "ihfft", "rfft2", "rfftn") or "d" in name
    options: dict = {"norm": one_of(rng, [None, "backward", "ortho", "forward"])}
    if "d" in name:
        options["type"] = int(rng.integers(1, 5))
    if several:
        count = 2 if name[-1] == "2" else int(rng.integers(1, ndim + 1))
        options["axes"] = tuple(int(a) for a in rng.permutation(ndim)[:count])
        if chance(rng, 0.4):
            options["s"] = tuple(int(rng.integers(2, 20)) for _ in range(count))
    else:
        options["axis"] = int(rng.integers(-ndim, ndim))
        if chance(rng, 0.4):
            options["n"] = int(rng.integers(2, 40))
    x = strided(rng, numbers(rng, shape, one_of(rng, REAL[:2] if real else COMPLEX[:2])))
    case.text = f"{name}({x.dtype}{shape}, {options})"
    exact = getattr(scipy.fft, name)(oracle.wide(x), **options)
    kept = x.copy()
    result = getattr(spanfft, name)(x, **options)
    if result.shape != exact.shape:
        raise Failed("wrong", f"shape {result.shape}, scipy's is {exact.shape}")
    if not np.array_equal(x, kept):
        raise Failed("wrong", "the input was changed")
    # Cut and padded lengths: the rule for the longest there may be, and a few numbers stray from its mean.
    points = float(np.prod(shape)) * 2000
    stray = 2 if result.size < oracle.FEW else 1
    bound = stray * (1.5 * float(np.finfo(x.dtype).eps) * float(np.sqrt(np.log2(points))))
    judge(name, [oracle.squared_error(result, exact)], bound)


def run(case: Case) -> None:
    case.count("problems")
    (plan_case if case.seed % 4 else name_case)(case)
