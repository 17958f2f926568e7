"""Model fits: P3's published parameters are found again, noise moves the curve by no more than itself, rows are read.

Oracle: the published curves (P3, section 5: T3E communication and computation, SP2 computation), and SciPy's own
least-squares solver, which knows nothing of variable projection.
"""

from __future__ import annotations

import json
import math
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.optimize
from conftest import cli
from spanfft import CorruptData, InvalidArgument, IOFailure
from spanfft._fit import FORMS, fit_model, read_rows

SHIFTED, INVERSE = FORMS
# form, (a0, a1, a2), numbers of processors for which P3 states it
PUBLISHED = {
    "T3E communication": (SHIFTED, (-26.527, 13210.143, 47.447), (32, 48, 64, 96, 128, 160, 192, 224, 256)),
    "T3E computation": (INVERSE, (-1.278, 25779.423, 0.0), (32, 48, 64, 96, 128, 160, 192, 224, 256)),
    "SP2 computation": (SHIFTED, (-16.66, 1381.833, -0.084), (1, 2, 4, 8, 16, 24, 32, 48, 64)),
}


def curve(parameters, processors):
    a0, a1, a2 = parameters
    return a0 + a1 / (a2 + np.asarray(processors, float))


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("relative", [True, False])
def test_published_parameters_are_found_in_exact_points(name, relative):
    form, parameters, processors = PUBLISHED[name]
    fit = fit_model(processors, curve(parameters, processors), form, relative=relative)
    np.testing.assert_allclose((fit.a0, fit.a1, fit.a2), parameters, rtol=1e-12)
    assert fit.worst_residual < 1e-9 * (1 if relative else curve(parameters, processors).max())
    assert fit.rms_residual <= fit.worst_residual
    assert fit.condition >= 1
    assert fit.rows == len(processors)


@pytest.mark.parametrize("name", PUBLISHED)
def test_with_noise_of_five_percent_the_curve_stays_within_it(name, rng):
    form, parameters, processors = PUBLISHED[name]
    for _ in range(20):
        rows = np.repeat(processors, 3)
        exact = curve(parameters, rows)
        fit = fit_model(rows, exact * (1 + rng.uniform(-0.05, 0.05, len(rows))), form)
        assert np.abs(fit(processors) / curve(parameters, processors) - 1).max() <= 0.05
        assert 0 < fit.rms_residual <= 0.05
        assert all(math.isfinite(error) and error > 0 for error in fit.standard_errors)


@pytest.mark.parametrize("name", ["T3E communication", "SP2 computation"])
@pytest.mark.parametrize("relative", [True, False])
def test_nothing_better_is_found_by_scipy(name, relative, rng):
    _, parameters, processors = PUBLISHED[name]
    np_values = np.array(processors, float)
    t = curve(parameters, np_values) * (1 + rng.uniform(-0.05, 0.05, len(np_values)))
    weights = 1 / t if relative else np.ones_like(t)
    fit = fit_model(np_values, t, SHIFTED, relative=relative)
    found = scipy.optimize.least_squares(
        lambda p: weights * (curve(p, np_values) - t), parameters, x_scale=np.abs(parameters), xtol=1e-15, ftol=1e-15
    )
    mine = math.sqrt(2 * found.cost / len(t))
    assert fit.rms_residual <= mine * (1 + 1e-6)


@pytest.mark.parametrize("least", [1, 4, 1000])
def test_the_pole_stays_outside_of_the_rows(least, rng):
    # Times that fall off a cliff after the first: the best pole is as near to it as the search goes, never past it.
    processors = least * np.array([1, 2, 3, 4, 8])
    fit = fit_model(processors, [1e6, 1, 1, 1, 1], SHIFTED)
    assert fit.a2 > -least
    assert np.isfinite(fit(processors)).all()


def test_unit_of_time_and_order_of_rows_do_not_matter(rng):
    _, parameters, processors = PUBLISHED["T3E communication"]
    t = curve(parameters, processors) * (1 + rng.uniform(-0.05, 0.05, len(processors)))
    order = rng.permutation(len(t))
    # The residual is flat at its least, so a parameter is found to about sqrt(eps) = 1.5e-8.
    one = fit_model(processors, t)
    other = fit_model(np.array(processors)[order], t[order] / 1000)
    np.testing.assert_allclose((other.a0 * 1000, other.a1 * 1000, other.a2), (one.a0, one.a1, one.a2), rtol=1e-7)
    np.testing.assert_allclose(other.condition, one.condition, rtol=1e-7)


def test_condition_tells_when_parameters_can_not_be_told_apart():
    parameters = (5, 1000, 40)
    wide, narrow = [4, 16, 64, 256, 1024], [100, 101, 102, 103, 104]
    assert (
        fit_model(narrow, curve(parameters, narrow)).condition
        > 100 * fit_model(wide, curve(parameters, wide)).condition
    )


def test_refusals():
    for processors, times, form, words in [
        ([1, 2, 2], [3, 2, 2], SHIFTED, "3 parameters, but the rows have 2 numbers"),
        ([4, 4], [3, 2], INVERSE, "2 parameters, but the rows have 1 numbers"),
        ([1, 2, 0], [3, 2, 1], SHIFTED, "must be positive"),
        ([1, 2, 4], [3, 2, math.nan], SHIFTED, "times finite"),
        ([1, 2, 4], [3, 2, 0], SHIFTED, "above 0"),
        ([1, 2, 4], [3, 2], SHIFTED, "shapes"),
        ([1, 2, 4], [3, 2, 1], "a0*np", "it can be 'a0"),
    ]:
        with pytest.raises(InvalidArgument, match=words):
            fit_model(processors, times, form)


def test_as_many_rows_as_parameters_leave_no_scatter_to_judge_by():
    fit = fit_model([1, 2, 4], [10, 6, 4])
    assert all(math.isnan(error) for error in fit.standard_errors)
    assert fit.as_dict()["standard_errors"] == [None] * 3


# --- rows and the command --------------------------------------------------------------------------------------------


def test_rows_of_csv_and_json(tmp_path):
    (tmp_path / "a.csv").write_text("kernel, np, time\nallplanes, 1, 10\nallplanes, 2, 6.5\n")
    assert read_rows(tmp_path / "a.csv") == ([1, 2], [10, 6.5])
    (tmp_path / "b.json").write_text('[{"ranks": 1, "median_seconds": 10}, {"ranks": 2, "median_seconds": 6.5}]')
    assert read_rows(tmp_path / "b.json") == ([1, 2], [10, 6.5])
    (tmp_path / "c.json").write_text('{"rows": [{"p": 3, "t": "4"}]}')
    assert read_rows(tmp_path / "c.json", "p", "t") == ([3], [4])


def test_rows_that_can_not_be_read(tmp_path):
    with pytest.raises(IOFailure, match=r"absent\.csv can't be read"):
        read_rows(tmp_path / "absent.csv")
    for name, text, kind, words in [
        ("empty.csv", "", CorruptData, "holds no rows"),
        ("header.csv", "np,time\n", CorruptData, "holds no rows"),
        ("word.csv", "np,time\n1,fast\n", CorruptData, "row 1 has 'fast' for time"),
        ("short.csv", "np,time\n1,2\n3\n", CorruptData, "row 2 has None for time"),
        ("other.csv", "nodes,time\n1,2\n", InvalidArgument, "no column np or ranks or processors; it has nodes, time"),
        ("number.json", "3", CorruptData, "list of objects"),
        ("object.json", "{}", CorruptData, "holds no rows"),
        ("broken.json", "[{", CorruptData, "holds no rows"),
    ]:
        (tmp_path / name).write_text(text)
        with pytest.raises(kind, match=words):
            read_rows(tmp_path / name)


def test_command(tmp_path):
    form, parameters, processors = PUBLISHED["SP2 computation"]
    times = curve(parameters, processors)
    (tmp_path / "rows.csv").write_text(
        "np,time\n" + "".join(f"{p},{t!r}\n" for p, t in zip(processors, map(float, times), strict=True))
    )
    done = cli("fit", "rows.csv", "--plot", "fit.svg", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    np.testing.assert_allclose((found["a0"], found["a1"], found["a2"]), parameters, rtol=1e-12)
    assert found["form"] == form
    assert ElementTree.parse(tmp_path / "fit.svg").getroot().tag.endswith("svg")
    done = cli("fit", "rows.csv", "--form", "a0 + a1/np", "--absolute", "--plot", "fit.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "/ np, from 9 rows" in done.stdout
    assert "condition" in done.stdout
    assert (tmp_path / "fit.png").read_bytes().startswith(b"\x89PNG")
    done = cli("fit", "rows.csv", "--form", "a0*np", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a0+a1/np" in done.stderr
