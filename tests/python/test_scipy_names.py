"""scipy.fft's names and arguments: the same results, shapes, types and kinds of errors as scipy's."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
import scipy.fft
import spanfft
from conftest import assert_plan, assert_transform, assert_within_rule, relative_error
from hypothesis import given, settings
from hypothesis import strategies as st
from soak import oracle

HERMITIAN = ["hfft2", "hfftn", "ihfft2", "ihfftn"]
REAL_KINDS = ["dctn", "idctn", "dstn", "idstn"]
COMPLEX = ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"]
REAL_INPUT = {"rfftn", "rfft2", "ihfftn", "ihfft2"}


def same_outcome(name, x, *arguments, **options):
    """As scipy's: an array of the same numbers and type, or an error of the same kind."""
    try:
        theirs = getattr(scipy.fft, name)(x, *arguments, **options)
    except (ValueError, TypeError, IndexError, RuntimeError) as error:
        kind = ValueError if type(error) is RuntimeError else type(error)  # of which scipy has one for length 0
        with pytest.raises(kind) as raised:
            getattr(spanfft, name)(x, *arguments, **options)
        assert isinstance(raised.value, spanfft.Error), raised.value
        return
    if one_of_one(name, x, **options):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # numpy's, of s without axes, in numpy's names
        ours = getattr(spanfft, name)(x, *arguments, **options)
    assert type(ours) is type(theirs)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    norm = np.linalg.norm(theirs.ravel())
    eps = np.finfo(theirs.dtype if theirs.dtype.kind in "fc" else float).eps
    assert np.linalg.norm(ours.ravel() - theirs.ravel()) <= 20 * eps * norm
    assert not np.may_share_memory(ours, x)


def one_of_one(name, x, s=None, axes=None, **others):
    """A half spectrum of one entry, without a length: scipy's functions of several axes make one number of it, and its
    functions of one axis, numpy's and ours refuse it."""
    if s is not None or name not in ("hfftn", "hfft2", "irfftn", "irfft2"):
        return False
    return x.shape[-1 if axes is None else np.ravel(axes)[-1]] == 1


def numbers(name, shape, dtype=None, seed=1):
    rng = np.random.default_rng([seed, *shape])
    x = rng.standard_normal(shape)
    if dtype is None:
        dtype = float if name in REAL_INPUT or name in REAL_KINDS else complex
    return np.asarray(x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@pytest.mark.parametrize("name", HERMITIAN + REAL_KINDS + ["next_fast_len", "prev_fast_len"])
def test_signatures_are_scipys(name):
    ours = list(inspect.signature(getattr(spanfft, name)).parameters.values())
    if name.endswith("fast_len"):
        assert [p.name for p in ours] == ["target", "real"]
    else:
        theirs = list(inspect.signature(getattr(scipy.fft, name)).parameters.values())
        plain = [p for p in theirs if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert [(p.name, p.default) for p in ours[: len(plain)]] == [(p.name, p.default) for p in plain]
    assert name in spanfft.__all__
    assert getattr(spanfft, name).__doc__


@pytest.mark.parametrize("name", HERMITIAN + REAL_KINDS + COMPLEX)
def test_lengths_and_axes(name):
    two = name.endswith("2")
    for shape in [(4, 6), (5, 7), (3, 4, 5), (2, 1, 6)]:
        x = numbers(name, shape)
        for options in [
            {}, {"axes": 1}, {"axes": -1}, {"axes": np.int64(0)}, {"axes": (0,)}, {"axes": (1, 0)}, {"axes": ()},
            {"axes": np.array([], int)}, {"axes": 9}, {"axes": (0, 9)}, {"s": 8, "axes": 0}, {"s": 3, "axes": [1]},
            {"s": (8,), "axes": 0}, {"s": (3, 8), "axes": (1, 0)}, {"s": (3, 8), "axes": 0}, {"s": (), "axes": ()},
            {"s": (2, 2, 2, 2)}, {"s": 0, "axes": 0}, {"s": (-1, 4)}, {"s": 2.5, "axes": 0}, {"s": (4, 3)},
            {"norm": "ortho"}, {"norm": "forward"}, {"norm": "wrong"}, {"s": 7} if not two else {"axes": (0, 1)},
        ]:  # fmt: skip
            same_outcome(name, x, **options)
    with pytest.raises(ValueError, match=r"unique|twice"):
        getattr(scipy.fft, name)(x, axes=(0, 0))
    if name not in COMPLEX:  # numpy transforms such an axis twice, and its names do as numpy does
        same_outcome(name, x, axes=(0, 0))
        same_outcome(name, x, axes=(0, -3))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "dct", "dst", "idct", "idst",
                                  *COMPLEX, *REAL_KINDS, *HERMITIAN])  # fmt: skip
def test_single_numbers(name):
    for x in (np.array(3.0), np.array(3, "int16"), np.array(2 + 1j)):
        if name == "ihfft2" and x.dtype.kind == "c":
            continue  # a TypeError of two reasons: scipy names the other one
        same_outcome(name, x)


def test_without_axes_out_gets_a_copy():
    x = np.arange(6.0)
    out = np.zeros(6, complex)
    assert spanfft.fftn(x, axes=(), out=out) is out
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("name", HERMITIAN)
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "f4", "f8", "g", "F", "D", "G", ">f4", ">c16"])
def test_hermitian_element_types(name, dtype):
    same_outcome(name, numbers(name, (4, 6), dtype))
    same_outcome(name, numbers(name, (4, 6), dtype), workers=2)


def test_hermitian_round_trips():
    x = numbers("ihfftn", (6, 5, 8))
    assert_within_rule(spanfft.hfftn(spanfft.ihfftn(x), s=x.shape), x, transforms=2)
    assert_within_rule(spanfft.hfft2(spanfft.ihfft2(x, s=(5, 8)), s=(5, 8)), x, transforms=2)


@settings(max_examples=60)
@given(st.data())
def test_any_lengths_and_axes(data):
    name = data.draw(st.sampled_from(HERMITIAN + REAL_KINDS))
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=2, max_size=4)))
    axes = data.draw(st.none() | st.integers(-5, 4) | st.lists(st.integers(-len(shape), len(shape) - 1), max_size=4))
    count = 1 if isinstance(axes, int) else len(axes) if axes is not None else data.draw(st.integers(1, 4))
    length = st.integers(-1, 9)
    s = data.draw(st.none() | length | st.lists(length, min_size=count, max_size=count))
    norm = data.draw(st.sampled_from([None, "backward", "ortho", "forward"]))
    options = {"s": s, "norm": norm}
    if axes is not None or not name.endswith("2"):
        options["axes"] = axes
    if name in REAL_KINDS:
        options["type"] = data.draw(st.integers(1, 4))
    x = numbers(name, shape, seed=data.draw(st.integers(0, 99)))
    same_outcome(name, x, **options)


@pytest.mark.parametrize("real", [False, True])
def test_fast_lengths_are_scipys(real):
    for name in ("next_fast_len", "prev_fast_len"):
        ours, theirs = getattr(spanfft, name), getattr(scipy.fft, name)
        targets = [
            *range(3000),
            4097,
            65537,
            10**6 + 3,
            2**31 - 1,
            2**31 + 1,
            10**12 + 39,
            2**53 + 1,
            (2**63 - 1) // 11,
        ]
        for target in targets:
            assert ours(target, real) == theirs(target, real), (name, target)
        assert ours(np.int64(17), real=real) == theirs(17, real)
        for wrong in (-1, 2**61, 2**63 - 1, 2.5, "7"):
            with pytest.raises((ValueError, TypeError)) as raised:
                theirs(wrong, real)
            with pytest.raises(type(raised.value)):
                ours(wrong, real)
        with pytest.raises(spanfft.InvalidArgument, match="target"):
            ours(2**70)


@given(st.integers(0, 10**9), st.booleans())
def test_any_fast_length(target, real):
    assert spanfft.next_fast_len(target, real) == scipy.fft.next_fast_len(target, real)
    assert spanfft.prev_fast_len(target, real) == scipy.fft.prev_fast_len(target, real)


@pytest.mark.parametrize("kind", [f"{family}{t}" for family in ("dct", "dst") for t in (1, 2, 3, 4)])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_plans_and_files_weigh_dct_and_dst_as_scipy_does(kind, norm, tmp_path):
    """Of norm="ortho": the matrix is made orthogonal, as the documents say."""
    x = numbers("dctn", (5, 6))
    assert_plan(spanfft.Plan(x.shape, kind=kind, norm=norm, dtype=float), x, kind, norm=norm)
    np.save(tmp_path / "in.npy", x)
    spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", kind=kind, norm=norm)
    assert_transform(np.load(tmp_path / "out.npy"), x, kind, norm=norm)
    if norm == "ortho":
        each = spanfft.Plan((7,), kind=kind, norm=norm, dtype=float)
        matrix = np.array([each.forward(row.copy()) for row in np.eye(7)])
        limit = 2 * oracle.limit(kind, (0,), (7,), float, norm)
        assert relative_error(matrix @ matrix.T, np.eye(7)) <= limit
