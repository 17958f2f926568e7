"""mpi4py-fft's names on ranks: its layouts, values against numpy's, and errors that all ranks raise.

The layouts that are written out here are those that mpi4py-fft 2.0.6 printed on as many ranks.
"""

from __future__ import annotations

import functools
import os

import numpy as np
import pytest
import spanfft
from mpi4py import MPI
from ranks_support import assert_rule, oracle
from spanfft.mpi4py_fft import PFFT, DistArray, HDF5File, NCFile, Pencil, Subcomm, fftw, generate_xdmf, newDistArray

WORLD = MPI.COMM_WORLD
SHAPE = (8, 7, 6)


def drawn(shape, dtype=float, seed=1):
    generator = np.random.default_rng(seed)
    whole = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        whole = whole + 1j * generator.standard_normal(shape)
    return whole.astype(dtype)


# Arguments, and for 2 and 4 ranks the grid and the last rank's shapes of real space and of the spectrum.
LAYOUTS = [
    ({}, {2: ((2, 1, 1), (4, 7, 6), (8, 3, 4)), 4: ((2, 2, 1), (4, 3, 6), (8, 3, 2))}),
    ({"grid": (-1,)}, {2: ((2, 1, 1), (4, 7, 6), (8, 3, 4)), 4: ((4, 1, 1), (2, 7, 6), (8, 1, 4))}),
    ({"grid": (-1,), "collapse": True}, {2: ((2, 1, 1), (4, 7, 6), (8, 7, 2)), 4: ((4, 1, 1), (2, 7, 6), (8, 7, 1))}),
    ({"grid": (1, -1)}, {2: ((1, 2, 1), (8, 3, 6), (8, 7, 2)), 4: ((1, 4, 1), (8, 1, 6), (8, 7, 1))}),
    ({"slab": 1}, {2: ((1, 2, 1), (8, 3, 6), (8, 7, 2)), 4: ((1, 4, 1), (8, 1, 6), (8, 7, 1))}),
    ({"axes": (2, 0, 1)}, {2: ((2, 1, 1), (4, 7, 6), (8, 2, 6)), 4: ((2, 1, 2), (4, 7, 3), (4, 2, 6))}),
    ({"axes": ((0,), (1, 2))}, {2: ((2, 1, 1), (4, 7, 6), (8, 7, 2)), 4: ((4, 1, 1), (2, 7, 6), (8, 7, 1))}),
    ({"padding": [1.5, 1, 2]}, {2: ((2, 1, 1), (6, 7, 12), (8, 3, 4)), 4: ((2, 2, 1), (6, 3, 12), (8, 3, 2))}),
]


@pytest.mark.parametrize(("given", "expected"), LAYOUTS, ids=[str(given) for given, _ in LAYOUTS])
def test_local_shapes_are_those_of_mpi4py_fft(given, expected):
    if WORLD.size not in expected:
        pytest.skip("layouts were recorded on 2 and 4 ranks")
    fft = PFFT(WORLD, list(SHAPE), **given)
    last = WORLD.bcast((fft.subcomm.grid, fft.shape(False), fft.shape(True)), root=WORLD.size - 1)
    assert last == expected[WORLD.size]
    fft.destroy()


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.parametrize("given", [{}, {"axes": (1, 2, 0)}, {"axes": ((0,), (1, 2)), "grid": None}, {"axes": (2, 1)}])
def test_values_are_those_of_numpy_on_every_rank(dtype, given):
    shape = (12, 14, 15)
    fft = PFFT(WORLD, shape, dtype=dtype, **given)
    axes = np.concatenate([np.atleast_1d(axis) for axis in given.get("axes", (0, 1, 2))])
    whole, scale = drawn(shape, dtype), np.prod(np.take(shape, axes))
    numpys = np.fft.rfftn if dtype in "fd" else np.fft.fftn
    expected = numpys(whole.astype("d" if dtype in "fd" else "D"), axes=tuple(axes))[fft.local_slice(True)]
    error = 1e-6 if dtype in "fF" else 1e-14
    u = newDistArray(fft, False)
    u[...] = whole[fft.local_slice(False)]
    spectrum = fft.forward(u).copy()
    np.testing.assert_allclose(spectrum, expected / scale, rtol=0, atol=error)
    np.testing.assert_array_equal(u, whole[fft.local_slice(False)])
    np.testing.assert_allclose(fft.backward(spectrum), u, rtol=0, atol=10 * error)
    unscaled = fft.forward(u, normalize=False).copy()
    np.testing.assert_allclose(unscaled, expected, rtol=0, atol=error * scale)
    np.testing.assert_allclose(fft.backward(unscaled, normalize=True), u, rtol=0, atol=10 * error)
    fft.destroy()


def test_stages_give_what_one_plan_gives():
    shape = (9, 10, 12)
    one = PFFT(WORLD, shape, dtype="D")
    u = drawn(shape, "D")[one.local_slice(False)]
    transforms = {(2,): (fftw.fftn, fftw.ifftn)}
    staged = PFFT(WORLD, shape, dtype="D", transforms=transforms)
    assert staged._whole is None
    assert one._whole is not None
    np.testing.assert_allclose(staged.forward(u), one.forward(u), rtol=0, atol=1e-14)
    np.testing.assert_allclose(staged.backward(staged.forward(u)), u, rtol=0, atol=1e-13)
    one.destroy()
    staged.destroy()


def test_cosine_and_sine_transforms_of_groups_of_axes():
    shape = (8, 9, 10)
    dct, idct = (functools.partial(f, type=3) for f in (fftw.dctn, fftw.idctn))
    fft = PFFT(WORLD, shape, axes=((0,), (1, 2)), grid=(-1,), transforms={(1, 2): (dct, idct), (0,): (dct, idct)})
    whole = drawn(shape)
    expected = spanfft.dctn(whole, type=3) / np.prod(2 * np.array(shape))
    u = whole[fft.local_slice(False)]
    np.testing.assert_allclose(fft.forward(u), expected[fft.local_slice(True)], rtol=0, atol=1e-14)
    np.testing.assert_allclose(fft.backward(fft.forward(u).copy()), u, rtol=0, atol=1e-13)
    fft.destroy()


@pytest.mark.parametrize("dtype", ["d", "D"])
def test_padding_keeps_the_low_frequencies(dtype):
    """A band-limited field of 12 points, sampled at 18, has the coefficients that it has at 12."""
    n, fine = 12, 18
    whole = np.zeros((fine, n, n), dtype)
    points, frequency = 2 * np.pi * np.arange(fine) / fine, 4
    whole[...] = (3 * np.cos(frequency * points))[:, None, None]
    fft = PFFT(WORLD, [n, n, n], dtype=dtype, padding=[1.5, 1, 1])
    assert fft.global_shape(False) == (fine, n, n)
    spectrum = np.zeros(fft.global_shape(True), complex)
    spectrum[fft.local_slice(True)] = fft.forward(whole[fft.local_slice(False)])
    spectrum = WORLD.allreduce(spectrum)
    expected = np.zeros_like(spectrum)
    expected[frequency, 0, 0] = expected[n - frequency, 0, 0] = 1.5
    np.testing.assert_allclose(spectrum, expected, rtol=0, atol=1e-14)
    back = fft.backward(expected[fft.local_slice(True)].copy())
    np.testing.assert_allclose(back, whole[fft.local_slice(False)], rtol=0, atol=1e-13)
    fft.destroy()


@pytest.mark.parametrize(
    ("dtype", "shape", "padding", "by_plan"),
    [
        ("D", (8, 7, 4), 1.5, True), ("d", (8, 7, 10), 1.5, True), ("d", (7, 8, 9), [1.5, 2, 1.4], True),
        ("f", (8, 7, 8), [1.5, 1.5, 1], True), ("d", (8, 7, 8), 1.5, False), ("d", (8, 7, 7), 1.5, False),
    ],
)  # fmt: skip
def test_padding_by_a_plan_is_padding_in_stages(dtype, shape, padding, by_plan, monkeypatch):
    """By a plan where mpi4py-fft treats the middle mode as plans do: then both ways give the same."""
    fft = PFFT(WORLD, shape, dtype=dtype, padding=padding)
    assert (fft._whole is not None) == by_plan
    monkeypatch.setattr(PFFT, "_pads_as_plans_do", lambda *_: False)
    staged = PFFT(WORLD, shape, dtype=dtype, padding=padding)
    assert staged._whole is None
    for forward_output in (False, True):
        assert fft.local_slice(forward_output) == staged.local_slice(forward_output)
        assert fft.dtype(forward_output) == staged.dtype(forward_output)
    u = drawn(fft.global_shape(False), dtype)[fft.local_slice(False)]
    kind = "r2c" if dtype in "fd" else "c2c"
    both = 2 * oracle.limit(kind, range(3), fft.global_shape(False), dtype)  # of either way one rule
    spectrum, there = fft.forward(u).copy(), staged.forward(u).copy()
    assert_rule(WORLD, [(spectrum, there)], both)
    assert_rule(WORLD, [(fft.backward(there).copy(), staged.backward(there).copy())], both)
    fft.destroy()
    staged.destroy()


@pytest.mark.parametrize("shape", [(9,), SHAPE], ids=["one axis", "three axes"])
def test_an_array_in_memory_of_its_caller_keeps_what_that_holds(shape):
    local = DistArray(shape, subcomm=(0, *[1] * (len(shape) - 1))).shape
    memory = drawn(local)
    for val in (None, 0, 1j):  # shenfun gives val=0 with every buffer
        made = DistArray(shape, subcomm=(0, *[1] * (len(shape) - 1)), buffer=memory, val=val)
        np.testing.assert_array_equal(made, drawn(local))
        assert np.shares_memory(made, memory)


def test_a_distributed_array_moves_and_is_gathered():
    shape = (9, 8, 10)
    whole = drawn((3, *shape))
    a = DistArray((3, *shape), rank=1, alignment=2)
    a[...] = whole[a.local_slice()]
    moved = a.redistribute(0)
    assert moved.alignment == 0
    assert moved.shape[1] == shape[0]
    np.testing.assert_array_equal(moved, whole[moved.local_slice()])
    back = moved.redistribute(out=DistArray((3, *shape), a.subcomm, alignment=2, rank=1))
    np.testing.assert_array_equal(back, a)
    found = moved.get((1, slice(None), 3, slice(1, 9, 3)))
    if WORLD.rank == 0:
        np.testing.assert_array_equal(found, whole[1, :, 3, 1:9:3])
    else:
        assert found is None
    a.subcomm.destroy()


def test_files_hold_what_all_ranks_wrote(tmp_path):
    pytest.importorskip("h5py")
    folder = WORLD.bcast(str(tmp_path))
    path = os.path.join(folder, "u.h5")
    shape = (9, 8, 10)
    whole = drawn((3, *shape), "D")
    u = DistArray((3, *shape), rank=1, dtype="D")
    u[...] = whole[u.local_slice()]
    file = HDF5File(path, mode="w", domain=((0, 1), (0, 2), (0, 3)))
    file.write(0, {"u": [u, (u, [slice(None), 4, slice(None)])]})
    file.write(7, {"u": [u]}, as_scalar=True)
    again = DistArray((3, *shape), rank=1, dtype="D", val=0, alignment=1)
    again.read(path, "u", 0)
    np.testing.assert_array_equal(again, whole[again.local_slice()])
    if WORLD.rank == 0:
        import h5py

        with h5py.File(path) as written:
            np.testing.assert_array_equal(written["u/2D/slice_4_slice/0"], whole[:, :, 4])
            np.testing.assert_array_equal(written["u2/3D/7"], whole[2])
            np.testing.assert_array_equal(written["u/domain/x1"], [0, 2])
        generate_xdmf(path)
        assert "u.h5:/u2/3D/7" in (tmp_path / "u.xdmf").read_text()
    WORLD.Barrier()
    with pytest.raises(spanfft.Error, match="has no v/3D/0; it has u"):
        again[0].read(path, "v", 0)
    for array in (u, again):
        array.subcomm.destroy()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: PFFT(WORLD, (8, 8, 8), grid=(WORLD.size + 1,)), "its product must be"),
        (lambda: PFFT(WORLD, (8,)), "at least two axes"),
        (lambda: PFFT(WORLD, (8, 8), axes=(0, 0)), "each once"),
        (lambda: PFFT(WORLD, (8, 8), axes=(0, 5)), "2 axes are -2 to 1"),
        (lambda: PFFT(WORLD, (8, 8), dtype="i"), "dtype is int32"),
        (lambda: PFFT(WORLD, (8, 8), backend="none"), "backend is 'none'"),
        (lambda: PFFT(WORLD, (8, 8), padding=[0.5, 1]), "factor of at least 1"),
        (lambda: PFFT(WORLD, (8, 8), planner_effort="much"), "planner_effort is 'much'"),
        (lambda: Pencil(Subcomm(MPI.COMM_SELF), (8, 8), 2), "axis is 2"),
        (lambda: DistArray((8, 8), rank=2), "rank is 2"),
        (lambda: HDF5File("u.h5", mode="x"), "mode is 'x'"),
        (lambda: NCFile("u.nc", mode="x"), "mode is 'x'"),
        (lambda: fftw.rfftn(np.zeros(4, "D")), "must be real"),
        (lambda: fftw.dctn(np.zeros(4), type=5), "type is 5"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(spanfft.Error, match=words):
        call()


def test_an_axis_shorter_than_the_ranks_is_refused():
    if WORLD.size == 1:
        pytest.skip("one rank divides nothing")
    with pytest.raises(spanfft.InvalidArgument, match=f"an axis of 1 can't be divided among {WORLD.size} ranks"):
        PFFT(WORLD, (1, 8, 8), grid=(-1,))


@pytest.mark.parametrize("staged", [False, True])
def test_a_wrong_array_on_one_rank_is_an_error_on_all(staged):
    transforms = {(1,): (fftw.fftn, fftw.ifftn)} if staged else None
    fft = PFFT(WORLD, (8, 9), dtype="D", transforms=transforms)
    wrong = np.zeros((2, 2), "D") if WORLD.rank == WORLD.size - 1 else np.zeros(fft.shape(False), "D")
    with pytest.raises(spanfft.Error, match=r"has shape \(2, 2\)"):
        fft.forward(wrong)
    good = drawn((8, 9), "D")[fft.local_slice(False)]
    np.testing.assert_allclose(fft.backward(fft.forward(good).copy()), good, rtol=0, atol=1e-14)
    fft.destroy()


def test_a_layout_that_one_exchange_does_not_reach_is_refused():
    if WORLD.size == 1:
        pytest.skip("one rank has every layout")
    a, out = DistArray((8, 9, 10), (0, 1, 1)), DistArray((8, 9, 10), (1, 0, 1), alignment=0)
    with pytest.raises(spanfft.InvalidArgument, match="no single exchange leads to"):
        a.redistribute(out=out)
    for array in (a, out):
        array.subcomm.destroy()


def test_an_array_of_another_type_is_converted_where_nothing_is_lost():
    fft = PFFT(WORLD, (8, 13), transforms={(1,): (fftw.rfftn, fftw.irfftn)})  # 7 of the spectrum, for 7 ranks
    whole = np.arange(104).reshape(8, 13)
    expected = np.fft.rfftn(whole)[fft.local_slice(True)] / 104
    np.testing.assert_allclose(fft.forward(whole[fft.local_slice(False)]), expected, rtol=0, atol=1e-13)
    with pytest.raises(spanfft.Error, match=r"output_array is .* float64"):
        fft.forward(whole[fft.local_slice(False)], np.empty(fft.shape(True)))
    fft.destroy()
