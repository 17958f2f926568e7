"""The recipes of other packagers in packaging/, and CITATION.cff, agree with what they package.

`./spanfft-dev package` asks their own tools more: cffconvert, and rattler-build, which renders every variant.
"""

import ast
import re
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = sorted((ROOT / "packaging" / "spack").rglob("package.py"))
VERSION = re.search(r'#define SPANFFT_VERSION "([^"]+)"', (ROOT / "include/spanfft/spanfft.h").read_text())[1]
CONDA = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text()


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def directives(text: str, name: str) -> list[str]:
    """The first argument of every call of a directive of spack, such as depends_on("cmake@3.25:")."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return [call.args[0].value for call in calls if getattr(call.func, "id", "") == name]


def test_all_speak_of_one_version():
    assert len(PACKAGES) == 2
    for path in PACKAGES:
        assert directives(path.read_text(), "version") == [VERSION], path
        assert f"spanfft-{VERSION}.tar.gz" in path.read_text()
    assert re.search(r'^  version: "(.*)"$', CONDA, re.M)[1] == VERSION
    assert re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M)[1] == VERSION


def test_the_changelog_begins_with_what_comes_and_has_each_version_once():
    titles = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert titles[0] == "Unreleased" or titles[0].startswith(VERSION)
    assert len(titles) == len(set(titles))


def test_they_ask_for_what_pyproject_asks_for():
    wanted = project()["build-system"]["requires"] + project()["project"]["dependencies"]
    wanted += project()["project"]["optional-dependencies"]["mpi"]
    bounds = dict(text.split(">=") for text in wanted if ">=" in text)
    assert set(bounds) == {"scikit-build-core", "nanobind", "numpy", "mpi4py"}
    for name, least in bounds.items():
        assert f"- {name} >={least}\n" in CONDA
        depends = directives(PACKAGES[0].read_text(), "depends_on")
        assert f"py-{name}@{least.removesuffix('.0')}:" in depends
    cmake = project()["tool"]["scikit-build"]["cmake"]["version"].removeprefix(">=")
    assert f"- cmake >={cmake}\n" in CONDA
    python = project()["project"]["requires-python"].removeprefix(">=")
    for path in PACKAGES:
        assert {f"cmake@{cmake}:", f"python@{python}:"} <= set(directives(path.read_text(), "depends_on"))


@pytest.mark.parametrize("path", [*PACKAGES, ROOT / "packaging/conda/recipe.yaml"], ids=lambda path: path.parent.name)
def test_they_set_variables_that_cmake_reads(path):
    named = set(re.findall(r"SPANFFT_[A-Z_]+", path.read_text()))
    assert named
    for name in named:
        assert re.search(rf"^(option|set)\({name} ", (ROOT / "CMakeLists.txt").read_text(), re.M), name
