"""Padded transforms (kept=) in one process, against numpy.fft with spectra that are filled with zeros axis by axis."""

from __future__ import annotations

import numpy as np
import pytest
import spanfft
from soak.padded import backward, cases, forward, reals, spectrum_of
from spanfft._native import core

SHAPES = [
    ((9,), (6,)), ((9,), (5,)), ((8,), (1,)), ((2,), (1,)), ((192,), (128,)), ((13,), (12,)),
    ((9, 6), (6, 4)), ((12, 9), (8, 6)), ((7, 5), (7, 3)), ((7, 5), (2, 5)), ((1, 6), (1, 4)),
    ((9, 15, 6), (6, 10, 4)), ((11, 1, 7), (7, 1, 5)), ((5, 6, 7), (5, 6, 4)), ((37, 12, 70), (24, 8, 45)),
    ((4, 3, 6, 5), (2, 3, 4, 3)),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["c2c", "r2c"])
@pytest.mark.parametrize(("shape", "kept"), SHAPES)
def test_both_directions(kind, shape, kept):
    plan = spanfft.Plan(shape, kind=kind, kept=kept, norm="forward")
    u = reals(shape, kind)
    spectrum = plan.forward(u)
    assert spectrum.shape == plan.spectrum_shape == plan.output_shape
    np.testing.assert_allclose(spectrum, forward(u, kept, kind), atol=1e-14)
    back = plan.backward(spectrum)
    np.testing.assert_allclose(back, backward(spectrum, shape, kept, kind), atol=1e-13)
    # What is left of u is there to stay: forward undoes backward.
    np.testing.assert_allclose(plan.forward(back), spectrum, atol=1e-14)
    plan.free()


@pytest.mark.parametrize(("axes", "kind"), cases())
@pytest.mark.parametrize("batch", [None, 3])
def test_axes_kinds_and_batches(axes, kind, batch):
    shape = (8, 9, 10)
    kept = tuple({0: 5, 1: 6, 2: 8}[axis] if axis in axes else n for axis, n in enumerate(shape))
    plan = spanfft.Plan(shape, kind=kind, axes=axes, kept=kept, batch=batch, norm="forward")
    u = reals(shape if batch is None else (batch, *shape), kind)
    alone = u[None] if batch is None else u
    wanted = np.stack([forward(each, kept, kind, axes) for each in alone])
    spectrum = plan.forward(u)
    np.testing.assert_allclose(spectrum if batch else spectrum[None], wanted, atol=1e-14)
    again = np.stack([backward(each, shape, kept, kind, axes) for each in wanted])
    back = plan.backward(spectrum)
    np.testing.assert_allclose(back if batch else back[None], again, atol=1e-13)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "longdouble"])
def test_norms_and_precisions(norm, dtype):
    shape, kept = (9, 12), (6, 8)
    plan = spanfft.Plan(shape, dtype, kind="r2c", kept=kept, norm=norm)
    u = reals(shape, "r2c").astype(dtype)
    # numpy's factors, of the lengths of real space.
    factor = {"backward": 108, "ortho": np.sqrt(108), "forward": 1}[norm]
    wanted = forward(u.astype("float64"), kept, "r2c") * factor
    spectrum = plan.forward(u)
    assert spectrum.dtype == plan.spectrum_dtype
    eps = np.finfo(dtype if dtype != "longdouble" else "float64").eps
    np.testing.assert_allclose(spectrum, wanted, atol=20 * eps * factor)
    np.testing.assert_allclose(plan.forward(plan.backward(spectrum)), spectrum, atol=40 * eps * factor)


def test_backward_interpolates():
    """On twice as many points every other one has the value that the unpadded transform gives it."""
    coarse = reals((6, 8), "r2c")
    plan = spanfft.Plan((12, 16), kind="r2c", kept=(6, 8), norm="forward")
    fine = plan.backward(np.fft.rfftn(coarse, norm="forward"))
    np.testing.assert_allclose(fine[::2, ::2], coarse, atol=1e-14)


def test_a_product_on_the_padded_grid_has_no_aliasing_errors():
    n, grid = 9, 14
    plan = spanfft.Plan((grid,), kind="c2c", kept=(n,), norm="forward")
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal(n) + 1j * rng.standard_normal(n) for _ in range(2))
    found = plan.forward(plan.backward(a) * plan.backward(b))
    modes = np.round(np.fft.fftfreq(n, 1 / n)).astype(int)
    wanted = [sum(a[i] * b[j] for i, p in enumerate(modes) for j, q in enumerate(modes) if p + q == k) for k in modes]
    np.testing.assert_allclose(found, wanted, atol=1e-13)


def test_predicted_is_counted_and_less_than_of_the_padded_whole():
    shape, kept = (48, 48, 48), (32, 32, 32)
    for direction in ("forward", "backward"):
        plan, whole = (spanfft.Plan(shape, kind="r2c", kept=modes, engine="ducc0", threads=1) for modes in (kept, None))
        u = reals(shape, "r2c")
        run = plan.forward if direction == "forward" else plan.backward
        run(u if direction == "forward" else spectrum_of(plan))
        predicted, counted = plan.predicted(direction), plan.counted(direction)
        assert counted is not None
        assert counted["memory_bytes"] == predicted["memory_bytes"]
        assert counted["flops"] == pytest.approx(predicted["flops"], rel=1e-12)
        # Of the three axes' work the second has 2/3 of the lines that the whole has, the third 4/9.
        assert counted["flops"] < 0.75 * whole.predicted(direction)["flops"]


@pytest.mark.parametrize("threads", [2, 3])
def test_threads(threads):
    shape, kept = (90, 64, 96), (60, 43, 64)
    one, more = (spanfft.Plan(shape, kind="r2c", kept=kept, threads=n, engine="ducc0") for n in (1, threads))
    u = reals(shape, "r2c")
    spectrum = one.forward(u)
    np.testing.assert_array_equal(more.forward(u), spectrum)
    np.testing.assert_array_equal(more.backward(spectrum), one.backward(spectrum))


def test_plans_that_own_their_arrays():
    plan = spanfft.Plan((9, 8), kind="r2c", kept=(6, 5), own_output=True, own_input=True, norm="forward")
    u = reals((9, 8), "r2c")
    plan.input_array()[...] = u
    np.testing.assert_allclose(plan.forward(plan.input_array()), forward(u, (6, 5), "r2c"), atol=1e-14)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"kept": (6,)}, "one number of modes for each of 2 axes"),
        ({"kept": (10, 8)}, "keeps 10 modes of axis 0; its 9 points have 1 to 9"),
        ({"kept": (0, 8)}, "keeps 0 modes of axis 0"),
        ({"kept": (6, 8), "axes": (1,)}, "keeps 6 of 9 along axis 0, which no Fourier transform goes along"),
        ({"kept": (6, 8), "kind": "dct2"}, "which no Fourier transform goes along"),
        ({"kept": (6, 8), "in_place": True}, "makes the arrays of unequal length"),
        ({"kept": (6, 8), "layout": "cyclic"}, "layout=cyclic never makes"),
        ({"kept": (6, 8), "method": "chirp_line"}, "chirp_line keeps all modes; leave method= out, or kept="),
    ],
)
def test_refusals(options, sentence):
    with pytest.raises(spanfft.Error, match=sentence.replace("(", r"\(").replace(".", r"\.")):
        spanfft.Plan((9, 8), **{"kind": "c2c", **options})


def test_files_say_what_to_do():
    with pytest.raises(spanfft.Unsupported, match="write the zeros into the file, and leave out kept="):
        core.imagine("c2c 9x8 kept=6x8 memory=1MiB")


def test_all_modes_kept_is_the_plain_plan():
    plain, all_kept = (spanfft.Plan((9, 8), kept=kept) for kept in (None, (9, 8)))
    assert plain.problem == all_kept.problem
    assert plain.kept == all_kept.kept == (9, 8)
